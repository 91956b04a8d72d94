"""A session whose turns are driven from outside: a client sends the prompt, the tools and what is new, and runs its
tools itself; here the window is kept, the model is asked, and the answer is stored.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from clew.clock import NewId, Now
from clew.errors import ClewError, EngineError, Exhausted, ModelError, PromptTooLarge, ProviderError, WindowOverflow
from clew.models import failover
from clew.models.failover import complete
from clew.models.port import Request, Tool
from clew.models.refusal import complaint_of
from clew.models.silent import silent_overflow
from clew.runtime import events
from clew.runtime.agent import Agent, Ask
from clew.runtime.engine_run import EngineRun
from clew.runtime.events import Emit, Ended
from clew.runtime.house import House
from clew.runtime.lane import Lane
from clew.runtime.recovery import Recovery
from clew.runtime.session import Session
from clew.runtime.turn import SETTLED, unfinished
from clew.store.port import Draft
from clew.tokens import estimate
from clew.transcript import Assistant, Call, Custom, Message, Said, Text, ToolResult, User, calls_of

AGAIN = "relay.again"
"""The entry from which a session goes on in another way than it did before."""

HELD_PIECES = 2
"""An answer of one token may be no answer but a full window, so the first piece waits for the second."""

OnWords = Callable[[str], None]


class Lent:
    """Tools that a model is told of and somebody else runs."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tuple(tools)

    async def run(self, call: Call, *, ask: Ask | None = None, window: int | None = None) -> ToolResult:
        """Never called: the client runs its tools. A result that says so."""
        return ToolResult(call.id, call.name, (Text("The client runs this tool; it was not run here."),), error=True)


class Wishes(msgspec.Struct, frozen=True):
    """What one request asks of the model beside the conversation."""

    temperature: float | None = None
    more: dict[str, Any] = {}
    """See `clew.models.port.Request.more`."""


class Relay:
    """One session. The caller holds `lane` while it admits and asks."""

    def __init__(self, session: Session, emit: Emit, *, now: Now, new_id: NewId, engine: EngineRun) -> None:
        self.session, self.emit, self.engine = session, emit, engine
        self._now, self._new_id = now, new_id
        self.lane = Lane(session.store, session.key, now=now, new_id=new_id)
        self._house: House | None = None
        self._steps = 0

    # What is new ------------------------------------------------------------------------------------------------------

    def admit(self, messages: Sequence[Message], *, back_to: str | msgspec.UnsetType | None = msgspec.UNSET) -> None:
        """Store what is new, in one piece: from here on it cannot be lost.

        `back_to` is the entry that it follows (None: none) where that is not the session's last; what followed it until
        now becomes a side branch.
        """
        now, turned = self._now(), not isinstance(back_to, msgspec.UnsetType)
        drafts = [Draft(self._new_id(), now, Said(one), estimate.message(one)) for one in messages]
        if turned and not drafts:
            drafts = [Draft(self._new_id(), now, Custom(AGAIN))]
        if turned:
            drafts[0] = msgspec.structs.replace(drafts[0], parent=back_to)
        stored = self.session.store.append(self.session.key, drafts)
        if stored and messages:
            self.emit(events.Admitted(stored[-1].entry.id))

    def afresh(self) -> None:
        """Begin the view anew; the transcript keeps everything."""
        self.session.reset("branch")

    # The answer -------------------------------------------------------------------------------------------------------

    async def answer(self, agent: Agent, wishes: Wishes, on_words: OnWords | None = None) -> Assistant:
        """The next answer, stored when this returns. Its words are given to `on_words` as they come, and never taken
        back: once some were given, a failure is raised and not tried again.

        Raises PromptTooLarge, Exhausted, ProviderError, ModelError, EngineError. Cancelling keeps what was said.
        """
        spoken, house = Spoken(on_words), self._housekeeper(agent)
        self._steps = 0
        try:
            await self.engine.begin_turn()
            house.begin()
            house.lineage()
            await self._make_ready(house)
            answer = await self._asked(house, wishes, spoken)
            await self._keep(answer)
        except asyncio.CancelledError:
            if on_words and spoken.said.strip():
                self.session.append(Assistant((Text(spoken.said),), stop="aborted"))
            self._settle(Ended("cancelled", steps=self._steps))
            raise
        except ClewError as error:
            self._settle(_ending(error, self._steps))
            raise
        words = "".join(block.text for block in answer.blocks if isinstance(block, Text))
        spoken.rest(words)
        self._settle(Ended("done", words, steps=self._steps, stop=answer.stop or ""))
        return answer

    def _housekeeper(self, agent: Agent) -> House:
        """The one there is, with the client's prompt and tools of now; a new one for another model."""
        house = self._house
        if house is None or [one.name for one in house.agent.chain] != [one.name for one in agent.chain]:
            house = House(agent, self.session, self.emit, now=self._now, new_id=self._new_id, engine=self.engine)
            self._house = house
        house.agent = house.pruning.agent = house.notes.agent = agent
        return house

    async def _make_ready(self, house: House) -> None:
        """Room for the next request, as before a turn of ours; amid tool calls, as before its next step."""
        last = self._last()
        if isinstance(last, User):
            await house.before_turn(last)
        else:
            await house.before_step()

    def _last(self) -> Message | None:
        bodies = (entry.body for entry in reversed(self.session.view().entries))
        return next((body.message for body in bodies if isinstance(body, Said)), None)

    async def _asked(self, house: House, wishes: Wishes, spoken: "Spoken") -> Assistant:
        """One answer, however often it takes to make the request fit."""
        recovery = Recovery(house)
        while True:
            if not self.engine.owns_compaction and not await house.surely_fits():
                await recovery.overflowed(None)
                continue
            request = _wished(await house.next_request(first=self._steps == 0), wishes)
            self._steps += 1
            self.emit(events.Asking(house.agent.chain[0].name, house.size().tokens, self._steps))
            house.pruning.asking()
            try:
                answer = await self._complete(house.agent, request, spoken)
            except WindowOverflow as error:
                if spoken.out:
                    raise
                await recovery.overflowed(error)
                continue
            model = answer.model or house.agent.chain[0].name
            if not spoken.out and silent_overflow(answer, request, await house.window()):
                self.emit(events.Spent("turn", model, answer.usage))
                await recovery.overflowed(None)
                continue
            house.learn(answer)
            self.emit(events.Answered(model, answer.usage, answer.stop))
            return answer

    async def _complete(self, agent: Agent, request: Request, spoken: "Spoken") -> Assistant:
        spoken.afresh()

        def on_text(piece: str) -> None:
            self.emit(events.Words(piece))
            spoken.take(piece)

        return await complete(agent.chain, request, on_text=on_text, on_event=lambda event: self._told(event, spoken))

    def _told(self, event: failover.Event, spoken: "Spoken") -> None:
        match event:
            case failover.Lost():
                self.emit(events.Spent("turn", event.model, None))
                return
            case failover.Waiting():
                self.emit(events.Waiting(event.model, event.delay_s, str(event.error)))
            case failover.Switched():
                self.emit(events.Switched(event.model, event.next, str(event.error)))
        if spoken.out:  # what the client has, it has; another answer cannot be put behind it
            raise event.error
        spoken.afresh()

    async def _keep(self, answer: Assistant) -> None:
        """Store the answer; one without calls ends the turn that the newest message of the user's began."""
        entries = self.session.view().entries
        began = next((one.id for one in reversed(entries) if _is_asked(one.body)), None)
        ends, owing = not any(calls_of(answer)) and began is not None, self.engine.owing
        if ends and owing and began:
            [record] = self.session.finish(answer, began, owing)
        else:
            [record] = self.session.append(answer)
        if ends and began:
            await self.engine.end_turn(began, record.entry.id)

    def _settle(self, ended: Ended) -> None:
        """Tell how it ended. Calls that the client has to run are no sign of a crash."""
        if (left := unfinished(self.session)) is not None:
            self.session.store.describe(self.session.key, {SETTLED: left})
        self.emit(msgspec.structs.replace(ended, tokens=self._house.size().tokens if self._house else None))

    async def close(self) -> None:
        """The session is not used any more."""
        with suppress(EngineError):
            await self.engine.dispose()


