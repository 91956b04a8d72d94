"""What happens in all sessions, told to whoever listens: bounded queues, and a past to catch up from."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Literal

import msgspec

from clew.errors import Draining, TooBusy
from clew.runtime import events
from clew.runtime.events import Event

PAST, PAST_BYTES = 4_000, 8_000_000
"""Events that are kept for a listener who comes back, and their size; the words of answers are not among them."""

WAITING, WAITING_BYTES = 1_000, 2_000_000
"""Events that may wait for a listener who is slow; then some are left out, and that is told."""

LISTENERS = 500
"""Who may listen at once."""


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event with where and when it happened."""

    seq: int
    """Grows with every event, also from one gateway on a store to the next."""
    key: str
    at: int
    """Milliseconds since 1970-01-01 UTC."""
    event: Event
    run: str = ""
    """The run it belongs to; empty for what happens beside one."""


class Missed(Event, frozen=True):
    """The listener was too slow, or came back too late: events before this one were left out."""

    count: int
    """How many; 0 where nobody knows."""


class Changed(Event, frozen=True):
    """A session was changed beside its turns: other pages that show it should look again."""

    what: Literal["undo", "pin", "archive", "deleted"]


class Bus:
    """Hands events on to listeners."""

    def __init__(self, since: int = 0) -> None:
        """`since` is the number before the first event. A gateway gives one that no gateway before it has reached, so
        that a listener who comes back with an older one's number is told that events are missing."""
        self._seq = self._since = since
        self._past: deque[tuple[Told, int]] = deque()
        self._size, self._forgot = 0, 0
        self._listeners: set[Listener] = set()
        self._closed = False

    def tell(self, key: str, event: Event, *, at: int, run: str = "") -> None:
        """Something happened."""
        self._seq += 1
        told = Told(self._seq, key, at, event, run)
        size = len(msgspec.json.encode(event))
        if not isinstance(event, events.Words | events.CompactionStep):
            self._past.append((told, size))
            self._size += size
            while len(self._past) > PAST or self._size > PAST_BYTES:
                oldest, its = self._past.popleft()
                self._size -= its
                self._forgot = oldest.seq
        for listener in self._listeners:
            listener.offer(told, size)

    def listen(self, key: str | None = None, after: int | None = None) -> "Listener":
        """Listen to one session, or to all; `after` is the last event that was seen before.

        Raises Draining, and TooBusy where too many do.
        """
        if self._closed:
            raise Draining(retry_after_s=10)
        if len(self._listeners) >= LISTENERS:
            raise TooBusy(f"{LISTENERS} clients listen already. Close one, or ask again in a while.", retry_after_s=30)
        listener = Listener(self, key)
        if after is not None and after != self._seq:
            self._catch_up(listener, after)
        self._listeners.add(listener)
        return listener

    def _catch_up(self, listener: "Listener", after: int) -> None:
        known = max(self._since, self._forgot) <= after <= self._seq
        past = [(told, size) for told, size in self._past if not known or told.seq > after]
        if not known:
            first = past[0][0] if past else None
            seq, at = (first.seq - 1, first.at) if first else (self._seq, 0)
            listener.replay(Told(seq, listener.key or "", at, Missed(0)))
        for told, size in past:
            if listener.key in (None, told.key):
                listener.replay(told, size)

    def forget(self, listener: "Listener") -> None:
        """A listener went away."""
        self._listeners.discard(listener)

    def close(self) -> None:
        """Nothing more will happen."""
        self._closed = True
        for listener in self._listeners:
            listener.end()


class Listener:
    """One who listens; an async iterator that ends with the gateway."""

    def __init__(self, bus: Bus, key: str | None) -> None:
        self._bus, self.key = bus, key
        self._waiting: deque[tuple[Told, int]] = deque()
        self._size, self._missed, self._ended = 0, 0, False
        self._ready = asyncio.Event()

    def offer(self, told: Told, size: int = 0) -> None:
        """Take an event in, if it is of the session that is listened to. Once one was left out, all are until what
        waits was read, so that there is one gap and its place is known."""
        if self.key not in (None, told.key):
            return
        full = len(self._waiting) >= WAITING or self._size + size > WAITING_BYTES
        if self._missed or (self._waiting and full):
            self._missed += 1
        else:
            self.replay(told, size)

    def replay(self, told: Told, size: int = 0) -> None:
        """Take an event in, however many wait."""
        self._waiting.append((told, size))
        self._size += size
        self._ready.set()

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        self._ready.set()

    def close(self) -> None:
        """Nobody listens any more."""
        self._bus.forget(self)
        self._waiting.clear()

    async def __aiter__(self) -> AsyncIterator[Told]:
        last: Told | None = None
        try:
            while True:
                while self._waiting:
                    last, size = self._waiting.popleft()
                    self._size -= size
                    yield last
                if self._missed and last is not None:
                    missed, self._missed = self._missed, 0
                    yield Told(last.seq, self.key or "", last.at, Missed(missed))
                    continue
                if self._ended:
                    return
                self._ready.clear()
                await self._ready.wait()
        finally:
            self._bus.forget(self)
