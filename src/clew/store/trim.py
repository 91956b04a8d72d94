"""Where a history may be cut short for good, and what is left of it: what every adapter shares.

Pure, as `clew.store.place` is. What is left has its numbers from 1 again, and names nothing that went: a parent, a
first kept entry, a brief before the last one, summaries of what is no longer there.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from clew.errors import BadInput
from clew.store.place import Placed, shown
from clew.store.port import Record, SessionRow
from clew.transcript import Body, Compaction, Entry, Reset, Said, Undo, encode, groups


class Trimmed(NamedTuple):
    """A session cut short."""

    row: SessionRow
    records: list[Record]
    """All that is left, with the numbers it has from now on."""
    mended: list[Placed]
    """Those of them whose bytes are not what they were."""


def at_least_one(keep: int) -> None:
    """Raises BadInput for a number of entries that cannot be kept."""
    if keep < 1:
        raise BadInput(f"At least 1 entry has to be kept, not {keep}; nothing was changed.")


def cut_at(records: Sequence[Record], keep: int, leaf: str | None) -> int:
    """How many of the oldest entries go, so that at most `keep` are left.

    A call and its result stay or go together, and the session's last entry stays with those it belongs to: where these
    alone are more than `keep`, they are what is left.
    """
    runs = _runs(records)
    last = next((at for at, record in enumerate(records) if record.entry.id == leaf), len(records) - 1)
    least = _opening(runs, last)
    for cut in range(max(0, len(records) - keep), least):
        if _opening(runs, cut) == cut:
            return cut
    return max(0, min(least, len(records)))


def _runs(records: Sequence[Record]) -> dict[int, int]:
    """For each entry in a run that stays together, where that run begins."""
    said = [(at, body.message) for at, record in enumerate(records) if isinstance(body := record.entry.body, Said)]
    opening: dict[int, int] = {}
    for run in groups([message for _, message in said]):
        first, last = said[run[0]][0], said[run[-1]][0]
        opening.update(dict.fromkeys(range(first, last + 1), first))
    return opening


def _opening(runs: Mapping[int, int], at: int) -> int:
    return runs.get(at, at)


def trimmed(row: SessionRow, records: Sequence[Record], cut: int, at: int) -> Trimmed:
    """The session without its oldest `cut` entries. `records` are all of its entries, `at` is now in milliseconds."""
    left = records[cut:]
    mend = _Mending(left)
    bodies = [mend.entry(record.entry) for record in left]
    now, mended = [], []
    for seq, (record, entry) in enumerate(zip(left, bodies, strict=True), 1):
        if entry == record.entry:
            now.append(msgspec.structs.replace(record, seq=seq))
            continue
        data = encode(entry)
        now.append(Record(seq, entry, record.tokens, len(data)))
        mended.append(Placed(now[-1], data, leaf=True))
    return Trimmed(_row(row, now, cut, at), now, mended)


class _Mending:
    """Entries that name what went, made to name what is left."""

    def __init__(self, left: Sequence[Record]) -> None:
        self._here = {record.entry.id for record in left}
        self._root: dict[str, str] = {}
        for record in left:
            parent = record.entry.parent
            self._root[record.entry.id] = self._root.get(parent or "", record.entry.id)
        nodes = [node for record in left if isinstance(body := record.entry.body, Compaction) for node in body.nodes]
        named = {end for node in nodes for end in (node.first, node.last)}
        below = {child for node in nodes for child in node.children}
        self._whole = named <= self._here and below <= {node.id for node in nodes}

    def entry(self, entry: Entry) -> Entry:
        """The entry, the same one where it names nothing that went."""
        parent = entry.parent if entry.parent in self._here else None
        body = self._body(entry.body, parent)
        return entry if (parent, body) == (entry.parent, entry.body) else Entry(entry.id, parent, entry.at, body)

    def _body(self, body: Body, parent: str | None) -> Body:
        if not isinstance(body, Compaction | Reset):
            return body
        if body.first_kept is not None and body.first_kept not in self._here:
            body = msgspec.structs.replace(body, first_kept=self._root[parent] if parent else None)
        if isinstance(body, Compaction):
            previous = body.previous if body.previous in self._here else None
            body = msgspec.structs.replace(body, previous=previous, nodes=body.nodes if self._whole else ())
        return body


def _row(row: SessionRow, records: Sequence[Record], cut: int, at: int) -> SessionRow:
    by_id = {record.entry.id: record for record in records}
    boundary = by_id.get(row.boundary or "")
    start = _start(row, boundary, by_id, cut)
    window = shown(records[start - 1 :], boundary.entry.id if boundary else None)
    bodies = [record.entry.body for record in records]
    undone = [by_id[body.target].entry.body for body in bodies if isinstance(body, Undo) and body.target in by_id]
    return msgspec.structs.replace(
        row,
        updated=max(row.updated, at),
        generation=row.generation + 1,
        leaf=row.leaf if row.leaf in by_id else None,
        boundary=boundary.entry.id if boundary else None,
        start=start,
        entries=len(records),
        compactions=max(0, sum(isinstance(one, Compaction) for one in bodies)
                        - sum(isinstance(one, Compaction) for one in undone)),
        window_tokens=sum(record.tokens for record in window),
        window_bytes=sum(record.size for record in window),
    )  # fmt: skip


def _start(row: SessionRow, boundary: Record | None, by_id: Mapping[str, Record], cut: int) -> int:
    """Where the window begins: where it began; else with what its boundary keeps now."""
    if boundary is None:
        return 1
    if row.start > cut:
        return row.start - cut
    body = boundary.entry.body
    first = body.first_kept if isinstance(body, Compaction | Reset) else None
    return by_id[first].seq if first is not None and first in by_id else boundary.seq
