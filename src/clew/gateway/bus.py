"""What happens in all sessions, told to whoever listens: bounded queues, and a past to catch up from."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from clew.runtime import events
from clew.runtime.events import Event

PAST = 4_000
"""Events that are kept for a listener who comes back; the words of answers are not among them."""

WAITING = 1_000
"""Events that may wait for a listener who is slow; then some are left out, and that is told."""


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event with where and when it happened."""

    seq: int
    """Grows with every event of this gateway, from 1."""
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


class Bus:
    """Hands events on to listeners."""

    def __init__(self) -> None:
        self._seq = 0
        self._past: deque[Told] = deque(maxlen=PAST)
        self._listeners: set[Listener] = set()

    def tell(self, key: str, event: Event, *, at: int, run: str = "") -> None:
        """Something happened."""
        self._seq += 1
        told = Told(self._seq, key, at, event, run)
        if not isinstance(event, events.Words | events.CompactionStep):
            self._past.append(told)
        for listener in self._listeners:
            listener.offer(told)

    def listen(self, key: str | None = None, after: int | None = None) -> "Listener":
        """Listen to one session, or to all; `after` is the last event that was seen before."""
        listener = Listener(self, key)
        if after is not None and after < self._seq:
            missed = [one for one in self._past if one.seq > after]
            if self._past and self._past[0].seq > after + 1 and len(self._past) == PAST:
                listener.offer(Told(self._past[0].seq - 1, key or "", self._past[0].at, Missed(0)))
            for one in missed:
                listener.offer(one)
        self._listeners.add(listener)
        return listener

    def forget(self, listener: "Listener") -> None:
        """A listener went away."""
        self._listeners.discard(listener)

    def close(self) -> None:
        """Nothing more will happen."""
        for listener in self._listeners:
            listener.end()


class Listener:
    """One who listens; an async iterator that ends with the gateway."""

    def __init__(self, bus: Bus, key: str | None) -> None:
        self._bus, self.key = bus, key
        self._waiting: deque[Told] = deque()
        self._missed, self._ended = 0, False
        self._ready = asyncio.Event()

    def offer(self, told: Told) -> None:
        """Take an event in, if it is of the session that is listened to."""
        if self.key not in (None, told.key):
            return
        if len(self._waiting) >= WAITING:
            self._missed += 1
        else:
            self._waiting.append(told)
        self._ready.set()

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        self._ready.set()

    async def __aiter__(self) -> AsyncIterator[Told]:
        try:
            while True:
                while self._waiting:
                    told = self._waiting.popleft()
                    yield told
                    if self._missed and not self._waiting:
                        missed, self._missed = self._missed, 0
                        yield Told(told.seq, told.key, told.at, Missed(missed))
                if self._ended:
                    return
                self._ready.clear()
                await self._ready.wait()
        finally:
            self._bus.forget(self)
