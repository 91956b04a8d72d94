"""What the model may see of a branch: the newest brief, then what was kept, then what came after it."""

from collections.abc import Iterable, Sequence

import msgspec

from clew.transcript.branch import boundary
from clew.transcript.entry import Compaction, Entry, Pin, Reset, Said
from clew.transcript.message import Message, user

INTRO = (
    "The conversation up to here was compacted. The summary below is a record of it, not a new request; "
    "every line of it can be traced to the original messages, which are kept."
)
OPEN, CLOSE = "<summary>", "</summary>"


class View(msgspec.Struct, frozen=True):
    """A window's worth of a session, oldest first."""

    entries: tuple[Entry, ...]
    """The entries shown as they were; those that are not messages are there for the record and show nothing."""
    boundary: Entry | None = None
    """The compaction or reset the view starts from."""
    kept: int = 0
    """How many of `entries` are older than the boundary: sizes that a provider reported for them are stale."""

    @property
    def brief(self) -> Compaction | None:
        """The brief the view opens with."""
        return self.boundary.body if self.boundary and isinstance(self.boundary.body, Compaction) else None

    def messages(self) -> list[Message]:
        """What the model is sent, before pruning and mending."""
        opening = [user(brief_text(self.brief.summary), synthetic=True)] if self.brief else []
        pinned = [user(pin_text(pin), synthetic=True) for pin in self.pins() if self._outside(pin)]
        return [*opening, *pinned, *(entry.body.message for entry in self.entries if isinstance(entry.body, Said))]

    def pins(self) -> list[Pin]:
        """The pins set since the boundary and not taken off again; older ones live in the brief's ledger."""
        standing: dict[str, Pin] = {}
        for entry in self.entries:
            if isinstance(entry.body, Pin):
                standing.pop(entry.body.target, None)
                if entry.body.on:
                    standing[entry.body.target] = entry.body
        return list(standing.values())

    def _outside(self, pin: Pin) -> bool:
        return all(entry.id != pin.target for entry in self.entries)


def brief_text(summary: str) -> str:
    """A brief as the model reads it. A closing tag inside it is made harmless."""
    return f"{INTRO}\n{OPEN}\n{summary.replace(CLOSE, '&lt;/summary&gt;')}\n{CLOSE}"


def pin_text(pin: Pin) -> str:
    """A pinned message as the model reads it, once it has left the view."""
    return f"[pinned {pin.role} message]\n{pin.text}"


def view(branch: Sequence[Entry]) -> View:
    """The view of a branch (or of its end, as long as the newest boundary and what it kept are in it)."""
    newest = boundary(branch)
    if newest is None:
        return View(_shown(branch))
    first = newest.body.first_kept if isinstance(newest.body, Compaction | Reset) else None
    ids = [entry.id for entry in branch]
    at = ids.index(newest.id)
    start = ids.index(first) if first in ids[:at] else at
    kept = _shown(branch[start:at])
    return View((*kept, *_shown(branch[at:])), newest, len(kept))


def _shown(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """All but boundaries: an older one inside the range has been taken up by the newest, or was undone."""
    return tuple(entry for entry in entries if not isinstance(entry.body, Compaction | Reset))
