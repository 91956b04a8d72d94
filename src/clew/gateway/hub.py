"""All sessions of a store and those who run them: accepts, counts, ends in order."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from clew.app import Clew
from clew.clock import NewId, Now, new_id, now_ms
from clew.config.agents import agent_of, entry_of
from clew.errors import BadInput, Draining, UnknownEntry, UnknownSession
from clew.gateway.bus import Bus
from clew.gateway.worker import INBOX, RUNNING, Do, Run, Waiting, Worker
from clew.logs import log
from clew.runtime import events
from clew.runtime.session import Session
from clew.store.port import SessionRow

RUNS_KEPT = 1_000
"""Runs that can still be asked for after they ended."""

LONGEST_KEY = 200
"""Characters."""


class Hub:
    """The owner of the sessions of a store."""

    def __init__(self, clew: Clew, *, workspace: Path, now: Now = now_ms, fresh_id: NewId = new_id) -> None:
        self.clew, self.workspace, self._now, self._new_id = clew, workspace, now, fresh_id
        self.settings = clew.config.gateway
        self.bus = Bus()
        self.ready, self.draining = False, False
        self._slots = asyncio.Semaphore(self.settings.max_running)
        self._workers: dict[str, Worker] = {}
        self._runs: dict[str, Run] = {}
        self._claim = asyncio.Lock()

    # Its life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take up what a process before this one left: messages that wait, turns that never ended."""
        for row in await asyncio.to_thread(self.clew.sessions):
            if row.meta.get(RUNNING):
                self._interrupted(row)
            if waiting := self._waiting(row):
                log.info("messages taken up again", key=row.key, count=len(waiting))
                self._worker(row.key).resume(waiting)
        self.ready = True

    def _interrupted(self, row: SessionRow) -> None:
        log.warning("turn interrupted", key=row.key, run=str(row.meta.get(RUNNING)))
        self.bus.tell(row.key, events.Interrupted(str(row.meta.get(RUNNING))), at=self._now())
        self.clew.store.describe(row.key, {RUNNING: None, "interrupted": str(row.meta.get(RUNNING))})

    def _waiting(self, row: SessionRow) -> list[Waiting]:
        """The messages of an inbox that have not become entries."""
        try:
            inbox = msgspec.convert(row.meta.get(INBOX) or [], list[Waiting])
        except msgspec.ValidationError:
            log.warning("inbox cannot be read", key=row.key)
            return []
        there = self.clew.store.entry_many(row.key, [one.id for one in inbox]) if inbox else {}
        return [one for one in inbox if one.id not in there]

    async def close(self) -> None:
        """Take nothing more in, let what runs come to its end for a while, keep what waits for the next process."""
        self.draining, self.ready = True, False
        patience = self.settings.drain_seconds
        await asyncio.gather(*(worker.end(patience) for worker in self._workers.values()))
        self.bus.close()
        await self.clew.aclose()

    # What is asked of it ----------------------------------------------------------------------------------------------

    async def say(
        self, key: str, text: str, *, sender: str = "", name: str = "", id: str | None = None, create: bool = True
    ) -> Run:
        """Accept a message: it is stored when this returns. One with the id of another is that other.

        Raises Draining, TooBusy, BadInput, UnknownSession.
        """
        self._open()
        if not text.strip():
            raise BadInput("The message is empty; nothing was taken in.")
        if id is not None and (known := self._runs.get(id)) is not None:
            return known
        await self.ensure(key, create=create)
        run = await self._worker(key).accept(Waiting(id or self._new_id(), text, self._now(), sender, name))
        return self._kept(run)

    async def upkeep(self, key: str, do: Do) -> Run:
        """Have something done to a session between its turns. Raises Draining, TooBusy, UnknownSession."""
        self._open()
        await self.ensure(key, create=False)
        return self._kept(self._worker(key).upkeep(self._new_id(), do))

    async def ensure(self, key: str, *, create: bool = True, **meta: Any) -> SessionRow:
        """The session's row; a new one where there is none. Raises UnknownSession, BadInput, BadSettings."""
        if not key.strip() or len(key) > LONGEST_KEY or any(ord(char) < 32 for char in key):
            raise BadInput(f"A key has 1 to {LONGEST_KEY} visible characters; nothing was changed.")
        async with self._claim:
            try:
                return await asyncio.to_thread(self.clew.store.session, key)
            except UnknownSession:
                if not create:
                    raise
            entry_of(self.clew.config, agent_of(key))
            return await asyncio.to_thread(lambda: self.clew.create(key, **meta).row())

    async def exists(self, key: str) -> bool:
        """Whether there is such a session."""
        try:
            await asyncio.to_thread(self.clew.store.session, key)
        except UnknownSession:
            return False
        return True

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        return self._now()

    def fresh_id(self) -> str:
        """A name that nothing has yet."""
        return self._new_id()

    def run(self, id: str) -> Run:
        """A run that is under way, waits, or ended not long ago. Raises UnknownEntry."""
        if id not in self._runs:
            raise UnknownEntry(f"There is no run {id}: it is older than this gateway remembers, or never was.")
        return self._runs[id]

    def worker(self, key: str) -> Worker | None:
        """Who runs a session; None for one that nobody has used."""
        return self._workers.get(key)

    def session(self, key: str) -> Session:
        """The handle on a session, to read. Raises UnknownSession."""
        return self.clew.session(key)

    def state(self, key: str) -> dict[str, Any]:
        """Whether a session runs, and what waits for it."""
        worker = self._workers.get(key)
        running = worker.running if worker else None
        return {"running": running.id if running else None, "queued": worker.queued if worker else 0}

    def forget(self, key: str) -> None:
        """A session is gone."""
        self._workers.pop(key, None)

    def _worker(self, key: str) -> Worker:
        if key not in self._workers:
            entry = entry_of(self.clew.config, agent_of(key))
            place = Path(entry.workspace).expanduser() if entry and entry.workspace else self.workspace
            self._workers[key] = Worker(
                self.clew, key, self.bus, self._slots, most=self.settings.max_queued, workspace=place, now=self._now
            )
        return self._workers[key]

    def _open(self) -> None:
        if self.draining:
            raise Draining(retry_after_s=10)

    def _kept(self, run: Run) -> Run:
        self._runs[run.id] = run
        while len(self._runs) > RUNS_KEPT:
            oldest = next(iter(self._runs))
            if self._runs[oldest].state != "ended":
                break
            del self._runs[oldest]
        return run
