"""What a command came to, as values; `clew.render.chat` finds the words."""

from typing import Literal

import msgspec

from clew.agency import Status
from clew.compact.outcome import Outcome
from clew.models.port import Limits
from clew.prompt.report import Report

Mode = Literal["off", "tokens", "full"]
"""What is shown below each answer: nothing, its tokens, or tokens, cache and money."""


class Helped(msgspec.Struct, frozen=True):
    """The commands, or one of them."""

    topic: str | None = None


class Misused(msgspec.Struct, frozen=True):
    """A command was given something it does not know."""

    name: str
    given: str


class NoCommand(msgspec.Struct, frozen=True):
    """There is no such command; nothing was sent."""

    name: str
    nearest: str | None = None


class Context(msgspec.Struct, frozen=True):
    """The window taken apart."""

    what: Literal["list", "detail", "map", "json"]
    report: Report
    key: str
    written: str | None = None
    """The picture that was drawn, by its path."""


class Compaction(msgspec.Struct, frozen=True):
    """How a compaction by hand ended, and the window after it."""

    outcome: Outcome
    key: str
    after: Status


class Standing(msgspec.Struct, frozen=True):
    """Where the conversation stands."""

    status: Status


class Usage(msgspec.Struct, frozen=True):
    """What is shown below each answer from here on, and what was used so far."""

    mode: Mode
    status: Status


class Verbose(msgspec.Struct, frozen=True):
    """Whether compactions that run by themselves are told of."""

    on: bool


class ModelInUse(msgspec.Struct, frozen=True):
    """The model that answers."""

    name: str
    limits: Limits
    stand_ins: tuple[str, ...] = ()
    changed: bool = False


class Fresh(msgspec.Struct, frozen=True):
    """The window starts afresh."""

    reason: Literal["new", "reset"]
    entries: int
    """How many entries the transcript keeps."""
    model: ModelInUse | None = None
    """The model, where another one was chosen."""
    message: str = ""
    """What is to be said first; empty for nothing."""


class Failed(msgspec.Struct, frozen=True):
    """It could not be done; the words say what was kept and what to do."""

    name: str
    why: str


Result = Helped | Misused | NoCommand | Context | Compaction | Standing | Usage | Verbose | ModelInUse | Fresh | Failed
