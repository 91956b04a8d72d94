"""What a store shows of its entries to whoever checks them: the columns beside each, and those nobody can read.

A store that keeps its entries as bytes has what `Audited` asks for; one that holds them as values needs none of it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from clew.errors import DamagedStore, NewerSchema
from clew.store.port import Record
from clew.transcript import SCHEMA, Custom, Entry, decode, kind_of

BEFORE_ALL = -(2**63)
"""Smaller than the `seq` of any entry, those that damage made negative included."""

UNREADABLE = "cannot be read"
"""What an entry that cannot be read is called where another has to stand in for it."""


class Stored(msgspec.Struct, frozen=True):
    """An entry as it stands in the store, with the columns that queries look for."""

    seq: int
    id: str
    kind: str
    tokens: int
    size: int
    bytes: int
    """How long its data are; `size` should say the same."""
    entry: Entry | None
    """None where it cannot be read."""
    fault: str = ""
    """Why it cannot."""
    newer: bool = False
    """Whether that is because a newer Clew wrote it."""

    @property
    def record(self) -> Record:
        """The entry as any reader sees it, or one in its place that says why it cannot be read."""
        entry = self.entry or Entry(self.id, None, 0, Custom(UNREADABLE, self.fault))
        return Record(self.seq, entry, self.tokens, self.size)


class Indexed(msgspec.Struct, frozen=True):
    """What the search index holds of a session."""

    seq: int
    """It knows the entries up to this one."""
    roles: dict[str, int]
    """Its messages by role."""
    faults: tuple[str, ...] = ()
    """Where it disagrees with itself."""


@runtime_checkable
class Audited(Protocol):
    """A store whose entries can be looked at as they stand."""

    def audit(
        self, key: str, *, after: int = BEFORE_ALL, kind: str | None = None, ids: Sequence[str] | None = None
    ) -> Iterator[Stored]:
        """The entries in order of `seq`, read in pages, damaged ones too: all, or those with this `kind` or these ids
        in their columns. Raises UnknownSession."""
        ...

    def audit_index(self, key: str) -> Indexed:
        """What the search index holds of a session. Raises UnknownSession, and StoreError where it cannot be read."""
        ...


def stored(seq: int, id: str, kind: str, tokens: int, size: int, version: int, data: bytes) -> Stored:
    """A row as it was read."""
    try:
        return Stored(seq, id, kind, tokens, size, len(data), decode(data, schema=version))
    except NewerSchema:
        fault = f"it has schema {version}, this Clew reads up to {SCHEMA}"
        return Stored(seq, id, kind, tokens, size, len(data), None, fault, newer=True)
    except DamagedStore as error:
        return Stored(seq, id, kind, tokens, size, len(data), None, str(error.__cause__ or error))


def sound(record: Record) -> Stored:
    """A record of a store that has no columns."""
    entry, size = record.entry, record.size
    return Stored(record.seq, entry.id, kind_of(entry.body), record.tokens, size, size, entry)


def streamed(read: Callable[[int], list[Stored]], after: int) -> Iterator[Stored]:
    """Rows from `read(after)`, page by page, so that nothing is held open in between."""
    while page := read(after):
        yield from page
        after = page[-1].seq
