"""A session's records where some entries cannot be read: another stands in for each, so that the rest can be had.

Only for those who look things up. Whoever sends or writes a conversation is told of the damage by the store.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from clew.errors import DamagedStore, NewerSchema
from clew.store.audit import Audited
from clew.store.port import Record, Store

FAULTS = (DamagedStore, NewerSchema)
"""What a store raises for an entry that cannot be read."""


def entries(store: Store, key: str, after: int, limit: int) -> Iterator[Record]:
    """The records behind a number, so many of them."""
    try:
        return iter(list(store.entries(key, after=after, limit=limit)))
    except FAULTS:
        if not isinstance(store, Audited):
            raise
        return (one.record for one in islice(store.audit(key, after=after), limit))


def many(store: Store, key: str, ids: Sequence[str]) -> dict[str, Record]:
    """The records with these ids."""
    try:
        return store.entry_many(key, ids)
    except FAULTS:
        if not isinstance(store, Audited):
            raise
        return {one.id: one.record for one in store.audit(key, ids=ids)}


def compactions(store: Store, key: str) -> list[Record]:
    """The compactions, oldest first; one that cannot be read is none."""
    try:
        return store.compactions(key)
    except FAULTS:
        if not isinstance(store, Audited):
            raise
        return [one.record for one in store.audit(key, kind="compaction")]
