"""What happens in a run, one stream for every listener: the terminal, the log, JSON output, and later the gateway."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from clew.transcript import Call, ToolResult, Usage


class Event(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """The base of all events; in JSON, `type` is the name of the class."""


class Admitted(Event, frozen=True):
    """The user's message is stored; from here on nothing can lose it."""

    entry: str


class Interrupted(Event, frozen=True):
    """The turn before this one never ended: the process died in it. What it stored is there."""

    entry: str


class Asking(Event, frozen=True):
    """A request goes out."""

    model: str
    tokens: int | None
    """Its size, anchored or estimated."""
    step: int
    """The requests of this turn, counted from 1."""


class Words(Event, frozen=True):
    """A piece of the answer."""

    text: str


class Called(Event, frozen=True):
    """The model calls a tool."""

    call: Call


class Returned(Event, frozen=True):
    """The tool returned."""

    result: ToolResult
    ms: int


class Waiting(Event, frozen=True):
    """A provider failed and is asked again after a pause."""

    model: str
    seconds: float
    why: str


class Switched(Event, frozen=True):
    """Another model of the chain stands in, for this request only."""

    model: str
    next: str
    why: str


class Flushing(Event, frozen=True):
    """Lasting notes are being written."""


class Flushed(Event, frozen=True):
    """What came of it."""

    outcome: str
    why: str = ""


class EngineTrouble(Event, frozen=True):
    """The context engine did something wrong; the session goes on."""

    engine: str
    method: str
    error: str
    quarantined: bool = False
    """Whether the built-in engine has taken over for the rest of the process."""


class Compacting(Event, frozen=True):
    """A compaction starts."""

    trigger: str
    tokens: int
    attempt: int = 1


class NativeCompaction(Event, frozen=True):
    """The model's own provider is asked to compact, as it declares that it can."""

    model: str
    failed: str = ""
    """Why it did not; the built-in compaction goes on."""


class CompactionStep(Event, frozen=True):
    """A compaction goes on."""

    stage: str
    part: int
    parts: int
    attempt: int
    attempts: int
    chars: int


class Compacted(Event, frozen=True):
    """A compaction ended: `compacted`, `skipped` or `declined`."""

    outcome: Literal["compacted", "skipped", "declined"]
    reason: str
    tokens_before: int
    tokens_after: int
    id: str = ""
    attempts: int = 0
    count: int = 0
    """How many compactions stand in the session now."""
    duration_ms: int = 0


class Trimmed(Event, frozen=True):
    """Old tool results, or old images, are shown shortened from here on."""

    results: int
    tokens: int
    """Roughly what that frees."""
    id: str = ""
    """Of the mark that says so."""


class PrefixBreak(Event, frozen=True):
    """The next request does not extend the bytes of the one before."""

    cause: str
    """`compaction`, `prune`, `trim`, `undo`, `reset`, `model`, `tools`, `prompt`."""


class Answered(Event, frozen=True):
    """A request was answered."""

    model: str
    usage: Usage | None
    stop: str | None


class Spent(Event, frozen=True):
    """A request was made that gave no answer to the user: housekeeping, or one that was cut off or cancelled."""

    purpose: Literal["turn", "flush", "compaction"]
    model: str
    usage: Usage | None
    """None where the provider reported nothing: what it cost is not known."""


class Ended(Event, frozen=True):
    """The turn ended."""

    outcome: Literal["done", "cancelled", "overflow", "too_large", "failed", "loop"]
    text: str = ""
    """The model's last words."""
    code: str = ""
    """Why, where it did not end well: a code of the classifier or of a compaction."""
    detail: str = ""
    """What the provider or the runtime said."""
    steps: int = 0
    stop: str = ""
    """Why the last answer stopped: `length` is an answer that was cut at its limit."""
    tokens: int | None = None
    facts: dict[str, Any] = {}
    """Sizes that explain the end, such as `fixed`, `history`, `window`."""


Emit = Callable[[Event], None]
"""Takes each event as it happens; must not raise and must not block."""
