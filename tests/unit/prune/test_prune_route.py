"""How a model that was built from settings looks to pruning: its route and the prices of its cache."""

import pytest

from clew.models.catalog import Price, Rates
from clew.models.providers import build
from clew.models.scripted import ScriptedModel
from clew.models.settings import ModelsSettings
from clew.prune.worth import Prices
from clew.staff import cache_prices, route

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-api03-x", "OPENAI_API_KEY": "k"}


def made(name: str, env=KEYS, **providers):
    return route(build(name, ModelsSettings.model_validate({"providers": providers}), env))


@pytest.mark.parametrize(
    ("seen", "remote"),
    [
        pytest.param(made("anthropic/claude-opus-5-5"), True, id="its own endpoint with a key"),
        pytest.param(made("anthropic/claude-opus-5-5", {"ANTHROPIC_API_KEY": "sk-ant-oat01"}), False, id="a login"),
        pytest.param(made("anthropic/claude", anthropic={"baseUrl": "http://127.0.0.1:9"}), False, id="a proxy"),
        pytest.param(made("openai/gpt-5"), False, id="another provider"),
        pytest.param(route(ScriptedModel(name="anthropic/claude")), False, id="a model handed over ready"),
    ],
)
def test_the_provider_clears_by_itself_only_on_its_own_endpoint_with_a_key(seen, remote):
    assert seen.remote is remote
    assert seen.anthropic is (seen.provider == "anthropic")


@pytest.mark.parametrize(
    ("price", "shares"),
    [
        (None, Prices(0.1, 1.25)),
        (Price(Rates(4.0, 20.0)), Prices(0.1, 1.25)),
        (Price(Rates(4.0, 20.0, 1.0)), Prices(0.25, 1.0)),
        (Price(Rates(4.0, 20.0, 0.4, 5.0)), Prices(0.1, 1.25)),
        (Price(Rates(0.0, 0.0)), Prices(0.1, 1.25)),
    ],
)
def test_cache_prices_come_from_the_route_and_the_usual_ones_stand_where_none_are_known(price, shares):
    assert cache_prices(price) == shares