class Spoken:
    """The words of an answer on their way to a client: held back until they are sure to be an answer's."""

    def __init__(self, on_words: OnWords | None) -> None:
        self._on_words, self._pieces = on_words, 0
        self.said, self.out = "", False
        """What was said, and whether any of it went out."""

    def afresh(self) -> None:
        """Another attempt begins; only where nothing went out."""
        self.said, self._pieces = "", 0

    def take(self, piece: str) -> None:
        """A piece of the answer."""
        held, self.said, self._pieces = self.said, self.said + piece, self._pieces + 1
        if self._on_words and self._pieces >= HELD_PIECES:
            self._on_words(piece if self.out else held + piece)
            self.out = True

    def rest(self, whole: str) -> None:
        """The answer is there: what of it did not go out yet."""
        done = self.said if self.out else ""
        if self._on_words and whole.startswith(done) and len(whole) > len(done):
            self._on_words(whole[len(done) :])


def _wished(request: Request, wishes: Wishes) -> Request:
    return msgspec.structs.replace(request, temperature=wishes.temperature, more=wishes.more)


def _is_asked(body: object) -> bool:
    return isinstance(body, Said) and isinstance(body.message, User) and not body.message.synthetic


def _ending(error: ClewError, steps: int) -> Ended:
    """A failure as the end of a turn."""
    match error:
        case PromptTooLarge():
            return Ended("too_large", code="fixed_prompt", detail=str(error), steps=steps, facts=error.facts)
        case Exhausted():
            code = "request_limit" if error.terminal else "overflow"
            return Ended("overflow", code=code, detail=str(error), steps=steps, facts={"attempts": error.attempts})
        case EngineError():
            return Ended("failed", code="engine", detail=str(error), steps=steps)
        case ProviderError() | ModelError():
            complaint = complaint_of(error)
            code = complaint.kind if complaint else "model" if isinstance(error, ModelError) else "provider"
            return Ended("failed", code=code, detail=str(error), steps=steps)
    return Ended("failed", code="gateway", detail=str(error), steps=steps)
