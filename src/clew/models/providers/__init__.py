"""A model from its name: which provider, where it is, how it speaks. Loads no SDK."""

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from clew.errors import BadSettings
from clew.models import catalog
from clew.models.discover import ollama_url
from clew.models.local import is_local
from clew.models.port import Limits, Model
from clew.models.providers.anthropic import AnthropicModel
from clew.models.providers.hosted import PROVIDER as HOSTED
from clew.models.providers.hosted import HostedModel
from clew.models.providers.openai import OpenAIModel
from clew.models.providers.remote import Endpoint, Remote
from clew.models.settings import KNOWN, Api, Known, ModelsSettings, ProviderSettings, api_key, expand

ADAPTERS: dict[Api, type[Remote]] = {"openai-completions": OpenAIModel, "anthropic-messages": AnthropicModel}

__all__ = ["ADAPTERS", "build", "endpoint", "split"]


def split(name: str) -> tuple[str, str]:
    """Provider and model id, parted at the first slash. Raises BadSettings where one of them is missing."""
    provider, _, model = name.strip().partition("/")
    if not provider or not model:
        raise BadSettings(
            f"{name!r} names no model; nothing was sent. Write provider/model-id, such as anthropic/claude-opus-5-5 "
            "or ollama/qwen3."
        )
    return provider, model


def build(
    name: str,
    settings: ModelsSettings | None = None,
    env: Mapping[str, str] | None = None,
    *,
    weights: Path | None = None,
) -> Model:
    """The model `name` (`provider/model-id`) stands for; nothing is connected, started or loaded yet.

    `env` is where keys are looked for; None is the process's environment. `weights` is the folder of the weights that
    `local/…` is served from; without one there is no such provider, unless the settings declare it. Raises BadSettings
    for a provider that is neither known nor declared, for a reference to a variable that is not set, and for a local
    model that is not on this machine.
    """
    settings, env = settings or ModelsSettings(), os.environ if env is None else env
    provider, model = split(name)
    provider = provider if provider in settings.providers else provider.lower()
    if provider == HOSTED and provider not in settings.providers and weights is not None:
        return HostedModel(model, settings.local, weights)
    return ADAPTERS[_known(provider, settings, env).api](endpoint(provider, model, settings, env))


def endpoint(provider: str, model: str, settings: ModelsSettings, env: Mapping[str, str]) -> Endpoint:
    """Where a model is and what is known of it, from the settings and from what needs no settings."""
    known = _known(provider, settings, env)
    written = settings.providers.get(provider, ProviderSettings())
    declared = settings.model(provider, model)
    where = f"models.providers.{provider}.headers"
    headers = {name: SecretStr(expand(value.get_secret_value(), env, where)) for name, value in written.headers.items()}
    key = api_key(provider, written, env)
    return Endpoint(
        provider=provider,
        model=model,
        base_url=known.base_url,
        key=SecretStr(key) if key else None,
        key_names=() if is_local(known.base_url) else known.keys,
        headers=headers,
        limits=_limits(provider, model, settings, known.base_url),
        reasoning=bool(declared and declared.reasoning),
        images=not (declared and declared.input) or "image" in declared.input,
        native_compaction=bool(declared and declared.native_compaction),
    )


def _limits(provider: str, model: str, settings: ModelsSettings, base_url: str) -> Limits:
    if not is_local(base_url):
        return catalog.limits(provider, model, settings)
    # A local model that bears a hosted one's name is not that model: the catalog has nothing to say of it.
    declared = settings.model(provider, model)
    return catalog.declare(Limits(), declared) if declared else Limits()


def _known(provider: str, settings: ModelsSettings, env: Mapping[str, str]) -> Known:
    """What is written of a provider over what the environment says and what is known of it."""
    written = settings.providers.get(provider)
    known = KNOWN.get(provider) if settings.mode == "merge" or written else None
    named = ollama_url(env) if provider == "ollama" and known else None
    base_url = (written and written.base_url) or named or (known and known.base_url)
    if not base_url:
        raise BadSettings(_unknown(provider, settings, declared=written is not None))
    api = (written and written.api) or (known.api if known else "openai-completions")
    return Known(base_url, known.keys if known else (), api)


def _unknown(provider: str, settings: ModelsSettings, *, declared: bool) -> str:
    if declared:
        return f"models.providers.{provider} has no baseUrl, and none is known for it; nothing was sent. Add one."
    names = sorted({*settings.providers, *(KNOWN if settings.mode == "merge" else ())})
    return (
        f"There is no provider {provider!r}; nothing was sent. Known: {', '.join(names) or 'none'}. Add one as "
        f'models.providers.{provider}: {{baseUrl: "http://…/v1", api: "openai-completions", apiKey: "${{NAME}}"}}.'
    )
