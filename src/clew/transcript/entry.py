"""The kinds of entry a transcript is made of. An entry has an identity, a parent and a time; its body is a value."""

from typing import Any, Literal

import msgspec

from clew.transcript.message import Message, Value

Trigger = Literal["manual", "budget", "overflow", "bytes", "timeout", "switch"]
"""Why a compaction ran: asked for; over the threshold; provider refused; too many bytes; timed out; model switch."""


class Finding(Value, frozen=True):
    """One thing the audit found in a brief."""

    code: str
    """A code of the audit's table, such as `missing_section`."""
    detail: str = ""
    """The heading, identifier or line it is about."""


class Attempt(Value, frozen=True):
    """One draft of a brief: who wrote it and what the audit said."""

    writer: str
    """`provider/model`, or `ledger` for a brief written by rules."""
    findings: tuple[Finding, ...] = ()
    failure: str | None = None
    """The code of the failure where no draft came back."""
    tokens: int | None = None
    """The size of the draft, estimated."""


class Verdict(Value, frozen=True):
    """What the audit decided and how it came to it."""

    outcome: Literal["accepted", "repaired", "fallback", "imported"]
    """As drafted; after deterministic repair; written by rules because no draft passed or no model was there;
    written by the program the session came from, and not audited."""
    attempts: tuple[Attempt, ...] = ()
    restored: tuple[str, ...] = ()
    """The identifiers and asks put back by rule."""
    dropped: tuple[str, ...] = ()
    """The lines taken out by rule: invented identifiers, asks that were already answered."""
    losses: tuple[str, ...] = ()
    """Codes of what a budget cut off, such as `identifiers`."""


class LedgerItem(Value, frozen=True):
    """One fact kept by rules."""

    key: str
    """What makes two facts the same one; the newest value of a key wins."""
    text: str
    """The fact, verbatim where it was said."""
    at: int = 0
    """How recent: the position of the newest entry that supports it, counted over the whole session."""
    uses: int = 1
    """How many entries support it."""
    state: str = ""
    """`open`, `done`, `cancelled`, `read`, `edited`, `created`, `deleted`, `answered`, …; empty where it has none."""
    sources: tuple[str, ...] = ()
    """Ids of entries that support it: the first one and the newest ones."""


class Ledger(Value, frozen=True):
    """The facts that must survive, kept by rules and merged by key from one compaction to the next."""

    asks: tuple[LedgerItem, ...] = ()
    rules: tuple[LedgerItem, ...] = ()
    pins: tuple[LedgerItem, ...] = ()
    identifiers: tuple[LedgerItem, ...] = ()
    files: tuple[LedgerItem, ...] = ()
    todos: tuple[LedgerItem, ...] = ()
    failures: tuple[LedgerItem, ...] = ()
    decisions: tuple[LedgerItem, ...] = ()
    position: int = 0
    """How many entries of the session the ledger has read."""


class Line(Value, frozen=True):
    """Where one line of a brief comes from."""

    number: int
    """Counted from 1 in the brief as stored."""
    sources: tuple[str, ...] = ()
    """Ids of the entries that support it; empty for a heading, or for a line that nothing supports."""


class Node(Value, frozen=True):
    """A summary in the graph of summaries that the engine `lossless` builds over the untouched transcript."""

    id: str
    depth: int
    """0 for a leaf, which summarises entries; else one more than that of its children, whose texts it summarises."""
    first: str
    last: str
    """Ids of the first and the last entry it stands for, its children's included."""
    text: str
    children: tuple[str, ...] = ()
    """Ids of nodes, oldest first."""
    tokens: int = 0
    """The size of the entries it stands for, estimated."""
    writer: str | None = None
    """`provider/model`; None for rules."""


class Said(Value, frozen=True, tag="message"):
    """A message of the conversation."""

    message: Message


class Compaction(Value, frozen=True, tag="compaction"):
    """The old part of the view wound up into a brief. The entries it stands for stay in the transcript."""

    summary: str
    """The exact text that was audited and that the model is shown."""
    first_kept: str | None
    """The first entry still shown as it was; None if nothing is."""
    tokens_before: int
    tokens_after: int
    """Sizes of the view before and after, both estimated with the same counter."""
    trigger: Trigger
    verdict: Verdict
    ledger: Ledger
    model: str | None = None
    """Who wrote the prose: `provider/model`; None for a brief written by rules."""
    mode: Literal["safeguard", "default"] = "safeguard"
    focus: str | None = None
    lines: tuple[Line, ...] = ()
    previous: str | None = None
    """The compaction whose brief this one took in."""
    lost: tuple[str, ...] = ()
    """Identifiers of the old view that are in neither the brief nor the kept tail, most used first, bounded."""
    lost_total: int = 0
    """How many such identifiers there are."""
    left_out: dict[str, tuple[str, ...]] = {}
    """Other facts of the ledger that neither brief nor tail shows, by section (`asks`, `rules`, `todos`, `files`, …),
    bounded in number and length. The ledger still holds them."""
    covered: int = 0
    """How many entries the brief stands for in this round."""
    duration_ms: int | None = None
    nodes: tuple[Node, ...] = ()
    """The summaries that the engine `lossless` made in this round; the graph is those of all compactions that stand."""


class PruneMark(Value, frozen=True, tag="prune"):
    """Old tool results shown shortened from here on; a delta to the marks before it."""

    provider: str
    cuts: dict[str, str] = {}
    """Entry id to how it is shown: `trim` or `clear` for a result, `image` for images as markers. They add up."""
    placeholder: str = ""
    """What stands in for the cleared results of this mark; empty for stubs that say what was there."""


class Reset(Value, frozen=True, tag="reset"):
    """The view starts afresh here."""

    reason: str = "new"
    first_kept: str | None = None


class Pin(Value, frozen=True, tag="pin"):
    """A message that is kept for good, with its words, so that a view needs no look at old entries."""

    target: str
    text: str
    role: str
    on: bool = True
    """False takes an earlier pin off."""


class Undo(Value, frozen=True, tag="undo"):
    """A compaction taken back: the view is again what it was before it."""

    target: str


class ModelChange(Value, frozen=True, tag="model"):
    """The session goes on with another model."""

    model: str


class Custom(Value, frozen=True, tag="custom"):
    """Anything else, kept and never shown to the model: what an import did not know, or a plug-in's own."""

    kind: str
    data: Any = None


Body = Said | Compaction | PruneMark | Reset | Pin | Undo | ModelChange | Custom


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a transcript."""

    id: str
    parent: str | None
    """The entry this one follows; None for a root."""
    at: int
    """Milliseconds since 1970-01-01 UTC."""
    body: Body


KINDS: dict[type, str] = {
    Said: "message", Compaction: "compaction", PruneMark: "prune", Reset: "reset",
    Pin: "pin", Undo: "undo", ModelChange: "model", Custom: "custom",
}  # fmt: skip
"""The name each kind of body has in storage, the same as its tag."""


def kind_of(body: Body) -> str:
    """The name a body has in storage."""
    return KINDS[type(body)]
