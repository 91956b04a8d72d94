"""One session at work: its queue, its conversation while it is used, its turns one after the other.

A message is stored in the session's inbox before it is accepted, and its entry has the inbox's id, so that a killed
process takes it up again exactly once: it waits still where no entry has that id.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from clew.agency import Conversation
from clew.app import Clew
from clew.clock import Now
from clew.commands.command import Command, parse, text_of
from clew.commands.result import Failed, Fresh, Result
from clew.commands.run import run as carry_out
from clew.errors import BadInput, ClewError, Draining, StoreBusy, TooBusy
from clew.gateway.bus import Bus
from clew.gateway.facts import INTERRUPTED, RUNNING
from clew.gateway.inbox import LARGE, Inbox, Waiting
from clew.logs import log
from clew.runtime import events
from clew.runtime.events import Ended, Event
from clew.runtime.turn import SETTLED
from clew.transcript import Assistant, Said, Sender, User, calls_of, user
from clew.workspace.place import Workspace

IDLE_S = 300.0
"""Seconds after which a conversation that nobody uses is closed; the next message opens it again."""

LOOKED_AT = 200
"""Entries behind a message among which its answer is looked for."""

CANCEL_S = 5.0
"""Seconds a turn that was cancelled has for its end."""

State = Literal["queued", "running", "ended"]

Do = Callable[[Conversation], Awaitable[Any]]


class Run:
    """One thing a session does: a turn, or a piece of upkeep that was asked for."""

    def __init__(self, id: str, key: str, *, message: Waiting | None = None, do: Do | None = None) -> None:
        self.id, self.key, self.message, self.do = id, key, message, do
        self.state: State = "queued"
        self.admitted = False
        """Whether its message is an entry."""
        self.earlier = False
        """Whether a process before this one had it, so that nothing more is known of it."""
        self.interrupted = False
        """Whether that process ended before its turn did."""
        self.ended: Ended | None = None
        self.answer: Result | None = None
        """What a command came to, where the message was one."""
        self.value: Any = None
        """What the upkeep came to."""
        self.error: BaseException | None = None
        self.refused: BaseException | None = None
        """Why it was not taken in."""
        self.accepted = asyncio.Event()
        """Set once it is stored, or refused."""
        self.done = asyncio.Event()

    async def wait(self) -> "Run":
        """The run, once it is over."""
        await self.done.wait()
        return self

    def cut_off(self) -> "Run":
        """It was under way when the process before this one ended."""
        self.earlier = self.interrupted = True
        return self.over()

    def over(self, error: BaseException | None = None) -> "Run":
        """It is."""
        self.error, self.state = error, "ended"
        self.accepted.set()
        self.done.set()
        return self


class Worker:
    """The one who runs a session."""

    def __init__(
        self, clew: Clew, key: str, bus: Bus, slots: asyncio.Semaphore, *, most: int, workspace: Path, now: Now,
        rested: "Callable[[Worker], None]" = lambda worker: None,
    ) -> None:  # fmt: skip
        """`slots` bounds the turns of all sessions that run at once; `most` the messages that wait for this one.
        `rested` is told when its conversation was closed and nothing waits."""
        self.key, self._clew, self._bus, self._slots = key, clew, bus, slots
        self._most, self._workspace, self._now, self._rested = most, workspace, now, rested
        self._queue: deque[Run] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._current: Run | None = None
        self._turn: asyncio.Task[Any] | None = None
        self._inbox = Inbox(clew.store, key)
        self._coming: deque[Run] = deque()
        self._ending = False
        self.conversation: Conversation | None = None

    @property
    def running(self) -> Run | None:
        """What is under way."""
        return self._current

    @property
    def queued(self) -> int:
        """How much waits."""
        return len(self._queue)

    @property
    def busy(self) -> bool:
        """Whether anything is under way, waits, or is just being taken in."""
        return self._current is not None or bool(self._queue) or bool(self._coming)

    # What is asked of it ----------------------------------------------------------------------------------------------

    async def accept(self, run: Run) -> None:
        """Take a message in: it is stored when this returns, and is answered in its turn, which is that of the calls.
        One that is an entry already is over with that. Raises TooBusy."""
        self._room()
        self._coming.append(run)
        try:
            if run.message is not None and not await self._inbox.put(run.message):
                run.earlier = True
                run.over() if await asyncio.to_thread(self._was_answered, run.id) else run.cut_off()
        except BaseException:
            self._coming.remove(run)
            self._admit()
            raise
        run.accepted.set()
        self._admit()

    def _was_answered(self, entry: str) -> bool:
        """Whether a message that is an entry was answered: the next one that ends or begins a turn is an answer."""
        store = self._clew.store
        seq = store.entry(self.key, entry).seq
        for record in store.entries(self.key, after=seq, limit=LOOKED_AT):
            body = record.entry.body
            if isinstance(body, Said) and isinstance(body.message, User) and not body.message.synthetic:
                return False
            if isinstance(body, Said) and isinstance(body.message, Assistant) and not list(calls_of(body.message)):
                return body.message.stop != "aborted"
        return False

    def _admit(self) -> None:
        while self._coming and self._coming[0].accepted.is_set():
            run = self._coming.popleft()
            if not run.earlier:
                self._push(run)

    def resume(self, runs: list[Run]) -> None:
        """Take up messages that a process before this one accepted."""
        self._inbox.found([run.message for run in runs if run.message])
        for run in runs:
            run.accepted.set()
            self._push(run)

    def upkeep(self, run: Run) -> None:
        """Have something done to the session in its turn. Raises TooBusy."""
        self._room()
        run.accepted.set()
        self._push(run)

    def cancel(self) -> bool:
        """End the turn that runs, as Ctrl-C does; whether there was one."""
        if self._turn is None or self._turn.done():
            return False
        self._turn.cancel()
        return True

    async def end(self, patience_s: float) -> None:
        """Let what runs come to its end for so long, then cancel it; what waits stays in the inbox."""
        self._ending = True
        self._wake.set()
        self._put_off()
        if self._task is None:
            return
        done, _ = await asyncio.wait([self._task], timeout=patience_s)
        if not done and self.cancel():
            done, _ = await asyncio.wait([self._task], timeout=CANCEL_S)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=CANCEL_S)

    def hurry(self) -> None:
        """It is ending, and is to end now."""
        if not self.cancel() and self._task is not None:
            self._task.cancel()

    def _room(self) -> None:
        if (waiting := len(self._queue) + len(self._coming)) >= self._most:
            raise TooBusy(
                f"{waiting} messages wait for session {self.key} already; this one was not "
                "taken in. Send it again in a while.",
                retry_after_s=5,
            )

    def _push(self, run: Run) -> None:
        self._queue.append(run)
        if self._ending:
            return self._put_off()
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name=f"session {self.key}")
        return None

    def _put_off(self) -> None:
        """Tell those who wait that their messages stay in the inbox, for the next gateway."""
        while self._queue:
            run = self._queue.popleft()
            kept = "The message is stored, and is answered once there is a gateway again." if run.message else ""
            run.over(Draining(f"The gateway is ending. {kept or 'Nothing was changed.'}", retry_after_s=10))

    # Its work ---------------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Conversation after conversation, as long as there is something to do."""
        try:
            while self._queue and not self._ending:
                await self._converse()
        finally:
            self._put_off() if self._ending else self._rested(self)

    async def _converse(self) -> None:
        """Turn after turn in one conversation, until nobody has used it for a while."""
        try:
            async with self._clew.converse(self.key, workspace=self._workspace, channel="gateway") as conversation:
                self.conversation = conversation
                conversation.listen(self._tell)
                while await self._next():
                    async with self._slots:
                        if self._queue and not self._ending:
                            await self._carry_out(self._queue.popleft(), conversation)
        except Exception as error:  # noqa: BLE001 - a door: whatever it is, those who wait have to be told
            log.warning("conversation failed", key=self.key, error=type(error).__name__)
            while self._queue:
                run = self._queue.popleft()
                await asyncio.to_thread(self._settle, run, error)
                self._over(run, error)
        finally:
            self.conversation = None

    async def _next(self) -> bool:
        """Wait for something to do; whether there is anything."""
        while not self._queue and not self._ending:
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), IDLE_S)
            except TimeoutError:
                break
        return bool(self._queue) and not self._ending

    async def _carry_out(self, run: Run, conversation: Conversation) -> None:
        self._current, run.state = run, "running"
        self._turn = asyncio.create_task(self._do(run, conversation))
        error: BaseException | None = None
        try:
            await asyncio.wait([self._turn])
            error = self._cut_off(run) if self._turn.cancelled() else self._turn.exception()
            await asyncio.to_thread(self._settle, run, error)
        except asyncio.CancelledError:
            self._turn.cancel()
            error = self._cut_off(run)
            self._settle(run, error)
            raise
        finally:
            self._over(run, error)
            self._current, self._turn = None, None

    def _cut_off(self, run: Run) -> BaseException | None:
        """What a cancelled run came to: at the gateway's end, a message that is no entry yet stays where it waits."""
        if self._ending and run.message in self._inbox and not run.admitted:
            return Draining(retry_after_s=10)
        if run.ended is None:
            run.ended = Ended("cancelled")
            self._bus.tell(self.key, run.ended, at=self._now(), run=run.id)
        return None

    async def _do(self, run: Run, conversation: Conversation) -> None:
        if run.do is not None:
            run.value = await run.do(conversation)
        elif run.message is not None:
            await self._said(run, run.message, conversation)

    async def _said(self, run: Run, message: Waiting, conversation: Conversation) -> None:
        """A message as a turn, or as a command."""
        command = parse(message.text)
        if command is not None:
            self._inbox.take(message)
            await asyncio.to_thread(self._inbox.write)
            run.answer = self._confined(command) or await carry_out(command, conversation)
            if not (isinstance(run.answer, Fresh) and run.answer.message):
                return
            text = run.answer.message
        else:
            text = text_of(message.text)
        run.ended = await self._turned(said_by(message, text), run, conversation)

    def _confined(self, command: Any) -> Failed | None:
        """A refusal for a command that names a file outside the workspace: who gives it may not sit at this machine."""
        what, _, where = command.argument.partition(" ") if isinstance(command, Command) else ("", "", "")
        if not isinstance(command, Command) or command.name != "context" or what.lower() != "map" or not where.strip():
            return None
        try:
            Workspace.of(self._workspace, self._clew.config.tools.files).to_change(where.strip())
        except BadInput as error:
            return Failed("context", str(error))
        return None

    async def _turned(self, said: User, run: Run, conversation: Conversation) -> Ended:
        """A turn; while another process runs one on this session, the message waits."""
        while True:
            try:
                return await conversation.say(said, id=run.id)
            except StoreBusy:
                if run.admitted:
                    raise
                log.warning("session is held by another process; the message waits", key=self.key)

    def _settle(self, run: Run, error: BaseException | None) -> None:
        """Note that a message waits no longer; one that never became an entry is made one."""
        if run.message is None or isinstance(error, Draining):
            return
        unsaid = error is not None and run.message in self._inbox and not run.admitted
        if not unsaid or self._store_unsaid(run.message):
            self._inbox.take(run.message)
        self._inbox.write({RUNNING: None, INTERRUPTED: None})

    def _over(self, run: Run, error: BaseException | None) -> None:
        """Tell the end of a run."""
        if error is not None and not isinstance(error, Draining):
            detail = str(error) if isinstance(error, ClewError) else f"It failed ({type(error).__name__})."
            self._bus.tell(self.key, Ended("failed", code="gateway", detail=detail), at=self._now(), run=run.id)
        run.over(error)

    def _store_unsaid(self, message: Waiting) -> bool:
        """A message for which no turn could begin, kept as an entry: it was accepted, so it is there."""
        if parse(message.text) is not None:
            return True
        with suppress(ClewError):
            self._clew.session(self.key).append(said_by(message, text_of(message.text)), id=message.id)
            self._clew.store.describe(self.key, {SETTLED: message.id})
            return True
        return False

    def _tell(self, event: Event) -> None:
        run = self._current
        if run is not None and isinstance(event, events.Admitted):
            run.admitted = True
            if run.message is not None and (event.entry != run.id or len(run.message.text) > LARGE):
                self._inbox.take(run.message)
                self._inbox.write({RUNNING: run.id})
        if run is not None and isinstance(event, Ended):
            run.ended = event
        self._bus.tell(self.key, event, at=self._now(), run=run.id if run else "")


def said_by(message: Waiting, text: str) -> User:
    """A message as the user's, with who sent it."""
    said = user(text)
    if not message.sender:
        return said
    return msgspec.structs.replace(said, sender=Sender(message.sender, message.name or None))
