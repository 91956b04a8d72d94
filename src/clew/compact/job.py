"""What one compaction depends on, what it is sent, and how it can end: the values of the conversation with a model."""

from collections.abc import Callable
from typing import Literal

import msgspec

from clew.compact.budget import Room
from clew.compact.cut import Cut
from clew.transcript import Attempt, Compaction, Ledger, Line, Node, Verdict

REFUSALS: dict[str, str] = {
    "quality": "no draft of the brief passed the audit",
    "not_smaller": "no brief would be smaller than what it replaces",
    "empty": "the summarising model answered with nothing",
    "overflow": "the summarising model's window cannot hold even a small piece of the conversation",
    "timeout": "the summarising model did not answer in time",
    "auth": "the provider refused the credentials",
    "rate_limit": "the provider limits the rate of requests",
    "unreachable": "the provider cannot be reached",
    "bad_request": "the provider refused the request",
    "provider": "the provider failed",
    "cancelled": "it was cancelled",
    "conflict": "the session was compacted, reset or undone meanwhile",
}
"""Why a compaction wrote nothing: a code and its words."""


class Reply(msgspec.Struct, frozen=True):
    """What a model answered."""

    text: str
    cut_off: bool = False
    """Whether it stopped because the answer was at its limit."""


class Failure(msgspec.Struct, frozen=True):
    """A request that brought no answer, after all waits, retries and fallbacks."""

    code: str
    """A key of REFUSALS."""
    message: str = ""


class Job(msgspec.Struct, frozen=True):
    """All that one compaction depends on."""

    cut: Cut
    budget: int
    """Tokens the brief may take, ledger included."""
    count: Callable[[str], int]
    """The counter that all sizes of this compaction are measured with."""
    room: Room
    previous: Compaction | None = None
    writer: str | None = None
    """`provider/model` of the summariser; None for a brief by rules."""
    given: str | None = None
    """A draft from a registered compaction provider, tried before the model is asked."""
    rides: bool = False
    """Whether the first draft is asked for at the end of the conversation's own request, which is cheaper where the
    provider's cache holds it."""
    given_by: str = "provider"
    """Who wrote that draft."""
    focus: str | None = None
    mode: Literal["safeguard", "default"] = "safeguard"
    strict: bool = True
    """Whether exact identifiers must be carried over."""
    guard: bool = True
    """Whether drafts are audited."""
    retries: int = 1
    recent_turns: int = 3
    """How many of the newest turns that are wound up are quoted."""
    fallback: Literal["ledger", "cancel"] = "cancel"

    @property
    def replaced(self) -> int:
        """The tokens the brief takes the place of."""
        return self.cut.dropped_tokens + (self.count(self.previous.summary) if self.previous else 0)


class Accepted(msgspec.Struct, frozen=True):
    """A brief to be stored."""

    text: str
    lines: tuple[Line, ...]
    verdict: Verdict
    ledger: Ledger
    model: str | None
    lost: tuple[str, ...] = ()
    lost_total: int = 0
    left_out: dict[str, tuple[str, ...]] = {}
    nodes: tuple[Node, ...] = ()
    """Summaries of stretches that were made on the way."""


class Refused(msgspec.Struct, frozen=True):
    """Nothing to be stored: the history stays as it is."""

    code: str
    attempts: tuple[Attempt, ...] = ()
    detail: str = ""
    """What the provider said, where one did."""

    @property
    def reason(self) -> str:
        """The code in words."""
        return REFUSALS[self.code]
