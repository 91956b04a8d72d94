"""Conversations put together: a session's engine, its tools, its agent for whatever model is named, its sub-agents."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from clew.agency import Conversation
from clew.clock import NewId, Now
from clew.config import Config
from clew.engine.port import Operation
from clew.errors import BadInput
from clew.logs import log
from clew.models.port import Model
from clew.prompt import chat
from clew.runtime.agent import Agent, Ask
from clew.runtime.books import PriceOf
from clew.runtime.engine_run import EngineRun
from clew.runtime.logbook import Logbook
from clew.runtime.session import Session
from clew.runtime.tools import Function
from clew.staff import Staff
from clew.store.port import Store
from clew.subagents import SubAgents
from clew.workspace.place import Workspace
from clew.workspace.port import Offer


class Crew:
    """Makes conversations on sessions of one store, in one workspace, with the same tools."""

    def __init__(
        self,
        store: Store,
        config: Config,
        place: Workspace,
        name: str,
        *,
        model: Callable[[str], Model],
        full_name: Callable[[str], str],
        price: PriceOf,
        engine: Callable[[Session, Operation], EngineRun],
        env: Mapping[str, str],
        now: Now,
        new_id: NewId,
        tools: Iterable[Function | Offer] = (),
        window: int | None = None,
        ask: Ask | None = None,
        channel: str = "terminal",
        instructions: str = "",
    ) -> None:
        """`name` is the model to talk to, `full_name` says what a short one means."""
        self.store, self.config, self.place, self.name = store, config, place, name
        self._model, self._full_name, self._price, self._engine = model, full_name, price, engine
        self._env, self._now, self._new_id, self._tools = env, now, new_id, tuple(tools)
        self._window, self._ask, self._channel, self._instructions = window, ask, channel, instructions

    @asynccontextmanager
    async def conversing(self, session: Session, *, child: bool = False) -> AsyncIterator[Conversation]:
        """A conversation on a session. A `child` reads fewer of the workspace's files and has no sub-agents itself."""
        engine = self._engine(session, "subagent-spawn" if child else "agent-run")
        try:
            conversation = self._put_together(session, engine, child)
            conversation.listen(Logbook(session.key))
            yield conversation
        finally:
            await engine.dispose()

    def _put_together(self, session: Session, engine: EngineRun, child: bool) -> Conversation:
        spawner = None if child else SubAgents(session, engine, self._child, now=self._now, new_id=self._new_id)
        lent = [spawner.offer()] if spawner and self.config.agents.defaults.subagents.enabled else []
        staff = self._staff(session, [*self._tools, *lent], engine.tools(), child)
        stand_ins = self.config.agents.defaults.model.fallbacks

        def build(chosen: str | None) -> Agent:
            wanted = self._full_name(chosen) if chosen else self.name
            return staff.agent(wanted, stand_ins=[one for one in stand_ins if one != wanted], window=self._window)

        return Conversation(
            session, build, now=self._now, new_id=self._new_id, ask=self._ask, workspace=str(self.place.root),
            price=self._price, engine=engine, spawn=spawner.spawn if spawner else None,
        )  # fmt: skip

    def _staff(self, session: Session, own: Sequence[Function | Offer], lent: Sequence[Offer], child: bool) -> Staff:
        """The staff with these tools; without the engine's where they cannot be offered beside the others."""
        try:
            staff = Staff(
                self.config, self.place, self._model, env=self._env, now=self._now, new_id=self._new_id,
                tools=[*own, *lent], channel=self._channel, instructions=self._instructions,
                audience="subagent" if child else "direct",
                place=chat.Place if child else lambda: chat.place(session.row().meta),
            )  # fmt: skip
            _ = staff.toolbox.tools
        except BadInput as error:
            if not lent:
                raise
            log.warning("the tools of the context engine are left out", error=str(error))
            return self._staff(session, own, (), child)
        return staff

    def _child(self, key: str) -> AbstractAsyncContextManager[Conversation]:
        return self.conversing(Session(self.store, key, now=self._now, new_id=self._new_id), child=True)
