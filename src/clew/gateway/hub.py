"""All sessions of a store and those who run them: accepts, counts, ends in order."""

import asyncio
from pathlib import Path
from typing import Any, Literal

import msgspec

from clew.app import Clew
from clew.clock import NewId, Now, new_id, now_ms
from clew.config.agents import agent_of, entry_of
from clew.errors import BadInput, ClewError, Conflict, Draining, SessionExists, UnknownEntry, UnknownSession
from clew.gateway.bus import Bus, Changed
from clew.gateway.channels.rules import Rules
from clew.gateway.facts import INBOX, INTERRUPTED, RUNNING
from clew.gateway.inbox import Waiting
from clew.gateway.worker import Do, Run, Worker
from clew.logs import log
from clew.runtime import events
from clew.runtime.session import Session
from clew.runtime.turn import SETTLED, unfinished
from clew.store.port import SessionRow

RUNS_KEPT, RUNS_MORE = 1_000, 100
"""Runs that can still be asked for after they ended, and how many more there are before the oldest are let go."""

LONGEST_KEY = 200
"""Characters."""


class Hub:
    """The owner of the sessions of a store."""

    def __init__(self, clew: Clew, *, workspace: Path, now: Now = now_ms, fresh_id: NewId = new_id) -> None:
        self.clew, self.workspace, self._now, self._new_id = clew, workspace, now, fresh_id
        self.settings = clew.config.gateway
        self.rules = Rules(clew.config)
        self.bus = Bus(since=1_000 * now())  # no gateway has a thousand events a millisecond
        self.ready, self.draining = False, False
        self._slots = asyncio.Semaphore(self.settings.max_running)
        self._workers: dict[str, Worker] = {}
        self._runs: dict[str, Run] = {}
        self._making = asyncio.Lock()
        self._leaving: set[str] = set()

    # Its life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take up what a process before this one left: messages that wait, turns that never ended."""
        if self.ready:
            return
        for row in await asyncio.to_thread(self._left):
            try:
                await self._take_up(row)
            except ClewError as error:  # such as an agent that is no longer there: its messages stay where they are
                log.warning("messages cannot be taken up", key=row.key, error=str(error))
        self.ready = True

    def _left(self) -> list[SessionRow]:
        return [row for row in self.clew.sessions() if row.meta.get(RUNNING) or row.meta.get(INBOX)]

    async def _take_up(self, row: SessionRow) -> None:
        inbox, there, cut_off = await asyncio.to_thread(self._looked_at, row)
        if cut_off:
            log.warning("turn interrupted", key=row.key, run=cut_off)
            self._kept(Run(cut_off, row.key)).cut_off()
            self.bus.tell(row.key, events.Interrupted(cut_off), at=self._now())
        if waiting := [one for one in inbox if one.id not in there]:
            log.info("messages taken up again", key=row.key, count=len(waiting))
            self._worker(row.key).resume([self._kept(Run(one.id, row.key, message=one)) for one in waiting])

    def _looked_at(self, row: SessionRow) -> tuple[list[Waiting], set[str], str | None]:
        """The messages of an inbox, those of them that are entries, and the run that was cut off, if one was."""
        try:
            inbox = msgspec.convert(row.meta.get(INBOX) or [], list[Waiting])
        except msgspec.ValidationError:
            log.warning("inbox cannot be read", key=row.key)
            return [], set(), None
        there = set(self.clew.store.entry_many(row.key, [one.id for one in inbox])) if inbox else set()
        run = row.meta.get(RUNNING) or next((one.id for one in inbox if one.id in there), None)
        left = unfinished(self.clew.session(row.key)) if run else None
        cut_off = str(run) if left is not None and left != row.meta.get(SETTLED) else None
        waiting = [msgspec.to_builtins(one) for one in inbox if one.id not in there]
        told = {INTERRUPTED: cut_off} if cut_off else {}  # an older one is told until a turn has ended
        self.clew.store.describe(row.key, {RUNNING: None, INBOX: waiting or None, **told})
        return inbox, there, cut_off

    async def drain(self) -> None:
        """Take nothing more in, let what runs come to its end for a while, keep what waits for the next process."""
        self.draining, self.ready = True, False
        await asyncio.gather(*(worker.end(self.settings.drain_seconds) for worker in [*self._workers.values()]))
        self.bus.close()

    def hurry(self) -> None:
        """End what runs now."""
        for worker in self._workers.values():
            worker.hurry()

    async def close(self) -> None:
        """Drain, and let go of the models' connections."""
        if not self.draining:
            await self.drain()
        await self.clew.aclose()

    # What is asked of it ----------------------------------------------------------------------------------------------

    async def say(
        self, key: str, text: str, *, sender: str = "", name: str = "", id: str | None = None, create: bool = True
    ) -> Run:
        """Accept a message: it is stored when this returns. One with the id of another is that other.

        Raises Draining, TooBusy, BadInput, Conflict, UnknownSession, and NotAllowed where the sender may not say that.
        """
        self._open()
        self.rules.check(key, text, sender)
        if not text.strip():
            raise BadInput("The message is empty; nothing was taken in.")
        if id is not None and (known := self._runs.get(id)) is not None:
            return await _same(known, key)
        run = Run(id or self._new_id(), key)
        run.message = Waiting(run.id, text, self._now(), sender, name)
        self._kept(run)  # before the first wait, so that the same message sent twice at once is one
        try:
            if key not in self._workers:
                await self.ensure(key, create=create)
            self._open(key)
            await self._worker(key).accept(run)
        except BaseException as error:
            self._runs.pop(run.id, None)
            run.refused = error
            run.over(error)
            raise
        return run

    async def upkeep(self, key: str, do: Do) -> Run:
        """Have something done to a session between its turns. Raises Draining, TooBusy, UnknownSession."""
        self._open()
        await self.ensure(key, create=False)
        self._open(key)
        run = Run(self._new_id(), key, do=do)
        self._worker(key).upkeep(run)
        return self._kept(run)

    async def ensure(self, key: str, *, create: bool = True, **meta: Any) -> SessionRow:
        """The session's row; a new one where there is none. Raises UnknownSession, BadInput, BadSettings."""
        try:
            return await asyncio.to_thread(self.clew.store.session, key)
        except UnknownSession:
            if not create:
                raise
        async with self._making:
            try:
                return await self.make(key, **meta)
            except SessionExists:
                return await asyncio.to_thread(self.clew.store.session, key)

    async def make(self, key: str, **meta: Any) -> SessionRow:
        """A new session. Raises SessionExists, BadInput, BadSettings."""
        if not key.strip() or len(key) > LONGEST_KEY or not key.isprintable():
            raise BadInput(f"A key has 1 to {LONGEST_KEY} visible characters; nothing was changed.")
        entry_of(self.clew.config, agent_of(key))
        return await asyncio.to_thread(lambda: self.clew.create(key, **meta).row())

    async def delete(self, key: str) -> None:
        """Remove a session for good. Raises UnknownSession, and Conflict while it has work."""
        worker = self._workers.get(key)
        if key in self._leaving or (worker and worker.busy):
            raise Conflict(f"Session {key} has work under way; nothing was deleted. Ask again when it is done.")
        self._leaving.add(key)
        try:
            if worker:
                await worker.end(0)
            await asyncio.to_thread(self.clew.store.delete, key)
        finally:
            self._leaving.discard(key)
            self._workers.pop(key, None)

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        return self._now()

    def fresh_id(self) -> str:
        """A name that nothing has yet."""
        return self._new_id()

    def run(self, id: str) -> Run:
        """A run that is under way, waits, or ended not long ago. Raises UnknownEntry."""
        if id not in self._runs:
            raise UnknownEntry("There is no such run: it is older than this gateway remembers, or never was.")
        return self._runs[id]

    def runs(self) -> list[Run]:
        """The runs that can be asked for, oldest first."""
        return list(self._runs.values())

    def worker(self, key: str) -> Worker | None:
        """Who runs a session; None for one that nobody uses."""
        return self._workers.get(key)

    def session(self, key: str) -> Session:
        """The handle on a session, to read. Raises UnknownSession."""
        return self.clew.session(key)

    def changed(self, key: str, what: Literal["undo", "pin", "archive", "deleted"]) -> None:
        """Tell that a session was changed beside its turns."""
        self.bus.tell(key, Changed(what), at=self._now())

    def state(self, key: str) -> dict[str, Any]:
        """Whether a session runs, and what waits for it."""
        worker = self._workers.get(key)
        running = worker.running if worker else None
        return {"running": running.id if running else None, "queued": worker.queued if worker else 0}

    def _worker(self, key: str) -> Worker:
        if key not in self._workers:
            entry = entry_of(self.clew.config, agent_of(key))
            place = Path(entry.workspace).expanduser() if entry and entry.workspace else self.workspace
            self._workers[key] = Worker(
                self.clew, key, self.bus, self._slots, most=self.settings.max_queued, workspace=place, now=self._now,
                rested=self._rested,
            )  # fmt: skip
        return self._workers[key]

    def _rested(self, worker: Worker) -> None:
        if not worker.busy and self._workers.get(worker.key) is worker:
            del self._workers[worker.key]

    def _open(self, key: str | None = None) -> None:
        if self.draining:
            raise Draining(retry_after_s=10)
        if key in self._leaving:
            raise Conflict(f"Session {key} is being deleted; nothing was taken in.")

    def _kept(self, run: Run) -> Run:
        self._runs[run.id] = run
        if len(self._runs) > RUNS_KEPT + RUNS_MORE:
            ended = [id for id, one in self._runs.items() if one.state == "ended"]
            for id in ended[: len(self._runs) - RUNS_KEPT]:
                del self._runs[id]
        return run


async def _same(run: Run, key: str) -> Run:
    """The run of a message that was sent before. Raises what became of it where it was not taken in."""
    if run.key != key:
        raise Conflict("That id belongs to a message of another session; nothing was taken in. Choose another id.")
    await run.accepted.wait()
    if run.refused is not None:
        raise run.refused
    return run
