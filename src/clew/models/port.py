"""What a language model promises: one request in, one answer out, errors as the tree in `clew.errors` names them."""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from clew.transcript import Assistant, Message


class Tool(msgspec.Struct, frozen=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of its arguments."""


class Request(msgspec.Struct, frozen=True):
    """One call of a model."""

    messages: tuple[Message, ...]
    system: str = ""
    """The stable part of the system prompt: the same bytes from turn to turn, so that a provider's cache holds it."""
    dynamic: str = ""
    """The part of the system prompt that changes from turn to turn: it stands behind the cache boundary."""
    max_output: int | None = None
    """Tokens the answer may have; None leaves it to the provider."""
    tools: tuple[Tool, ...] = ()
    temperature: float | None = None
    timeout_s: float | None = None
    """Seconds until ProviderTimeout; None waits for ever."""
    context_edits: dict[str, Any] | None = None
    """What the provider is to clear of the request by itself; models that cannot leave it out."""
    native_compaction: str | None = None
    """Instructions with which the provider is to compact the conversation itself; its answer is then the summary alone.
    Only for a model that `compacts`."""
    purpose: str = "turn"
    """What it is for, in logs: `turn`, `compaction`, `flush`, `probe`."""
    more: dict[str, Any] = {}
    """Further fields in Chat Completions' words, such as `tool_choice`, `response_format` and `stop`; an adapter of
    another format sends what it has words for."""


class Limits(msgspec.Struct, frozen=True):
    """What a model can take, each number with where it came from; None is unknown."""

    window: int | None = None
    """Tokens of input and output together."""
    max_input: int | None = None
    """Tokens of input, where the provider bounds them below the window."""
    max_output: int | None = None
    source: str = "unknown"
    """`settings`, `server`, `catalog`, `error` (learnt from a refusal) or `unknown`."""

    @property
    def budget(self) -> int | None:
        """The tokens a request has to fit: the smaller of window and maximum input."""
        known = [limit for limit in (self.window, self.max_input) if limit]
        return min(known) if known else None


def compacts(model: "Model") -> bool:
    """Whether a model's provider compacts a conversation itself: a capability that a model declares by an attribute
    `compacts`, and most have not."""
    return bool(getattr(model, "compacts", False))


class Model(Protocol):
    """A model behind some provider."""

    @property
    def name(self) -> str:
        """`provider/model-id`."""
        ...

    async def limits(self) -> Limits:
        """What it can take; a local server is asked, and the answer kept."""
        ...

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Assistant:
        """The answer, with usage and stop reason where the provider reports them.

        `on_text` is called with each piece of the answer's words as it arrives. Raises ProviderError's branches.
        Cancelling the task cancels the request.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
