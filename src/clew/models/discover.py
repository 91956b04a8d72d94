"""Finds a model server that runs on this machine already: Ollama, llama.cpp, LM Studio, vLLM, at their usual places.

Asked are this machine and hosts the user named, all at once and briefly. Only lists are read; nothing is sent.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from clew.models import local
from clew.models.settings import KNOWN, ModelsSettings

TIMEOUT_S = 0.3
"""Seconds to reach a server, and for each of its answers: where none is, this machine says so at once."""

NO_CHAT = re.compile(r"embed|rerank|\bbge\b|minilm|nomic-bert|whisper|\btts\b|\bclip\b", re.IGNORECASE)
"""Names and families of models that do not talk."""

OLLAMA_PORT = 11_434

Errors = tuple[type[Exception], ...]


class Discovered(msgspec.Struct, frozen=True):
    """A server that runs, and the model of it that would be taken."""

    name: str
    """`provider/model-id`."""
    base_url: str
    window: int | None = None
    """Tokens, where the server says it."""

    @property
    def provider(self) -> str:
        """The provider's id."""
        return self.name.partition("/")[0]


class Listing(NamedTuple):
    """One list of models a server has: where it is, and how the ids are read from it, the best first."""

    path: str
    ids: Callable[[Any], list[str]]


def ollama_loaded(answer: Any) -> list[str]:
    """Those in memory: somebody uses them."""
    return [row["name"] for row in _rows(answer, "models", "name") if _talks(row)]


def ollama_pulled(answer: Any) -> list[str]:
    """Those on disk, the newest first."""
    rows = sorted(_rows(answer, "models", "name"), key=lambda row: str(row.get("modified_at", "")), reverse=True)
    return [row["name"] for row in rows if _talks(row)]


def lmstudio_listed(answer: Any) -> list[str]:
    """LM Studio's own list: those in memory first; it says what talks."""
    rows = [row for row in _rows(answer, "data", "id") if row.get("type") in ("llm", "vlm")]
    return [row["id"] for row in sorted(rows, key=lambda row: row.get("state") != "loaded")]


def listed(answer: Any) -> list[str]:
    """The list all servers have; where llama.cpp serves several, those it has loaded come first."""
    rows = [row for row in _rows(answer, "data", "id") if _talks(row)]
    return [row["id"] for row in sorted(rows, key=_unloaded)]


SERVERS: dict[str, tuple[Listing, ...]] = {
    "ollama": (Listing("/api/ps", ollama_loaded), Listing("/api/tags", ollama_pulled)),
    "llamacpp": (Listing("/v1/models", listed),),
    "lmstudio": (Listing("/api/v0/models", lmstudio_listed), Listing("/v1/models", listed)),
    "vllm": (Listing("/v1/models", listed),),
}
"""In this order the first server that has a model wins, and of its lists the first that names one."""


def ollama_url(env: Mapping[str, str]) -> str | None:
    """The base URL that `OLLAMA_HOST` names, in any way Ollama reads it; None where it is not set."""
    named = env.get("OLLAMA_HOST", "").strip().strip("\"'")
    if not named:
        return None
    given = urlsplit(named if "://" in named else f"http://{named}")
    try:
        port = given.port or (OLLAMA_PORT if "://" not in named else 443 if given.scheme == "https" else 80)
    except ValueError:
        return None
    # "Everywhere" is where a server listens; a client goes to this machine.
    host = "127.0.0.1" if given.hostname in (None, "0.0.0.0", "::") else given.hostname
    return f"{given.scheme}://{f'[{host}]' if ':' in host else host}:{port}{given.path.rstrip('/')}/v1"


def places(settings: ModelsSettings, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Providers and base URLs to ask: what the settings say, what the environment says, the usual place."""
    for provider in SERVERS:
        written = settings.providers.get(provider)
        if written and written.base_url:
            yield provider, written.base_url
        elif settings.mode == "merge" or written:
            yield provider, (ollama_url(env) if provider == "ollama" else None) or KNOWN[provider].base_url


async def discover(
    settings: ModelsSettings | None = None, env: Mapping[str, str] | None = None, *, timeout_s: float = TIMEOUT_S
) -> Discovered | None:
    """The first server that runs and has a model that talks, or None. Never raises for what a server does."""
    # It comes with the SDKs, a tenth of a second to load, and only who has set no model needs it before them.
    import httpx2  # noqa: PLC0415

    asked = list(places(settings or ModelsSettings(), env or {}))
    # No redirect is followed and no proxy used: either could lead away from this machine.
    async with httpx2.AsyncClient(timeout=timeout_s, trust_env=False) as client:
        gone = (httpx2.ConnectError, httpx2.TimeoutException)
        broken = (*gone, httpx2.HTTPError, httpx2.InvalidURL, ValueError)
        found = await asyncio.gather(*(_model(client, provider, url, gone, broken) for provider, url in asked))
    for (provider, url), model in zip(asked, found, strict=True):
        if model is not None:
            return Discovered(f"{provider}/{model}", url, await local.window(url, model))
    return None


async def _model(client: Any, provider: str, base_url: str, gone: Errors, broken: Errors) -> str | None:
    """The model of one server that would be taken; `gone` errors end the asking, `broken` ones that question."""
    root = base_url.rstrip("/").removesuffix("/v1")
    for listing in SERVERS[provider]:
        try:
            answer = await client.get(f"{root}{listing.path}")
            ids = listing.ids(answer.json()) if answer.status_code == 200 else []
        except broken as error:
            if isinstance(error, gone):
                return None
            continue
        if ids:
            return ids[0]
    return None


def _rows(answer: Any, name: str, key: str) -> list[dict[str, Any]]:
    rows = answer.get(name) if isinstance(answer, dict) else None
    found = rows if isinstance(rows, list) else []
    return [row for row in found if isinstance(row, dict) and isinstance(row.get(key), str) and row[key]]


def _talks(row: dict[str, Any]) -> bool:
    details = row.get("details")
    family = details.get("family", "") if isinstance(details, dict) else ""
    return not NO_CHAT.search(f"{row.get('name') or row.get('id')} {family}") and family not in ("bert", "nomic-bert")


def _unloaded(row: dict[str, Any]) -> bool:
    status = row.get("status")
    return isinstance(status, dict) and status.get("value") != "loaded"
