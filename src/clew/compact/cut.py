"""Where the kept tail begins: newest first, within a budget, and never between a call and its results."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from clew.transcript import Entry, Said, ToolResult, User, groups

SKIPS: dict[str, str] = {
    "empty": "there is no message in the view",
    "already_compacted": "nothing was said since the last compaction",
    "too_small": "the view is so small that a brief could not be smaller",
    "one_exchange": "the view is a single exchange, which must stay whole",
}
"""Why there is nothing to compact: a code and its words."""

SkipCode = Literal["empty", "already_compacted", "too_small", "one_exchange"]

MIN_TAIL_SHARE = 4
"""A tail of less than a quarter of its budget takes in the group at the boundary, even above the budget."""

MAX_OVERRUN = 2
"""…as long as the tail stays within twice its budget: more would eat what the compaction frees."""


class Cut(msgspec.Struct, frozen=True):
    """A view parted in what is wound up and what stays."""

    history: tuple[Entry, ...]
    """Whole turns to be wound up."""
    prefix: tuple[Entry, ...]
    """The beginning of a turn whose end is kept: summarised apart."""
    tail: tuple[Entry, ...]
    """What stays as it was."""
    dropped_tokens: int
    tail_tokens: int

    @property
    def first_kept(self) -> str | None:
        """The entry the tail begins with; None where nothing is kept."""
        return self.tail[0].id if self.tail else None

    @property
    def dropped(self) -> tuple[Entry, ...]:
        """All that is wound up, in order."""
        return (*self.history, *self.prefix)


class Skip(msgspec.Struct, frozen=True):
    """Nothing to compact, and why: an expected outcome, not an error."""

    code: SkipCode

    @property
    def reason(self) -> str:
        """The code in words."""
        return SKIPS[self.code]


def plan(entries: Sequence[Entry], sizes: Mapping[str, int], *, keep: int, kept: int = 0, floor: int = 0) -> Cut | Skip:
    """Where to cut a view.

    `entries` are the view's, `sizes` their tokens by id, `keep` the tokens the tail may take, `kept` how many entries
    are older than the view's boundary, `floor` the tokens below which winding up cannot pay.
    """
    spoken = [at for at, entry in enumerate(entries) if isinstance(entry.body, Said)]
    if not spoken:
        return Skip("empty")
    if spoken[-1] < kept:
        return Skip("already_compacted")
    starts = _group_starts(entries, spoken)
    if len(starts) == 1:
        return Skip("one_exchange" if sizes_of(entries, sizes) > floor else "too_small")
    at = _walk(entries, sizes, starts, keep)
    if sizes_of(entries[:at], sizes) <= floor:
        return Skip("too_small")
    return _cut(entries, sizes, at)


def sizes_of(entries: Sequence[Entry], sizes: Mapping[str, int]) -> int:
    """The sum of what entries take, in tokens."""
    return sum(sizes.get(entry.id, 0) for entry in entries)


def _group_starts(entries: Sequence[Entry], spoken: Sequence[int]) -> list[int]:
    """The positions at which a tail may begin: the first entry of each group that may not be parted."""
    messages = [entry.body.message for at in spoken if isinstance((entry := entries[at]).body, Said)]
    starts = [spoken[run.start] for run in groups(messages) if not isinstance(messages[run.start], ToolResult)]
    return starts or [spoken[0]]


def _walk(entries: Sequence[Entry], sizes: Mapping[str, int], starts: Sequence[int], keep: int) -> int:
    """The start of the tail: groups are taken from the newest on while they fit; the newest is always taken."""
    chosen, taken, end = starts[-1], 0, len(entries)
    for start in reversed(starts[1:]):
        group = sizes_of(entries[start:end], sizes)
        fits = taken + group <= keep
        spares_a_stub = taken < keep // MIN_TAIL_SHARE and taken + group <= keep * MAX_OVERRUN
        if end != len(entries) and not fits and not spares_a_stub:
            break
        chosen, taken, end = start, taken + group, start
    return chosen


def _cut(entries: Sequence[Entry], sizes: Mapping[str, int], at: int) -> Cut:
    """Parted at `at`, with hidden entries just before it going along, and a split turn's beginning set apart."""
    while at > 0 and not isinstance(entries[at - 1].body, Said):
        at -= 1
    turn = at if _opens_turn(entries, at) else _turn_start(entries, at)
    dropped, tail = tuple(entries[:at]), tuple(entries[at:])
    return Cut(dropped[:turn], dropped[turn:], tail, sizes_of(dropped, sizes), sizes_of(tail, sizes))


def _opens_turn(entries: Sequence[Entry], at: int) -> bool:
    first = next((e.body.message for e in entries[at:] if isinstance(e.body, Said)), None)
    return first is None or (isinstance(first, User) and not first.synthetic)


def _turn_start(entries: Sequence[Entry], at: int) -> int:
    """The position of the user message that opened the turn `at` lies in, or 0 if that was wound up before."""
    for back in range(at - 1, -1, -1):
        body = entries[back].body
        if isinstance(body, Said) and isinstance(body.message, User) and not body.message.synthetic:
            return back
    return 0
