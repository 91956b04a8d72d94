"""How drafts take their places in a session and what becomes of its row: what every adapter shares.

Pure. It reads no store: what is already there (`Known`) and the sums of a window are handed in.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from clew.errors import AmbiguousName, BadInput, Conflict, DamagedStore, SessionExists, UnknownEntry, UnknownSession
from clew.store.port import Draft, Owed, Record, SessionRow, Slice
from clew.transcript import Compaction, Entry, Reset, Undo, clean, decode, encode, kind_of, path
from clew.transcript.codec import scrub

PAGE = 256
"""Entries read at once when a whole history is read: large enough to be fast, small enough to hold in memory."""

UNSTORABLE = (TypeError, ValueError, OverflowError, RecursionError)
"""What the codec raises for a value that has no JSON."""


class Known(NamedTuple):
    """What a draft may have to know of an entry that is stored."""

    seq: int
    kind: str


class Placed(NamedTuple):
    """A draft that has its place: the record as any reader will see it, and its canonical bytes."""

    record: Record
    data: bytes
    leaf: bool

    @property
    def kind(self) -> str:
        """The name its body has in storage."""
        return kind_of(self.record.entry.body)


def fresh(key: str, at: int, meta: dict[str, Any] | None) -> SessionRow:
    """The row of a new, empty session."""
    facts = {name: fact for name, fact in json_value(meta or {}).items() if fact is not None}
    return SessionRow(name_checked(key, "key"), at, at, None, 0, None, 1, 0, 0, 0, 0, facts)


def named_by(drafts: Sequence[Draft]) -> set[str]:
    """Every id that placing these drafts has to look up: their own, and the parents they name."""
    parents = {draft.parent for draft in drafts if isinstance(draft.parent, str)}
    return parents | {draft.id for draft in drafts}


def place(row: SessionRow, drafts: Sequence[Draft], known: Mapping[str, Known]) -> list[Placed]:
    """The drafts with seq, parent and bytes. Raises BadInput; then none of them has a place.

    `known` holds at least those of `named_by(drafts)` that are stored.
    """
    placed: list[Placed] = []
    here, taken = row.leaf, set(known)
    for number, draft in enumerate(drafts, row.entries + 1):
        parent = _parent(draft, here, placed)
        if parent is not None and parent not in taken and parent != row.leaf:
            raise BadInput(f"Entry {draft.id!r} names a parent {parent!r} that is not stored. Nothing was stored.")
        if name_checked(draft.id, "entry id") in taken:
            raise BadInput(f"There is an entry with the id {draft.id!r} already. Nothing was stored.")
        taken.add(draft.id)
        placed.append(_placed(draft, number, parent))
        here = draft.id if draft.leaf else here
    return placed


def appended(row: SessionRow, placed: Sequence[Placed]) -> SessionRow:
    """The row after an append: its sums and its leaf move on, its window and generation stay."""
    records = [one.record for one in placed]
    return msgspec.structs.replace(
        row,
        updated=max([row.updated, *(record.entry.at for record in records)]),
        leaf=next((one.record.entry.id for one in reversed(placed) if one.leaf), row.leaf),
        entries=row.entries + len(records),
        window_tokens=row.window_tokens + sum(record.tokens for record in records),
        window_bytes=row.window_bytes + sum(record.size for record in records),
    )


def is_new(known: Owed | None, owed: Owed) -> bool:
    """Whether a turn is owed for the first time. Raises BadInput for another turn under the same name."""
    if known is None:
        return True
    if (known.engine, known.first, known.last) != (owed.engine, owed.first, owed.last):
        raise BadInput(
            f"The turn {owed.turn} is owed to the engine {known.engine} already, as {known.first} to {known.last}; "
            "nothing was stored."
        )
    return False


def moved(
    row: SessionRow, one: Placed, known: Mapping[str, Known], *, boundary: str | None, start: int, sums: tuple[int, int]
) -> SessionRow:
    """The row after a commit. `sums` are the tokens and bytes from `start` on, the committed entry included."""
    tokens, size = sums
    return msgspec.structs.replace(
        appended(row, [one]),
        generation=row.generation + 1,
        boundary=boundary,
        start=start,
        compactions=max(0, row.compactions + _counts(one, known)),
        window_tokens=tokens,
        window_bytes=size,
    )


def shown(records: Iterable[Record], boundary: str | None) -> list[Record]:
    """The records somebody is shown: a boundary that is not the standing one was taken up by it, or taken back."""
    return [r for r in records if r.entry.id == boundary or not isinstance(r.entry.body, Compaction | Reset)]


def named_by_move(draft: Draft, boundary: str | None, start: str | None) -> set[str]:
    """Every id that a commit has to look up."""
    target = {draft.body.target} if isinstance(draft.body, Undo) else set()
    return named_by([draft]) | target | {name for name in (boundary, start) if name is not None}


def window_start(one: Placed, known: Mapping[str, Known], boundary: str | None, start: str | None) -> int:
    """The `seq` the window starts from after a commit. Raises BadInput for a boundary or start that is not stored."""
    seqs = {name: entry.seq for name, entry in known.items()} | {one.record.entry.id: one.record.seq}
    for name, what in ((boundary, "boundary"), (start, "start")):
        if name is not None and name not in seqs:
            raise BadInput(f"The {what} {name!r} is no entry of this session. Nothing was stored.")
    first = start if start is not None else boundary
    return 1 if first is None else seqs[first]


def same_generation(row: SessionRow, generation: int) -> None:
    """Raises Conflict if the window has moved since `generation`."""
    if row.generation != generation:
        raise Conflict(
            f"Session {row.key!r} was compacted, reset or undone meanwhile (generation {row.generation}, "
            f"not {generation}). Nothing was written; look at the session as it is now and try again."
        )


def sliced(row: SessionRow, records: Sequence[Record], boundary: Record | None) -> Slice:
    """The window made of the records from its start on: the active branch, side branches left out."""
    by_id = {record.entry.id: record for record in records}
    branch = path((record.entry for record in records), row.leaf)
    return Slice(row, boundary, tuple(by_id[entry.id] for entry in branch))


def described(row: SessionRow, meta: dict[str, Any]) -> dict[str, Any]:
    """A session's facts with `meta` added; None takes one away."""
    facts = row.meta | json_value(meta)
    return {name: fact for name, fact in facts.items() if fact is not None}


