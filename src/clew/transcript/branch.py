"""The path from a leaf back through its parents: what counts as said, where a transcript has branches."""

from collections.abc import Iterable

from clew.transcript.entry import Compaction, Entry, Reset, Undo


def path(entries: Iterable[Entry], leaf: str | None) -> list[Entry]:
    """The entries from the oldest known ancestor of `leaf` to `leaf`, oldest first.

    `entries` may be a slice of a transcript: the walk ends at a parent that is not in it. A cycle ends it too.
    """
    by_id = {entry.id: entry for entry in entries}
    walked: list[Entry] = []
    here = leaf
    while here is not None and (entry := by_id.pop(here, None)) is not None:
        walked.append(entry)
        here = entry.parent
    walked.reverse()
    return walked


def boundary(entries: Iterable[Entry]) -> Entry | None:
    """The newest compaction or reset of a path that no later entry undid."""
    undone: set[str] = set()
    for entry in reversed(list(entries)):
        if isinstance(entry.body, Undo):
            undone.add(entry.body.target)
        elif isinstance(entry.body, Compaction | Reset) and entry.id not in undone:
            return entry
    return None
