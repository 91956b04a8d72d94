"""How a compaction of a session ends: a brief stands, there was nothing to do, or nothing was written."""

import msgspec

from clew.compact.cut import Cut
from clew.transcript import Attempt, Compaction


class Compacted(msgspec.Struct, frozen=True):
    """A brief stands: committed, or (`preview`) as it would be."""

    id: str
    """The id of the compaction's entry; empty for a preview."""
    body: Compaction
    cut: Cut
    preview: bool = False


class Skipped(msgspec.Struct, frozen=True):
    """There was nothing to compact."""

    code: str
    reason: str
    tokens: int
    """The size of the view as it was and is."""


class Declined(msgspec.Struct, frozen=True):
    """Nothing was written: the history is as it was, and the session goes on."""

    code: str
    reason: str
    detail: str
    attempts: tuple[Attempt, ...]
    tokens: int


Outcome = Compacted | Skipped | Declined
