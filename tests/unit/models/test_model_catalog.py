"""Windows and prices: declared, catalogued, or not known."""

from datetime import UTC, datetime

import pytest

from clew.models import catalog
from clew.models.port import Limits
from clew.models.settings import ModelSettings, ModelsSettings
from clew.transcript import Usage

AT = datetime(2026, 11, 1, tzinfo=UTC)


def declared(provider, **model):
    return ModelsSettings.model_validate({"providers": {provider: {"models": [model]}}})


def test_a_known_model_has_its_window_and_where_it_came_from():
    assert catalog.limits("anthropic", "claude-sonnet-4-5-20250929") == Limits(200_000, None, 64_000, "catalog")


def test_the_budget_goes_by_the_largest_input():
    assert catalog.limits("openai", "gpt-6.1-sol").budget == 922_000


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "claude-nonsense"), ("ollama", "qwen3"), ("?", "?")])
def test_what_is_not_known_stays_unknown(provider, model):
    assert catalog.limits(provider, model) == Limits()
    assert catalog.price(provider, model) is None


def test_the_same_id_under_two_providers_is_two_models():
    assert catalog.limits("openai", "gpt-5").window == 400_000
    assert catalog.limits("lan", "gpt-5").window is None


def test_what_is_declared_wins_over_the_catalog():
    settings = declared("openai", id="gpt-5", contextWindow=32_768, maxTokens=1_000)
    assert catalog.limits("openai", "gpt-5", settings) == Limits(32_768, None, 1_000, "settings")


@pytest.mark.parametrize(("tokens", "window"), [(1_048_000, 400_000), (200_000, 200_000)])
def test_the_usable_window_only_ever_lowers(tokens, window):
    assert catalog.limits("openai", "gpt-5", declared("openai", id="gpt-5", contextTokens=tokens)).window == window


def test_a_server_or_a_refusal_only_ever_lowers():
    known = Limits(100_000, 90_000, 4_000, "settings")
    assert catalog.lower(known, 200_000, "server") == known
    assert catalog.lower(known, 8_192, "server") == Limits(8_192, None, 4_000, "server")
    assert catalog.lower(Limits(), 8_192, "error") == Limits(8_192, source="error")


def test_a_request_is_priced_with_its_cached_part_apart():
    price = catalog.price("anthropic", "claude-sonnet-4-5", at=AT)
    assert price.cost(Usage(20_000, 1_000, cache_read=80_000)) == pytest.approx(0.06 + 0.015 + 0.024)


def test_the_rates_of_a_long_request_hold_for_all_of_it():
    price = catalog.price("anthropic", "claude-sonnet-4-5", at=AT)
    assert price.cost(Usage(300_000, 0)) == pytest.approx(300_000 * 6e-6)


def test_declared_prices_are_per_million_and_win():
    cost = {"input": 1.0, "output": 2.0}
    price = catalog.price("openai", "gpt-5", declared("openai", id="gpt-5", cost=cost))
    assert price.cost(Usage(500_000, 500_000, cache_read=500_000)) == pytest.approx(0.5 + 1.0 + 0.5)


def test_a_cap_without_a_known_window_is_the_window():
    limits = catalog.declare(Limits(), ModelSettings(id="m", context_tokens=65_536))
    assert limits == Limits(65_536, source="settings")
