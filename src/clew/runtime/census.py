"""What is known of a session's entries once all have passed: their order, branches, boundaries, pairs and sums.

They are read in pages and let go of: what is kept of each is its id, its number, its parent's place and a mark, so a
session of 100,000 entries takes some 20 MB.
"""

from array import array
from collections.abc import Iterator
from itertools import pairwise

from clew.recall.message import ROLES, role
from clew.store.audit import Audited, Stored, sound
from clew.store.port import SessionRow, Store
from clew.transcript import Compaction, Entry, Reset, Said, ToolResult, Undo, calls_of, kind_of

ROOT, LOST = -1, -2
"""In place of a parent's place: it has none; it names one that is not stored before."""

UNREAD = len(ROLES) + 1
"""The mark of a message that cannot be read; that of one that can is its role's number, counted from 1, and 0 that of
all else."""

MOST_TOKENS = 500_000
"""Tokens that no entry has which is shorter than that in bytes."""


class Fork:
    """Where the active branch passes over entries that were said: places, counted from 0."""

    def __init__(self, parent: int, child: int, passed: range) -> None:
        self.parent, self.child, self.passed = parent, child, passed


class Census:
    """What is known of the entries. A place is counted from 0 and has no gaps, whatever numbers damage left."""

    def __init__(self, row: SessionRow) -> None:
        self.row = row
        self.places: dict[str, int] = {}
        self.numbers, self.parents = array("q"), array("q")
        self.said = bytearray()
        """By place: whose message it is, see UNREAD."""
        self.boundaries: dict[str, Compaction | Reset | Undo] = {}
        self.order: list[str] = []
        self.lost_parents: list[str] = []
        self.unread: list[str] = []
        self.columns: list[str] = []
        self.newer = True
        """Whether a newer Clew wrote all that cannot be read."""
        self.compactions = self.tokens = self.size = 0
        self.calls: dict[str, list[int]] = {}
        self.stray = self.parted = 0

    def take(self, one: Stored) -> None:
        """One entry more."""
        expected, place = max(self.numbers[-1], 0) + 1 if self.numbers else 1, len(self.numbers)
        if one.seq != expected:
            self.order.append(f"#{one.seq} stands where #{expected} should")
        name, kind, parent, mark = one.id, one.kind, place - 1, UNREAD if one.kind == "message" else 0
        if one.entry is None:
            self.unread.append(f"#{one.seq} cannot be read ({one.fault})")
            self.newer = self.newer and one.newer
        else:
            name, kind, body = one.entry.id, kind_of(one.entry.body), one.entry.body
            parent = self._parent(one.seq, one.entry)
            mark = ROLES.index(role(body.message)) + 1 if isinstance(body, Said) else 0
            self.columns += _disagreeing(one, name, kind)
            self._read(one, name, body)
        self.places[name] = place
        self.numbers.append(one.seq)
        self.parents.append(parent)
        self.said.append(mark)
        self.compactions += kind == "compaction"
        if one.seq >= self.row.start and (name == self.row.boundary or kind not in ("compaction", "reset")):
            self.tokens += one.tokens
            self.size += one.size

    def _parent(self, seq: int, entry: Entry) -> int:
        if entry.parent is None:
            return ROOT
        if (place := self.places.get(entry.parent, LOST)) == LOST:
            self.lost_parents.append(f"#{seq} follows {entry.parent}, which is not stored before it")
        return place

    def _read(self, one: Stored, name: str, body: object) -> None:
        if isinstance(body, Compaction | Reset | Undo):
            self.boundaries[name] = _light(body)
        if not isinstance(body, Said):
            return
        for call in calls_of(body.message):
            self.calls.setdefault(call.id, []).append(one.seq)
        if isinstance(body.message, ToolResult):
            waiting = self.calls.get(body.message.call_id)
            if not waiting:
                self.stray += 1
                return
            self.parted += waiting.pop(0) < self.row.start <= one.seq
            if not waiting:
                del self.calls[body.message.call_id]

    # Once all have passed ---------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self.numbers)

    @property
    def whole(self) -> bool:
        """Whether every entry is there, can be read, and has a number by which it is found."""
        return not self.unread and not self._missing and all(number > 0 for number in self.numbers[:1])

    @property
    def _missing(self) -> bool:
        """A row that counts more than there are is wrong itself where no number is missing and the end is there."""
        there = self.row.leaf is None or self.row.leaf in self.places
        return self.row.entries > self.count and (bool(self.order) or not there)

    def number(self, name: str | None) -> int | None:
        """The `seq` of an entry; None where it is not stored."""
        place = self.places.get(name or "")
        return None if place is None else self.numbers[place]

    def branch(self) -> list[int]:
        """The places of the active branch, oldest first."""
        here, walked = self.places.get(self.row.leaf or "", ROOT), []
        while here >= 0:
            walked.append(here)
            here = self.parents[here]
        return walked[::-1]

    def chain(self) -> list[str]:
        """The boundaries from the one the view starts from back to the first, as far as they are there."""
        here, walked = self.row.boundary, dict[str, None]()
        while here is not None and here not in walked and isinstance(self.boundaries.get(here), Compaction | Reset):
            walked[here] = None
            body = self.boundaries[here]
            here = body.previous if isinstance(body, Compaction) else None
        return list(walked)

    def forks(self, branch: list[int]) -> Iterator[Fork]:
        """Where an entry of the active branch follows one that is not the one before it, and nobody seems to have gone
        back there: what it passes over begins with a message from another side, or holds a boundary that stands."""
        standing = {self.places[name] for name in self.chain()}
        for parent, child in pairwise(branch):
            passed = range(parent + 1, child)
            other = next((here for here in passed if self.parents[here] == parent and self.said[here]), None)
            if other is None or not self.said[child] or UNREAD in (self.said[other], self.said[child]):
                continue
            if self.said[other] != self.said[child] or any(here in standing for here in passed):
                yield Fork(parent, child, passed)


def census(store: Store, row: SessionRow) -> Census:
    """What is known of the entries of a session."""
    found = Census(row)
    shown = store.audit(row.key) if isinstance(store, Audited) else map(sound, store.entries(row.key))
    for one in shown:
        found.take(one)
    return found


def _disagreeing(one: Stored, name: str, kind: str) -> Iterator[str]:
    """Where the columns say something else than the entry."""
    if one.id != name:
        yield f"#{one.seq} is kept under the id {one.id}, and is {name}"
    if one.kind != kind:
        yield f"#{one.seq} is kept as {one.kind}, and is a {kind}"
    if one.size != one.bytes:
        yield f"#{one.seq} is said to have {one.size:,} bytes, and has {one.bytes:,}"
    if one.tokens < 0 or one.tokens > max(one.bytes, MOST_TOKENS):
        yield f"#{one.seq} is said to have {one.tokens:,} tokens"


def _light(body: Compaction | Reset | Undo) -> Compaction | Reset | Undo:
    """A boundary without its words and its ledger."""
    if not isinstance(body, Compaction):
        return body
    return Compaction(
        "", body.first_kept, 0, 0, body.trigger, body.verdict, type(body.ledger)(), previous=body.previous
    )
