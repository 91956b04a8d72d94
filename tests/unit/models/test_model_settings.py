"""What people write about providers."""

import pytest
from pydantic import ValidationError

from clew.errors import BadSettings
from clew.models.settings import KNOWN, ModelsSettings, ProviderSettings, api_key


def written(**provider):
    return ModelsSettings.model_validate({"providers": {"lan": provider}}).providers["lan"]


def test_openclaws_names_are_read():
    model = {"id": "qwen3", "contextWindow": 32768, "maxTokens": 4096, "cost": {"input": 1, "output": 2.5}}
    read = written(baseUrl="http://10.0.0.2/v1", api="openai-completions", models=[model])
    assert (read.models[0].context_window, read.models[0].max_tokens, read.models[0].cost.output) == (32768, 4096, 2.5)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValidationError, match="baseURL"):
        written(baseURL="http://10.0.0.2/v1")


@pytest.mark.parametrize("window", [0, None])
def test_a_window_of_nothing_is_not_known(window):
    assert written(models=[{"id": "m", "contextWindow": window}]).models[0].context_window is None


@pytest.mark.parametrize("key", ["sk-1", "${MY_KEY}", {"source": "env", "id": "MY_KEY"}])
def test_a_key_is_literal_or_from_the_environment(key):
    assert api_key("lan", written(apiKey=key), {"MY_KEY": "sk-1"}) == "sk-1"


def test_a_known_provider_finds_its_key_by_itself():
    assert api_key("anthropic", ProviderSettings(), {"ANTHROPIC_API_KEY": "sk-2"}) == "sk-2"


def test_a_reference_that_leads_nowhere_is_named():
    with pytest.raises(BadSettings, match=r"providers\.lan\.apiKey .*MY_KEY"):
        api_key("lan", written(apiKey="${MY_KEY}"), {})


@pytest.mark.parametrize("key", ["sk-secret", ["sk-secret"], {"source": "file", "id": "sk-secret"}])
def test_no_repr_dump_or_mistake_shows_a_key(key):
    try:
        read = ModelsSettings.model_validate({"providers": {"lan": {"apiKey": key, "headers": {"x": "sk-secret"}}}})
        shown = f"{read!r} {read} {read.model_dump()} {read.model_dump_json()}"
    except ValidationError as error:
        shown = str(error)
    assert "sk-secret" not in shown


def test_every_hosted_provider_has_a_variable_for_its_key_and_no_local_one_has():
    assert all(known.base_url.startswith("https://") == bool(known.keys) for known in KNOWN.values())
