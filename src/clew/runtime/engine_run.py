"""The context engine of one session, from the first look at it to the end of the run, in the order of the port."""

from collections.abc import Sequence
from typing import Literal

from clew.compact.outcome import Outcome
from clew.engine.guard import Guarded, Trouble, engaged
from clew.engine.legacy import ID
from clew.engine.outbox import drain, record
from clew.engine.port import Assembled, Assembly, CompactionAsk, Ending, EngineOffer, Operation, Rollback, Seen, Spawn
from clew.errors import UnknownEntry
from clew.runtime import events
from clew.runtime.engine_host import BuiltIn, Complete, SessionHost, note
from clew.runtime.events import Emit
from clew.runtime.session import Session
from clew.store.port import Owed
from clew.workspace.port import Offer

OWES = "owes"
"""Under which a session's row keeps the engine that takes its turns over: none is lost while it cannot be had."""


class EngineRun:
    """An engine at work on one session. Made once a run; it outlives changes of model."""

    def __init__(
        self, wanted: str, offers: Sequence[EngineOffer], session: Session, *, operation: Operation = "agent-run"
    ) -> None:
        """`wanted` is the id of the engine, looked for among `offers`; `legacy` needs no offer."""
        self.session, self._emit, self._seen = session, None, False  # type: Session, Emit | None, bool
        self._early: list[Trouble] = []
        self._host = SessionHost(session)
        self._guarded: Guarded = engaged(wanted, offers, self._host, self._told, operation=operation)
        self.wanted = wanted

    @classmethod
    def plain(cls, session: Session) -> "EngineRun":
        """The built-in engine."""
        return cls(ID, (), session)

    def bind(self, compact: BuiltIn, complete: Complete | None, emit: Emit | None) -> None:
        """Have these do the host's work, and hear what goes wrong, also what went wrong before."""
        self._host.bind(compact, complete)
        self._emit = emit

    # What the runtime asks --------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """Who is in charge."""
        return self._guarded.info.id

    @property
    def is_plain(self) -> bool:
        """Whether the built-in engine is in charge."""
        return self._guarded.plain

    @property
    def owns_compaction(self) -> bool:
        """Whether the engine sees to its window itself."""
        return self._guarded.info.owns_compaction

    def tools(self) -> tuple[Offer, ...]:
        """What the engine lends the model."""
        return self._guarded.tools()

    async def begin_turn(self) -> None:
        """Before a turn: what is owed is handed over; a session that is new to the engine is shown to it."""
        self._tell_early()
        self._guarded.begin_turn()
        if self._guarded.commits and self.session.row().meta.get(OWES) != self._guarded.id:
            self.session.store.describe(self.session.key, {OWES: self._guarded.id})
        await self.hand_over()
        if not self._seen and not self.is_plain:
            self._seen = True
            key = self.session.key
            await self._guarded.bootstrap(Seen(key, self.session.row().entries))
            await self._guarded.maintain(key, "bootstrap")
            if not self.is_plain:
                note(self.session, None)

    async def assemble(self, given: Assembly) -> Assembled:
        """What the next request is to hold."""
        return await self._guarded.assemble(given)

    async def compact(self, ask: CompactionAsk) -> Outcome:
        """Room made. Raises EngineError."""
        self._tell_early()
        return await self._guarded.compact(ask)

    async def maintain(self, reason: Literal["turn", "compaction"]) -> None:
        """Time for upkeep."""
        await self._guarded.maintain(self.session.key, reason)

    @property
    def owing(self) -> str | None:
        """The engine that a finished turn is owed to; None for one that does not commit turns.

        One that could not be had this time is owed as well, if it has taken turns of the session before.
        """
        if self._guarded.commits:
            return self._guarded.id
        known = self.session.row().meta.get(OWES) if self.wanted != ID else None
        return self.wanted if known == self.wanted else None

    async def end_turn(self, first: str, last: str) -> None:
        """After a turn that ended with an answer: it is handed over, or told; then there is time for upkeep."""
        if self._guarded.commits:
            await self.hand_over()
        elif not self.is_plain:
            try:
                turn = record(self.session.store, Owed(self.session.key, first, self._guarded.id, first, last, 0))
            except UnknownEntry:  # a reset or an undo came in between: there is no such turn any more
                return
            await self._guarded.turn_ended(turn)
        await self.maintain("turn")

    async def hand_over(self) -> None:
        """Hand over what is owed. While something is left, the built-in engine runs the session."""
        if not self._guarded.takes:
            return
        drained = await drain(self.session.store, self.session.key, self._guarded.id, self._guarded.commit)
        self._guarded.behind = drained.left > 0
        if drained.error:
            self._told(Trouble(self._guarded.id, "commit_turn", drained.error))

    async def prepare(self, given: Spawn) -> Rollback | None:
        """Before a sub-agent begins."""
        return await self._guarded.prepare(given)

    async def ended(self, child: str, ending: Ending) -> None:
        """A sub-agent ended."""
        await self._guarded.ended(child, ending)

    async def dispose(self) -> None:
        """The run is over."""
        await self._guarded.dispose()

    def _told(self, trouble: Trouble) -> None:
        if self._emit is None:
            self._early.append(trouble)
            return
        note(self.session, trouble)
        self._emit(events.EngineTrouble(trouble.engine, trouble.method, trouble.error, trouble.quarantined))

    def _tell_early(self) -> None:
        early, self._early = self._early, []
        for trouble in early:
            self._told(trouble)
