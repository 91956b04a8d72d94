"""An agent at work on one session, as a face holds it: say something, give a command, look, steer, stop.

Built by `Clew.converse`; knows the runtime and no face.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from clew.clock import NewId, Now
from clew.compact.outcome import Outcome
from clew.engine.port import Mode
from clew.errors import CallerError
from clew.models.port import Limits, Model
from clew.prompt.report import Report
from clew.runtime.agent import Agent, Ask
from clew.runtime.books import Books, PriceOf
from clew.runtime.engine_run import EngineRun
from clew.runtime.events import Answered, Emit, Ended, Event, PrefixBreak, Spent
from clew.runtime.house import House
from clew.runtime.lane import Lane
from clew.runtime.session import Session
from clew.runtime.turn import Turn
from clew.tokens.billing import Account, Billing
from clew.tokens.usage import Size
from clew.transcript import ModelChange, User, user

SpawnAgent = Callable[[str, Mode], Awaitable[Any]]
"""Begins a sub-agent and waits for it; `clew.subagents.SubAgents.spawn`."""


class Status(msgspec.Struct, frozen=True):
    """What `/status` and the status line tell of a conversation."""

    key: str
    model: str
    stand_ins: tuple[str, ...]
    limits: Limits
    size: Size
    fixed: int
    """Tokens of the system prompt and the tools."""
    compactions: int
    entries: int
    account: Account
    """What the session's requests used in all, by this process and those before it; never a context size."""
    turn: Billing
    """What the newest turn of this process used, its housekeeping included."""
    verbose: bool
    running: bool
    workspace: str = ""
    engine: str = "legacy"
    """The context engine in charge."""
    wanted: str = "legacy"
    """The one that the settings name."""


class Conversation:
    """One session and the agent that runs it. Not for use from two tasks at once, but for `steer`."""

    def __init__(
        self,
        session: Session,
        build: Callable[[str | None], Agent],
        *,
        now: Now,
        new_id: NewId,
        model: str | None = None,
        ask: Ask | None = None,
        workspace: str = "",
        price: PriceOf = lambda name: None,
        engine: EngineRun | None = None,
        spawn: "SpawnAgent | None" = None,
    ) -> None:
        """`build` makes the agent for a model's name (None: the one the settings name); `ask` asks a person.

        `price` says what the model of a name costs.
        """
        self.session, self.workspace, self.verbose = session, workspace, False
        self._build, self._now, self._new_id, self._ask, self.price = build, now, new_id, ask, price
        self.agent = build(model)
        self.engine, self._spawn = engine or EngineRun.plain(session), spawn
        self._lane = Lane(session.store, session.key, now=now, new_id=new_id)
        self._listeners: list[Emit] = []
        self._turn = self._fresh()
        self._books = Books(session.store, session.key, price)
        self._spent = Billing()

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self.agent.chain[0]

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._lane.running

    def listen(self, listener: Emit) -> None:
        """Have each event told to one more listener."""
        self._listeners.append(listener)

    async def say(self, message: str | User, *, id: str | None = None) -> Ended:
        """One turn. Cancelling the task ends it and keeps what was said. `id` is what the message's entry is to be
        called."""
        self._spent = Billing()
        return await self._turn.run(user(message) if isinstance(message, str) else message, id=id)

    def steer(self, message: str | User) -> None:
        """Hand something to the turn that runs: it is sent with the turn's next request."""
        self._lane.steer(user(message) if isinstance(message, str) else message)

    async def compact(self, focus: str | None = None) -> Outcome:
        """`/compact`: wind the old part up now, on no account beside a turn."""
        async with self._kept():
            return await self._house.compact("manual", await self._house.window(), focus=focus)

    async def trim(self, keep: int) -> int:
        """Cut all but the newest entries off for good, and say how many went: on no account beside a turn."""
        async with self._kept():
            removed = self.session.trim(keep)
            self._turn = self._fresh()
        if removed:
            self._broke("reset")
        return removed

    async def flush(self) -> None:
        """Write lasting notes now."""
        async with self._kept():
            await self._house.flush()

    async def spawn(self, task: str, context: Mode = "isolated") -> Any:
        """A sub-agent in a session of its own, done when this returns; see `clew.subagents`. Raises CallerError where
        nobody set one up."""
        if self._spawn is None:
            raise CallerError("This conversation has no sub-agents: `Clew.converse` sets them up. Nothing was begun.")
        return await self._spawn(task, context)

    def reset(self, reason: str = "new") -> None:
        """`/new`, `/reset`: the view starts afresh; the transcript keeps everything."""
        self.session.reset(reason)
        self._turn = self._fresh()
        self._broke("reset")

    async def use(self, name: str) -> Limits:
        """Go on with another model. A smaller window compacts before the next request; a larger one does not."""
        before, self.agent = self.model.name, self._build(name)
        self._turn = self._fresh()
        self.session.change_model(ModelChange(self.model.name))
        if self.model.name != before:
            self._broke("model")
            self._house.lineage(tell=False)
        return await self.model.limits()

    async def report(self) -> Report:
        """Who takes how much of the window, system prompt and tools included."""
        limits = await self.model.limits()
        window = self.agent.window or limits.budget
        source = "given" if self.agent.window else limits.source
        prompt = self._house.prompt
        return self.session.context(window=window, source=source, prompt=prompt, tools=self.agent.toolbox.tools)

    async def status(self) -> Status:
        """Where the conversation stands."""
        row, limits = self.session.row(), await self.model.limits()
        return Status(
            key=self.session.key,
            model=self.model.name,
            stand_ins=tuple(model.name for model in self.agent.chain[1:]),
            limits=msgspec.structs.replace(limits, window=self.agent.window, source="given")
            if self.agent.window
            else limits,
            size=self._house.size(),
            fixed=self._house.fixed,
            compactions=row.compactions,
            entries=row.entries,
            account=self._books.total(),
            turn=self._spent,
            verbose=self.verbose,
            running=self.running,
            workspace=self.workspace,
            engine=self.engine.id,
            wanted=self.engine.wanted,
        )

    @property
    def _house(self) -> House:
        return self._turn.house

    def _fresh(self) -> Turn:
        return Turn(
            self.agent, self.session, self._lane, self._tell, now=self._now, new_id=self._new_id, ask=self._ask,
            engine=self.engine,
        )  # fmt: skip

    @asynccontextmanager
    async def _kept(self) -> AsyncIterator[None]:
        """The session for work outside a turn; what it used is stored with the end of it, however it ends."""
        async with self._lane.hold():
            try:
                yield
            finally:
                self._books.save()

    def _broke(self, cause: str) -> None:
        """Tell that the next request starts anew, where there was one to extend."""
        if self._books.total().models:
            self._tell(PrefixBreak(cause))
            self._books.save()

    def _tell(self, event: Event) -> None:
        self._books(event)
        if isinstance(event, Answered | Spent):
            self._spent = self._spent.add(event.usage, self.price(event.model))
        for listener in self._listeners:
            listener(event)
        if isinstance(event, Ended):  # the session is still held, and whoever listens knows already
            self._books.save()
