"""Asks a server on this machine or network for the window it really runs a model with.

Only such servers are asked: a hosted one has its window in the catalog. No answer is no knowledge, never an error.
"""

import ipaddress
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

TIMEOUT_S = 2.0
"""Seconds each question may take."""

NEAR = (".localhost", ".local", ".lan", ".internal")
"""Endings of names that lead to no hosted service."""


def is_local(base_url: str) -> bool:
    """Whether a URL leads to this machine or to a private network, by its looks: no name is resolved."""
    host = (urlsplit(base_url).hostname or "").lower()
    if host == "localhost" or host.endswith(NEAR):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host and bool(host)
    return address.is_loopback or address.is_private or address.is_link_local


class Probe(NamedTuple):
    """One question to a server: a path, what to send, and where the window is in the answer."""

    server: str
    path: str
    body: Callable[[str], dict[str, Any]] | None
    read: Callable[[Any, str], int | None]


def llamacpp_props(answer: Any, _model: str) -> int | None:
    """llama.cpp: the window of one slot."""
    return _count(answer, "default_generation_settings", "n_ctx")


def listed(answer: Any, model: str) -> int | None:
    """`/v1/models`: vLLM's `max_model_len`, llama.cpp's `meta.n_ctx`, LM Studio's `loaded_context_length`."""
    row = _row(answer, "data", model)
    return _count(row, "max_model_len") or _count(row, "loaded_context_length") or _count(row, "meta", "n_ctx")


def ollama_loaded(answer: Any, model: str) -> int | None:
    """Ollama: the window of a model that is loaded."""
    return _count(_row(answer, "models", model, alone=False), "context_length")


def ollama_parameters(answer: Any, _model: str) -> int | None:
    """Ollama: `num_ctx` of a model that is not loaded. The window it was trained with says nothing: it runs smaller."""
    lines = str(answer.get("parameters", "")).splitlines() if isinstance(answer, dict) else []
    named = [line.split() for line in lines if line.startswith("num_ctx")]
    return int(named[0][1]) if named and len(named[0]) == 2 and named[0][1].isdigit() else None


PROBES: tuple[Probe, ...] = (
    Probe("llamacpp", "/props", None, llamacpp_props),
    Probe("vllm, llamacpp", "/v1/models", None, listed),
    Probe("lmstudio", "/api/v0/models", None, listed),
    Probe("ollama", "/api/ps", None, ollama_loaded),
    Probe("ollama", "/api/show", lambda model: {"model": model}, ollama_parameters),
)
"""Asked in order; the first window wins. A server answers the paths of the others with an error, at once."""


async def window(base_url: str, model: str, *, key: str | None = None, timeout_s: float = TIMEOUT_S) -> int | None:
    """The tokens a local server gives `model`, or None if it does not say or is not there."""
    # It comes with the SDKs, a tenth of a second to load, and only a local server needs it before them.
    import httpx2  # noqa: PLC0415

    root = base_url.rstrip("/").removesuffix("/v1")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    # A proxy of the environment cannot lead to a server on this machine.
    async with httpx2.AsyncClient(base_url=root, headers=headers, timeout=timeout_s, trust_env=False) as client:
        for probe in PROBES:
            try:
                found = await _ask(client, probe, model)
            except (httpx2.ConnectError, httpx2.TimeoutException):
                return None
            except (httpx2.HTTPError, ValueError):
                continue
            if found:
                return found
    return None


async def _ask(client: Any, probe: Probe, model: str) -> int | None:
    if probe.body is None:
        answer = await client.get(probe.path)
    else:
        answer = await client.post(probe.path, json=probe.body(model))
    return probe.read(answer.json(), model) if answer.status_code == 200 else None


def _row(answer: Any, name: str, model: str, *, alone: bool = True) -> Any:
    """The row of a list that is about `model`; the only row there is, where `alone` allows it."""
    rows = answer.get(name) if isinstance(answer, dict) else None
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    for row in rows:
        if any(row.get(field) in (model, f"{model}:latest") for field in ("id", "name", "model")):
            return row
    return rows[0] if alone and len(rows) == 1 else None


def _count(answer: Any, *path: str) -> int | None:
    for step in path:
        answer = answer.get(step) if isinstance(answer, dict) else None
    return answer if isinstance(answer, int) and answer > 0 else None
