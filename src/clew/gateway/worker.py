"""One session at work: its queue, its conversation while it is used, its turns one after the other.

A message is stored in the session's inbox before it is accepted, and its entry has the inbox's id, so that a killed
process takes it up again exactly once: it waits still where no entry has that id.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Literal

import msgspec

from clew.agency import Conversation
from clew.app import Clew
from clew.commands.command import parse, text_of
from clew.commands.result import Fresh, Result
from clew.commands.run import run as carry_out
from clew.errors import ClewError, TooBusy
from clew.gateway.bus import Bus
from clew.runtime import events
from clew.runtime.events import Ended, Event
from clew.transcript import Sender, User, user

INBOX, RUNNING = "inbox", "running"
"""Under which a session's row keeps the messages that wait, and the run that is under way."""

IDLE_S = 300.0
"""Seconds after which a conversation that nobody uses is closed; the next message opens it again."""

State = Literal["queued", "running", "ended"]

Do = Callable[[Conversation], Awaitable[Any]]


class Waiting(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that was accepted and has not begun."""

    id: str
    text: str
    at: int
    sender: str = ""
    name: str = ""


class Run:
    """One thing a session does: a turn, or a piece of upkeep that was asked for."""

    def __init__(self, id: str, key: str, *, message: Waiting | None = None, do: Do | None = None) -> None:
        self.id, self.key, self.message, self.do = id, key, message, do
        self.state: State = "queued"
        self.ended: Ended | None = None
        self.answer: Result | None = None
        """What a command came to, where the message was one."""
        self.value: Any = None
        """What the upkeep came to."""
        self.error: BaseException | None = None
        self.done = asyncio.Event()

    async def wait(self) -> "Run":
        """The run, once it is over."""
        await self.done.wait()
        return self


class Worker:
    """The one who runs a session."""

    def __init__(
        self, clew: Clew, key: str, bus: Bus, slots: asyncio.Semaphore, *, most: int, workspace: Any, now: Any
    ) -> None:
        """`slots` bounds the turns of all sessions that run at once; `most` the messages that wait for this one."""
        self.key, self._clew, self._bus, self._slots = key, clew, bus, slots
        self._most, self._workspace, self._now = most, workspace, now
        self._queue: deque[Run] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._current: Run | None = None
        self._turn: asyncio.Task[Any] | None = None
        self._inbox: list[Waiting] = []
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
        """Whether anything is under way or waits."""
        return self._current is not None or bool(self._queue)

    # What is asked of it ----------------------------------------------------------------------------------------------

    async def accept(self, message: Waiting) -> Run:
        """Take a message in: it is stored when this returns, and is answered in its turn. Raises TooBusy."""
        self._room()
        run = Run(message.id, self.key, message=message)
        self._inbox.append(message)
        try:
            await asyncio.to_thread(self._keep)
        except BaseException:
            self._inbox.remove(message)
            raise
        self._push(run)
        return run

    def resume(self, messages: list[Waiting]) -> None:
        """Take up messages that a process before this one accepted."""
        self._inbox = list(messages)
        for message in messages:
            self._push(Run(message.id, self.key, message=message))

    def upkeep(self, id: str, do: Do) -> Run:
        """Have something done to the session in its turn. Raises TooBusy."""
        self._room()
        run = Run(id, self.key, do=do)
        self._push(run)
        return run

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
        if self._task is None:
            return
        done, _ = await asyncio.wait([self._task], timeout=patience_s)
        if not done:
            self.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([self._task], timeout=5)
            self._task.cancel()

    def _room(self) -> None:
        if len(self._queue) >= self._most:
            raise TooBusy(
                f"{len(self._queue)} messages wait for session {self.key} already; this one was not taken in. "
                "Send it again in a while.",
                retry_after_s=5,
            )

    def _push(self, run: Run) -> None:
        self._queue.append(run)
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name=f"session {self.key}")

    # Its work ---------------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Turn after turn in one conversation, until nobody has used it for a while."""
        try:
            async with self._clew.converse(self.key, workspace=self._workspace, channel="gateway") as conversation:
                self.conversation = conversation
                conversation.listen(self._tell)
                while await self._next():
                    run = self._queue.popleft()
                    async with self._slots:
                        await self._carry_out(run, conversation)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait have to be told
            while self._queue:
                self._over(self._queue.popleft(), error)
        finally:
            self.conversation = None

    async def _next(self) -> bool:
        """Wait for something to do; whether there is anything."""
        while not self._queue and not self._ending:
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), IDLE_S)
            except TimeoutError:
                return bool(self._queue)
        return bool(self._queue) and not self._ending

    async def _carry_out(self, run: Run, conversation: Conversation) -> None:
        self._current, run.state = run, "running"
        self._turn = asyncio.create_task(self._do(run, conversation))
        try:
            await asyncio.wait([self._turn])
            self._over(run, None if self._turn.cancelled() else self._turn.exception())
        finally:
            self._current, self._turn = None, None

    async def _do(self, run: Run, conversation: Conversation) -> None:
        if run.do is not None:
            run.value = await run.do(conversation)
        elif run.message is not None:
            await self._said(run, run.message, conversation)

    async def _said(self, run: Run, message: Waiting, conversation: Conversation) -> None:
        """A message as a turn, or as a command."""
        command = parse(message.text)
        if command is not None:
            self._drop(message)
            run.answer = await carry_out(command, conversation)
            if not (isinstance(run.answer, Fresh) and run.answer.message):
                return
            text = run.answer.message
        else:
            text = text_of(message.text)
        said = user(text)
        if message.sender:
            said = msgspec.structs.replace(said, sender=Sender(message.sender, message.name or None))
        run.ended = await self._turned(said, run, conversation)

    async def _turned(self, said: User, run: Run, conversation: Conversation) -> Ended:
        store = self._clew.store
        store.describe(self.key, {RUNNING: run.id})
        try:
            return await conversation.say(said, id=run.id)
        finally:
            self._drop(run.message)
            store.describe(self.key, {RUNNING: None})

    def _over(self, run: Run, error: BaseException | None) -> None:
        run.error, run.state = error, "ended"
        if run.message is not None and error is not None:
            self._drop(run.message)
            detail = str(error) if isinstance(error, ClewError) else f"{type(error).__name__}: {error}"
            self._bus.tell(self.key, Ended("failed", code="gateway", detail=detail), at=self._now(), run=run.id)
        run.done.set()

    def _tell(self, event: Event) -> None:
        run = self._current
        if isinstance(event, events.Admitted) and run is not None:
            self._drop(run.message)
        self._bus.tell(self.key, event, at=self._now(), run=run.id if run else "")

    # Its inbox --------------------------------------------------------------------------------------------------------

    def _drop(self, message: Waiting | None) -> None:
        """A message is no longer waiting: it is an entry now, or was a command."""
        if message in self._inbox:
            self._inbox.remove(message)
            self._keep()

    def _keep(self) -> None:
        kept = [msgspec.to_builtins(one) for one in self._inbox] or None
        self._clew.store.describe(self.key, {INBOX: kept})
