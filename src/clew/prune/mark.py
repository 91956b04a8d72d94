"""Marks replayed: the messages of a view shortened as its marks say, always from the original bytes.

A mark is a delta to those before it, so all marks together grow with what was shortened and not with how often.
"""

from collections.abc import Mapping

import msgspec

from clew.prune.trim import cleared, pictured, trimmed
from clew.transcript import Call, Entry, Message, PruneMark, Said, ToolResult, User, View, calls_of


class Cut(msgspec.Struct, frozen=True):
    """How one entry is shown."""

    kinds: frozenset[str] = frozenset()
    """`trim`, `clear`, `image`; each adds to the others."""
    placeholder: str = ""
    """What stands in for a cleared result; empty for a stub that says what was there."""

    @property
    def shortened(self) -> bool:
        """Whether the words of the result are cut, not only its images."""
        return bool(self.kinds & {"trim", "clear"})


UNCUT = Cut()


def cuts(view: View) -> dict[str, Cut]:
    """Which entries are shown shortened, and how, by id: later marks add to earlier ones."""
    found: dict[str, Cut] = {}
    for entry in view.entries:
        if isinstance(entry.body, PruneMark):
            for target, kind in entry.body.cuts.items():
                found[target] = _and(found.get(target, UNCUT), kind, entry.body.placeholder)
    return found


def _and(cut: Cut, kind: str, placeholder: str) -> Cut:
    if kind in cut.kinds:
        return cut
    return Cut(cut.kinds | {kind}, placeholder if kind == "clear" else cut.placeholder)


def project(view: View) -> View:
    """The view as it is sent: every marked message shortened. The transcript is not touched."""
    marked = cuts(view)
    if not marked:
        return view
    calls = calls_by_result(view)
    shown = tuple(shortened(e, marked[e.id], calls.get(e.id)) if e.id in marked else e for e in view.entries)
    return msgspec.structs.replace(view, entries=shown)


def calls_by_result(view: View) -> Mapping[str, Call]:
    """The call each result answers, by the result's entry: of calls that share an id, the newest before it."""
    open_calls: dict[str, Call] = {}
    found: dict[str, Call] = {}
    for entry in view.entries:
        message = entry.body.message if isinstance(entry.body, Said) else None
        if isinstance(message, ToolResult) and message.call_id in open_calls:
            found[entry.id] = open_calls[message.call_id]
        elif message is not None:
            open_calls |= {call.id: call for call in calls_of(message)}
    return found


def shortened(entry: Entry, cut: Cut, call: Call | None) -> Entry:
    """An entry as its cut shows it. Words of the conversation are never cut: only a user's old images can be."""
    message: Message | None = entry.body.message if isinstance(entry.body, Said) else None
    if isinstance(message, ToolResult) and "clear" in cut.kinds:
        message = cleared(message, entry.id, call, cut.placeholder)
    elif isinstance(message, ToolResult) and "trim" in cut.kinds:
        message = trimmed(message, entry.id, call)
    if isinstance(message, ToolResult | User) and "image" in cut.kinds:
        message = pictured(message, entry.id)
    return entry if message is None else msgspec.structs.replace(entry, body=Said(message))
