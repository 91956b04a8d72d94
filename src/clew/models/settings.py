"""What people write about providers and models, under OpenClaw's names, and what is known without being written.

Keys are held as secrets: no repr, dump or error message of these classes shows one.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from pydantic import BeforeValidator, ConfigDict, Field, SecretStr, Strict

from clew.errors import BadSettings
from clew.models.host_settings import HostSettings
from clew.settings import Settings

Api = Literal["openai-completions", "anthropic-messages"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(rf"\$\{{({_NAME.pattern})\}}")

Tokens = Annotated[int | None, Field(gt=0), BeforeValidator(lambda value: None if value == 0 else value)]
"""A number of tokens; 0 and None both say that it is not known."""

Dollars = Annotated[float, Field(ge=0)]


class EnvReference(Settings):
    """A reference to a secret that is kept outside the settings."""

    source: Literal["env"]
    """Where it is kept: `env`, an environment variable."""
    provider: str | None = None
    """OpenClaw's name for a group of secrets; read and not used."""
    id: str
    """The variable's name."""


def _reference(written: object) -> object:
    """`{source: "env", id: "NAME"}` as `${NAME}`, so that there is one way to look a secret up."""
    if not isinstance(written, dict):
        return written
    name = str(written.get("id", ""))
    if (
        written.get("source") != "env"
        or not written.keys() <= {"source", "id", "provider"}
        or not _NAME.fullmatch(name)
    ):
        raise ValueError('a reference to a secret is written {source: "env", id: "NAME"} or "${NAME}"')
    return f"${{{name}}}"


Key = Annotated[SecretStr, BeforeValidator(_reference, json_schema_input_type=str | EnvReference)]
"""A secret: itself, or a reference to the environment variable that holds it."""


class Cost(Settings):
    """What a model costs, in US dollars per million tokens."""

    input: Dollars = 0.0
    """Input that is not cached. 0 is free."""
    output: Dollars = 0.0
    """Output, reasoning included. 0 is free."""
    cache_read: Dollars | None = None
    """Input read from the cache; None prices it as input."""
    cache_write: Dollars | None = None
    """Input written to the cache; None prices it as input."""


class ModelSettings(Settings):
    """One model of a provider. What is declared here wins over the catalog."""

    id: Annotated[str, Field(min_length=1)]
    """The id the provider knows the model by; it may hold slashes."""
    name: str | None = None
    """A name for people; None shows the id."""
    context_window: Tokens = None
    """Tokens of input and output together; 0 or None leaves it to the server or the catalog."""
    context_tokens: Tokens = None
    """The part of the window to use, in tokens, where a server advertises more than it bears; None uses all of it."""
    max_input: Tokens = None
    """Tokens of input, where the provider bounds them below the window; 0 or None knows of no such bound."""
    max_tokens: Tokens = None
    """Tokens of output in one answer; 0 or None leaves it to the catalog, and then to the provider."""
    cost: Cost | None = None
    """Prices; None leaves them to the catalog."""
    reasoning: bool = False
    """Whether the model reasons before it answers; such a model is sent no temperature."""
    input: Annotated[tuple[Literal["text", "image", "audio", "video", "document"], ...], Strict(False)] = ()
    """What the model can read; empty is not known, and images are sent."""
    native_compaction: bool = False
    """Whether the provider compacts a conversation itself when it is asked to (Anthropic's `compaction` parameter):
    `/compact` then goes to it, and what it writes is audited like any brief."""


class ProviderSettings(Settings):
    """One provider: where it is, how it speaks, who asks."""

    model_config = ConfigDict(hide_input_in_errors=True)

    base_url: str | None = None
    """The URL before `/chat/completions` (or `/v1/messages` for `anthropic-messages`); None takes the known one."""
    api: Api | None = None
    """The wire format; None takes the known one, and `openai-completions` for a provider that is not known."""
    api_key: Key | None = None
    """The key itself, `${NAME}` or `{source: "env", id: "NAME"}` for an environment variable; None tries the
    variable the provider is known for."""
    headers: dict[str, Key] = {}
    """Headers for every request; `${NAME}` in a value stands for an environment variable."""
    models: Annotated[tuple[ModelSettings, ...], Strict(False)] = ()
    """What is to be known of its models; one that is not listed can still be used."""


class ModelsSettings(Settings):
    """The section `models`."""

    model_config = ConfigDict(hide_input_in_errors=True)

    mode: Literal["merge", "replace"] = "merge"
    """`merge` knows the well-known providers besides the ones written here; `replace` only those written here."""
    providers: dict[str, ProviderSettings] = {}
    """Providers by id, the part of a model's name before the first slash."""
    local: HostSettings = HostSettings()
    """The small models that Clew serves itself on the CPU, under `local/…`."""

    def model(self, provider: str, model: str) -> ModelSettings | None:
        """What is declared of a model, or None."""
        listed = self.providers[provider].models if provider in self.providers else ()
        return next((one for one in listed if one.id == model), None)


class Known(msgspec.Struct, frozen=True):
    """What is known of a provider that nobody has to write down."""

    base_url: str
    keys: tuple[str, ...] = ()
    """Environment variables the key may be in, the first one set wins; empty for a server that asks for none."""
    api: Api = "openai-completions"


KNOWN: dict[str, Known] = {
    "openai": Known("https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "anthropic": Known("https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "anthropic-messages"),
    "openrouter": Known("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "google": Known("https://generativelanguage.googleapis.com/v1beta/openai", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "groq": Known("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "deepseek": Known("https://api.deepseek.com", ("DEEPSEEK_API_KEY",)),
    "mistral": Known("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "xai": Known("https://api.x.ai/v1", ("XAI_API_KEY",)),
    "together": Known("https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "fireworks": Known("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    "cerebras": Known("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "moonshot": Known("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",)),
    "minimax": Known("https://api.minimax.io/v1", ("MINIMAX_API_KEY",)),
    "zai": Known("https://api.z.ai/api/paas/v4", ("ZAI_API_KEY",)),
    "ollama": Known("http://127.0.0.1:11434/v1"),
    "llamacpp": Known("http://127.0.0.1:8080/v1"),
    "lmstudio": Known("http://127.0.0.1:1234/v1"),
    "vllm": Known("http://127.0.0.1:8000/v1"),
}
"""Base URLs, key variables and wire formats, from the providers' own documentation."""


def expand(text: str, env: Mapping[str, str], where: str) -> str:
    """`text` with each `${NAME}` replaced from `env`. Raises BadSettings, naming `where`, for a variable not set."""

    def value(found: re.Match[str]) -> str:
        if (name := found[1]) not in env:
            raise BadSettings(f"{where} refers to the environment variable {name}, which is not set. Set it, or "
                              "write another reference; nothing was sent.")  # fmt: skip
        return env[name]

    return _REFERENCE.sub(value, text)


def api_key(provider: str, settings: ProviderSettings, env: Mapping[str, str]) -> str | None:
    """The provider's key, or None if there is none. Raises BadSettings for a reference that leads nowhere."""
    if settings.api_key is not None:
        return expand(settings.api_key.get_secret_value(), env, f"models.providers.{provider}.apiKey")
    known = KNOWN.get(provider)
    return next((env[name] for name in known.keys if env.get(name)), None) if known else None
