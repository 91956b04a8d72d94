"""Marks replayed: the messages of a view with the results shortened that its marks name, from the original bytes."""

import msgspec

from clew.prune.trim import cleared, trimmed
from clew.transcript import Entry, Message, PruneMark, Said, ToolResult, View


def cuts(view: View) -> dict[str, str]:
    """Which results are shown shortened, and how, by entry id: later marks add to earlier ones."""
    found: dict[str, str] = {}
    for entry in view.entries:
        if isinstance(entry.body, PruneMark):
            found |= entry.body.cuts
    return found


def project(view: View) -> View:
    """The view as it is sent: every marked result trimmed or cleared. The transcript is not touched."""
    marked = cuts(view)
    return (
        msgspec.structs.replace(view, entries=tuple(_shown(e, marked.get(e.id)) for e in view.entries))
        if marked
        else view
    )


def _shown(entry: Entry, how: str | None) -> Entry:
    if how is None or not isinstance(entry.body, Said) or not isinstance(entry.body.message, ToolResult):
        return entry
    message: Message = trimmed(entry.body.message, entry.id) if how == "trim" else cleared(entry.body.message)
    return msgspec.structs.replace(entry, body=Said(message))
