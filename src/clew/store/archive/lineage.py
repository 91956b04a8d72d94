"""Parent links somebody else wrote, put in order: parents before children, no gaps, no cycles, one active branch."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from clew.store.port import Draft
from clew.transcript import Body, Compaction, Reset


class Row(msgspec.Struct):
    """An entry on its way in."""

    id: str
    at: int
    body: Body
    parent: str | None
    before: str | None
    """The entry of the main line before it in the file: its parent where the one it names is not there."""
    side: bool = False
    """Whether it can never be where the session goes on."""


MISSING = "missing parent"
CYCLE = "cycle"
KEPT = "first kept entry not found"
REPAIRS = {
    MISSING: "{n} entries named a parent that is not in the file and were attached to the entry before them.",
    CYCLE: "{n} entries were their own ancestors; the circle was opened and attached to the entry before it.",
    KEPT: "{n} compactions named a first kept entry that is not before them; they keep nothing but their summary.",
}
"""What is said of each repair."""


def settle(rows: Sequence[Row], leaf: str | None = None, *, exact: bool = False) -> tuple[list[Draft], Counter[str]]:
    """The rows as drafts in an order a store accepts, and how often each repair was needed.

    The session goes on from `leaf`, or else from the last row that is not a side one. `exact` leaves bodies as they
    are, even where what a compaction says it kept is not there.
    """
    repairs: Counter[str] = Counter()
    by_id = {row.id: row for row in rows}
    for row in rows:
        if row.parent is not None and (row.parent not in by_id or row.parent == row.id):
            row.parent = row.before
            repairs[MISSING] += 1
    ordered = _ordered(rows, by_id, repairs)
    for row in () if exact else ordered:
        _check_kept(row, by_id, repairs)
    main = {row.id for row in branch(by_id, leaf or tip(rows))}
    return [Draft(row.id, row.at, row.body, parent=row.parent, leaf=row.id in main) for row in ordered], repairs


def tip(rows: Sequence[Row]) -> str | None:
    """The last row a session could go on from."""
    return next((row.id for row in reversed(rows) if not row.side), None)


def branch(by_id: dict[str, Row], leaf: str | None) -> list[Row]:
    """The rows from a root to `leaf`; a cycle or a gap ends it."""
    walked: dict[str, Row] = {}
    while leaf is not None and leaf in by_id and leaf not in walked:
        walked[leaf] = by_id[leaf]
        leaf = by_id[leaf].parent
    return list(reversed(walked.values()))


def _ordered(rows: Sequence[Row], by_id: dict[str, Row], repairs: Counter[str]) -> list[Row]:
    """The rows in file order, but each after its parent."""
    placed: dict[str, Row] = {}
    waiting: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.parent is None or row.parent in placed:
            _place(row, placed, waiting)
        else:
            waiting[row.parent].append(row)
    for row in rows:
        if row.id not in placed:
            first = _entrance(row, by_id)
            first.parent = next(reversed(placed), None)
            repairs[CYCLE] += 1
            _place(first, placed, waiting)
    return list(placed.values())


def _place(row: Row, placed: dict[str, Row], waiting: dict[str, list[Row]]) -> None:
    stack = [row]
    while stack:
        here = stack.pop()
        if here.id not in placed:
            placed[here.id] = here
            stack.extend(reversed(waiting.pop(here.id, [])))


def _entrance(row: Row, by_id: dict[str, Row]) -> Row:
    """The row of the cycle above `row` (or with it) that is met first."""
    seen: set[str] = set()
    here = row
    while here.id not in seen and here.parent is not None:
        seen.add(here.id)
        here = by_id[here.parent]
    return here


def _check_kept(row: Row, by_id: dict[str, Row], repairs: Counter[str]) -> None:
    body = row.body
    if not isinstance(body, Compaction | Reset) or body.first_kept is None:
        return
    if all(above.id != body.first_kept for above in _above(row, by_id)):
        row.body = msgspec.structs.replace(body, first_kept=None)
        repairs[KEPT] += 1


def _above(row: Row, by_id: dict[str, Row]) -> Iterable[Row]:
    while row.parent is not None:
        row = by_id[row.parent]
        yield row
