"""One turn at a time a session: within a process by a lock, across processes by a claim that lapses with its owner."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from clew.clock import NewId, Now
from clew.errors import StoreBusy
from clew.store.port import Store
from clew.transcript import User

LEASE_MS = 30_000
"""Milliseconds a claim holds; it is renewed three times in that, and free so long after its owner died."""

POLL_S = 0.25
"""Seconds between two looks at a session that another process holds."""


class Lane:
    """The way into one session. Messages that come while a turn runs wait for it, or steer it."""

    def __init__(self, store: Store, key: str, *, now: Now, new_id: NewId) -> None:
        self._store, self._key, self._now = store, key, now
        self._owner = owner(new_id())
        self._lock = asyncio.Lock()
        self._steering: list[User] = []
        self.running = False

    def steer(self, message: User) -> None:
        """Hand a message to the turn that runs: it is stored and sent before the turn's next request."""
        self._steering.append(message)

    @property
    def steering(self) -> bool:
        """Whether a message was handed over that nobody has looked at."""
        return bool(self._steering)

    def steered(self) -> list[User]:
        """The messages handed over since the last look."""
        taken, self._steering = self._steering, []
        return taken

    @asynccontextmanager
    async def hold(self, *, wait_s: float = 60.0, on_wait: Callable[[str], None] | None = None) -> AsyncIterator[None]:
        """The session, for one turn. Raises StoreBusy if another process holds it for longer than `wait_s` seconds."""
        async with self._lock:
            await self._claim(wait_s, on_wait)
            renewing = asyncio.create_task(self._renew())
            self.running = True
            try:
                yield
            finally:
                self.running = False
                renewing.cancel()
                self._store.release(self._key, self._owner)

    async def _claim(self, wait_s: float, on_wait: Callable[[str], None] | None) -> None:
        waited = 0.0
        while (holder := self._try()) is not None:
            if is_dead(holder):
                self._store.release(self._key, holder)
                continue
            if waited == 0.0 and on_wait:
                on_wait(holder)
            if waited >= wait_s:
                raise StoreBusy(
                    f"Another process ({holder.rsplit(':', 1)[0]}) runs a turn on session {self._key}. Nothing was "
                    "sent and nothing stored; try again when it is done."
                )
            await asyncio.sleep(POLL_S)
            waited += POLL_S

    def _try(self) -> str | None:
        now = self._now()
        return self._store.claim(self._key, self._owner, now=now, until=now + LEASE_MS)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(LEASE_MS / 3000)
            self._try()


def owner(name: str) -> str:
    """What this process signs a claim with."""
    return f"{socket.gethostname()}:{os.getpid()}:{name}"


def is_dead(signed: str) -> bool:
    """Whether a claim was signed by a process of this machine that is no more."""
    host, pid, _ = signed.rsplit(":", 2)
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
