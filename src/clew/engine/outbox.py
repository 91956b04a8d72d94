"""Finished turns handed over to an engine exactly once, in order, whatever is killed in between.

A turn and the note that it is owed are stored in one transaction. The note goes once the engine has said that it has
the turn; a turn handed over again after a crash is a duplicate to an engine that knows it by its key. What is hidden
(marks of pruning, pins, model changes) lies between the messages of a turn and never stops it.
"""

from collections.abc import Awaitable, Callable

import msgspec

from clew.engine.port import TurnRecord
from clew.errors import UnknownEntry
from clew.store.port import Owed, Record, Store
from clew.transcript import Said

ATTEMPTS = 8
"""Failures after which a turn is blocked: it is tried no more until somebody asks for it."""

AT_ONCE = 16
"""Turns handed over at most before a turn begins, so that a long queue does not hold it up."""

MOST_ENTRIES = 20_000
"""Entries of a turn that is still handed over."""


class Drained(msgspec.Struct, frozen=True):
    """What became of the turns that were owed."""

    done: int = 0
    left: int = 0
    """Those that are still to be handed over; blocked ones do not count."""
    error: str = ""
    """Why one was not taken, or can never be."""


async def drain(store: Store, key: str, engine: str, commit: Callable[[TurnRecord], Awaitable[str]]) -> Drained:
    """Hand over what a session owes an engine, oldest first, up to the first that is not taken.

    `commit` returns why a turn was not taken, or nothing.
    """
    waiting = [one for one in store.owed(key) if not one.blocked and one.engine == engine]
    unreadable = ""
    for done, owed in enumerate(waiting[:AT_ONCE]):
        try:
            turn = record(store, owed)
        except UnknownEntry as error:
            unreadable = str(error)
            store.settle(key, owed.turn, error=unreadable, blocked=True)
            continue
        if why := await commit(turn):
            store.settle(key, owed.turn, error=why, blocked=owed.attempts + 1 >= ATTEMPTS)
            return Drained(done, len(waiting) - done, why)
        store.settle(key, owed.turn)
    return Drained(min(len(waiting), AT_ONCE), max(0, len(waiting) - AT_ONCE), unreadable)


def record(store: Store, owed: Owed) -> TurnRecord:
    """The turn as it is stored: the way from its last entry back to its first. Raises UnknownEntry where it is gone."""
    found = store.entry_many(owed.key, [owed.first, owed.last])
    if len(found) < len({owed.first, owed.last}):
        raise UnknownEntry(f"The turn {owed.turn} cannot be read: its first or last entry is not stored.")
    first, last = found[owed.first], found[owed.last]
    if last.seq - first.seq > MOST_ENTRIES:
        raise UnknownEntry(f"The turn {owed.turn} has over {MOST_ENTRIES:,} entries.")
    between = store.entries(owed.key, after=first.seq - 1, limit=last.seq - first.seq + 1)
    branch = _branch({one.entry.id: one for one in between}, owed)
    messages = tuple(one.entry.body.message for one in branch if isinstance(one.entry.body, Said))
    return TurnRecord(owed.key, owed.turn, owed.first, owed.last, messages)


def _branch(held: dict[str, Record], owed: Owed) -> list[Record]:
    here, found = held.get(owed.last), list[Record]()
    while here is not None:
        found.append(here)
        if here.entry.id == owed.first:
            return found[::-1]
        here = held.get(here.entry.parent or "")
    raise UnknownEntry(f"The turn {owed.turn} cannot be read: its last entry does not follow from its first.")
