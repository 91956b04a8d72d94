"""A model from its name."""

import subprocess
import sys

import pytest

from clew.errors import BadSettings
from clew.models.port import Limits
from clew.models.providers import build, endpoint, split
from clew.models.providers.anthropic import AnthropicModel
from clew.models.providers.openai import OpenAIModel
from clew.models.settings import ModelsSettings

NONE = ModelsSettings()


def test_a_name_parts_at_its_first_slash():
    assert split("openrouter/meta-llama/llama-3:free") == ("openrouter", "meta-llama/llama-3:free")


def test_a_provider_is_known_in_any_case():
    assert build("Ollama/Qwen3:8B", env={}).name == "ollama/Qwen3:8B"


@pytest.mark.parametrize("name", ["", "gpt-5", "/x", "openai/"])
def test_a_name_without_both_parts_is_refused_with_an_example(name):
    with pytest.raises(BadSettings, match="provider/model-id"):
        split(name)


def test_a_well_known_provider_needs_only_its_variable():
    model = build("anthropic/claude-opus-5-5", env={"ANTHROPIC_API_KEY": "sk-1"})
    assert isinstance(model, AnthropicModel)
    assert model.endpoint.key.get_secret_value() == "sk-1"


def test_a_declared_provider_speaks_completions_unless_it_says_otherwise():
    settings = ModelsSettings.model_validate({"providers": {"lan": {"baseUrl": "http://10.0.0.2/v1"}}})
    assert isinstance(build("lan/qwen3", settings, {}), OpenAIModel)


def test_an_unknown_provider_is_told_the_known_ones_and_how_to_add_one():
    with pytest.raises(BadSettings, match=r"anthropic.*openai.*models\.providers\.acme"):
        build("acme/m", NONE, {})


def test_only_declared_providers_are_known_where_the_settings_say_so():
    with pytest.raises(BadSettings, match="Known: none"):
        build("openai/gpt-5", ModelsSettings(mode="replace"), {})


def test_headers_may_refer_to_the_environment():
    settings = ModelsSettings.model_validate({"providers": {"openai": {"headers": {"x-team": "a-${TEAM}"}}}})
    assert endpoint("openai", "gpt-5", settings, {"TEAM": "b"}).headers["x-team"].get_secret_value() == "a-b"


def test_a_local_model_with_a_famous_name_is_not_the_famous_one():
    settings = ModelsSettings.model_validate({"providers": {"openai": {"baseUrl": "http://127.0.0.1:8080/v1"}}})
    assert endpoint("openai", "gpt-5", settings, {}).limits == Limits()


def test_a_key_is_not_in_the_repr_of_an_endpoint():
    assert "sk-1" not in repr(endpoint("openai", "gpt-5", NONE, {"OPENAI_API_KEY": "sk-1"}))


def test_building_a_model_loads_no_sdk():
    code = (
        "import sys; from clew.models.providers import build; build('ollama/x', env={}); "
        "print([m for m in ('openai', 'anthropic', 'httpx2', 'genai_prices') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