def pages(read: Callable[[int, int], list[Record]], after: int, limit: int | None) -> Iterator[Record]:
    """Records from `read(after, at most so many)`, page by page, so that nothing is held open in between."""
    left = limit
    while left is None or left > 0:
        page = read(after, PAGE if left is None else min(PAGE, left))
        yield from page
        if not page:
            return
        after, left = page[-1].seq, None if left is None else left - len(page)


def chosen(name: str, found: Sequence[tuple[str, Record]]) -> tuple[str, Record]:
    """The one of `found` (session key, record) that is called `name` or starts with it; the whole name goes first.

    Raises UnknownEntry, AmbiguousName.
    """
    starting = [one for one in found if name and one[1].entry.id.startswith(name)]
    if not starting:
        raise UnknownEntry(f"There is no entry whose id starts with {name!r}; nothing was changed.")
    fitting = [one for one in starting if one[1].entry.id == name] or starting
    if len(fitting) > 1:
        some = ", ".join(f"{record.entry.id} in {key}" for key, record in fitting[:3])
        raise AmbiguousName(f"More than one entry starts with {name!r}: {some}. Nothing was changed; say which.")
    return fitting[0]


def unknown_session(key: str) -> UnknownSession:
    """The error for a key that no session has."""
    return UnknownSession(f"There is no session {key!r}; nothing was changed. `clew sessions` lists the keys.")


def session_exists(key: str) -> SessionExists:
    """The error for a key that a session has already."""
    return SessionExists(f"A session {key!r} exists already; nothing was changed. Choose another key.")


def json_bytes(value: Any) -> bytes:
    """A plain value as JSON with only valid Unicode. Raises BadInput for what has no JSON."""
    try:
        return msgspec.json.encode(scrub(value))
    except UNSTORABLE as error:
        raise BadInput(f"A fact cannot be stored as JSON ({error}). Nothing was stored.") from error


def json_value(value: dict[str, Any]) -> dict[str, Any]:
    """A plain object as it will be read again."""
    return msgspec.json.decode(json_bytes(value), type=dict[str, Any])


def name_checked(name: str, what: str) -> str:
    """`name`, if it can be stored and typed again. Raises BadInput."""
    if not name or clean(name) != name or "\0" in name:
        raise BadInput(f"{name!r} cannot be a {what}: it is empty or holds what is no text. Nothing was stored.")
    return name


def _parent(draft: Draft, leaf: str | None, before: Sequence[Placed]) -> str | None:
    if not isinstance(draft.parent, msgspec.UnsetType):
        return draft.parent
    return before[-1].record.entry.id if before and not draft.leaf else leaf


def _placed(draft: Draft, seq: int, parent: str | None) -> Placed:
    """Read back before it is stored, so that nothing gets in that cannot be got out."""
    try:
        data = encode(Entry(draft.id, parent, draft.at, draft.body))
        entry = decode(data)
    except (*UNSTORABLE, DamagedStore) as error:
        raise BadInput(f"Entry {draft.id!r} cannot be stored ({error}). Nothing was stored.") from error
    return Placed(Record(seq, entry, draft.tokens, len(data)), data, draft.leaf)


def _counts(one: Placed, known: Mapping[str, Known]) -> int:
    """How many compactions stand more than before. To undo a reset takes none away."""
    body = one.record.entry.body
    if isinstance(body, Compaction):
        return 1
    undone = known.get(body.target) if isinstance(body, Undo) else None
    return -1 if undone and undone.kind == "compaction" else 0
