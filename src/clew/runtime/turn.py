"""One turn on one screen: admit the user's message, keep house, ask, act, and settle."""

import asyncio
import time
from collections import deque

import msgspec

from clew.clock import NewId, Now
from clew.errors import EngineError, Exhausted, ModelError, PromptTooLarge, ProviderError, WindowOverflow
from clew.memory.flush import Gate, strip_silent
from clew.models import failover
from clew.models.failover import complete
from clew.models.port import Request
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
from clew.transcript import Assistant, Body, Call, Said, Shell, Text, ToolResult, User, calls_of, text_of

LOOP_WINDOW, LOOP_WINDOW_BEFORE = 3, 8
"""The same call with the same result so many times in a row is a loop: sooner after a compaction."""

SETTLED = "settled"
"""Under which a session's row names the entry at which a turn ended without an answer, so that it is no crash."""


class Turn:
    """A turn of one agent on one session."""

    def __init__(
        self,
        agent: Agent,
        session: Session,
        lane: Lane,
        emit: Emit,
        *,
        now: Now,
        new_id: NewId,
        ask: Ask | None = None,
        engine: EngineRun | None = None,
    ) -> None:
        self.agent, self.session, self.lane, self.emit, self.ask = agent, session, lane, emit, ask
        self.house = House(agent, session, emit, now=now, new_id=new_id, engine=engine)
        self.engine = self.house.engine
        self.recovery = Recovery(self.house)
        self.steps = 0
        self._began, self._partial = "", ""
        self._acting: Call | None = None
        self._seen: deque[tuple[str, bytes, str]] = deque(maxlen=LOOP_WINDOW_BEFORE)

    async def run(self, message: User, *, id: str | None = None) -> Ended:
        """The whole turn, holding the session. Cancelling the task keeps what was said so far. `id` is what the
        message's entry is to be called."""
        async with self.lane.hold():
            self._start_afresh()
            try:
                ended = await self._turn(message, id)
                if ended.outcome == "done" and (last := self.session.row().leaf):
                    await self.engine.end_turn(self._began, last)
                return self._settle(ended)
            except asyncio.CancelledError:
                self._keep_partial()
                self._settle(Ended("cancelled", steps=self.steps))
                raise
            finally:
                if late := self.lane.steered():  # handed over too late to be answered in this turn
                    self.session.append(*late)

    def _start_afresh(self) -> None:
        """Forget what was counted in the turn before: its requests, its attempts at making room, its calls."""
        self.steps = 0
        self.recovery.succeeded()
        self._seen.clear()

    async def _turn(self, message: User, id: str | None) -> Ended:
        left = unfinished(self.session)
        if left is not None and self.session.row().meta.get(SETTLED) != left:
            self.emit(events.Interrupted(left))
        await self.engine.begin_turn()
        self._began = self._admit(message, id)
        self.house.begin()
        self.house.lineage()
        try:
            await self.house.before_turn(message)
            return await self._loop()
        except PromptTooLarge as large:
            return Ended("too_large", code="fixed_prompt", detail=str(large), steps=self.steps, facts=large.facts)
        except Exhausted as done:
            code = "request_limit" if done.terminal else "overflow"
            return Ended("overflow", code=code, detail=str(done), steps=self.steps, facts={"attempts": done.attempts})
        except EngineError as error:
            return Ended("failed", code="engine", detail=str(error), steps=self.steps)
        except (ProviderError, ModelError) as error:
            complaint = complaint_of(error)
            code = complaint.kind if complaint else "model" if isinstance(error, ModelError) else "provider"
            return Ended("failed", code=code, detail=str(error), steps=self.steps)

    async def _loop(self) -> Ended:
        while True:
            answer = await self._answer()
            calls, owing = list(calls_of(answer)), self.engine.owing
            if owing and not calls and not self.lane.steering:
                self.session.finish(answer, self._began, owing)
            else:
                self.session.append(answer)
            for call in calls:
                self.session.append(await self._act(call, len(calls)))
            if self._looping():
                return Ended("loop", code="loop", steps=self.steps)
            steering = self.lane.steered()
            if not calls and not steering:
                return Ended("done", strip_silent(text_of(answer)), steps=self.steps, stop=answer.stop or "")
            for one in steering:
                self._admit(one)
            if self.steps >= self.agent.max_steps:
                return Ended("failed", code="steps", detail=f"{self.steps} requests", steps=self.steps)
            await self.house.before_step()

    def _admit(self, message: User, id: str | None = None) -> str:
        """Store the message: from here on it cannot be lost. One sent again, after a turn that failed, is there.

        Returns the id of its entry.
        """
        entries = (one for one in reversed(self.session.view().entries) if isinstance(one.body, Said))
        last = next((one for one in entries if not _added(one.body)), None)
        if last is not None and isinstance(last.body, Said) and last.body.message == message:
            self.emit(events.Admitted(last.id))
            return last.id
        (record,) = self.session.append(message, id=id)
        self.emit(events.Admitted(record.entry.id))
        return record.entry.id

    async def _answer(self) -> Assistant:
        """One answer, however often it takes to make the request fit."""
        while True:
            if not self.engine.owns_compaction and not await self.house.surely_fits():
                await self.recovery.overflowed(None)
                continue
            request = await self.house.next_request(first=self.steps == 0)
            self.steps += 1
            self.emit(events.Asking(self.agent.chain[0].name, self.house.size().tokens, self.steps))
            self.house.pruning.asking()
            try:
                answer = await self._complete(request)
            except WindowOverflow as error:
                await self.recovery.overflowed(error)
                continue
            if silent_overflow(answer, request, await self.house.window()):
                self.emit(events.Spent("turn", answer.model or self.agent.chain[0].name, answer.usage))
                await self.recovery.overflowed(None)
                continue
            self.recovery.succeeded()
            self.house.learn(answer)
            self.emit(events.Answered(answer.model or self.agent.chain[0].name, answer.usage, answer.stop))
            return answer

    async def _complete(self, request: Request) -> Assistant:
        """One request, its words shown as they come but for a silent answer's."""
        gate = Gate()
        self._partial = ""

        def on_text(piece: str) -> None:
            self._partial += piece
            if shown := gate.push(piece):
                self.emit(events.Words(shown))

        answer = await complete(self.agent.chain, request, on_text=on_text, on_event=self._told)
        if left := gate.end():
            self.emit(events.Words(left))
        self._partial = ""
        return answer

    def _told(self, event: failover.Event) -> None:
        match event:
            case failover.Waiting():
                self._partial = ""  # what the next attempt says is not a part of it
                self.emit(events.Waiting(event.model, event.delay_s, str(event.error)))
            case failover.Switched():
                self._partial = ""
                self.emit(events.Switched(event.model, event.next, str(event.error)))
            case failover.Lost():
                self.emit(events.Spent("turn", event.model, None))

    async def _act(self, call: Call, among: int) -> ToolResult:
        """One call of so many carried out, its result stored by the caller before anything else happens."""
        self.emit(events.Called(call))
        started, self._acting = time.monotonic(), call
        result = await self.agent.toolbox.run(call, ask=self.ask, window=await self.house.share(among))
        self._acting = None
        self.emit(events.Returned(result, round(1000 * (time.monotonic() - started))))
        self._seen.append((call.name, msgspec.json.encode(call.arguments, order="sorted"), text_of(result)))
        return result

    def _looping(self) -> bool:
        """Whether the model makes the same call with the same result again and again."""
        wide = LOOP_WINDOW if self.session.view().brief else LOOP_WINDOW_BEFORE
        last = list(self._seen)[-wide:]
        return len(last) == wide and len(set(last)) == 1

    def _keep_partial(self) -> None:
        """Store what the model had said, and what a tool was in the middle of, when the turn was cancelled."""
        if self._partial.strip():
            self.session.append(Assistant((Text(self._partial),), stop="aborted"))
        if (call := self._acting) is not None:
            self._acting = None
            said = "Cancelled by the user while it ran; it may have done part of its work."
            self.session.append(ToolResult(call.id, call.name, (Text(said),), error=True))

    def _settle(self, ended: Ended) -> Ended:
        """Tell how the turn ended, with the size it leaves behind."""
        if ended.outcome != "done" and (left := unfinished(self.session)) is not None:
            self.session.store.describe(self.session.key, {SETTLED: left})
        ended = msgspec.structs.replace(ended, tokens=self.house.size().tokens)
        self.emit(ended)
        return ended


def _added(body: Body) -> bool:
    """Whether a message is one that the engine put behind a person's."""
    return isinstance(body, Said) and isinstance(body.message, User) and body.message.synthetic


def unfinished(session: Session) -> str | None:
    """The last entry of a turn that never ended: a message without an answer, a call without a result; else None."""
    for entry in reversed(session.view().entries):
        if not isinstance(entry.body, Said):
            continue
        message = entry.body.message
        ended = isinstance(message, Assistant) and not any(isinstance(b, Call) for b in message.blocks)
        return None if ended or isinstance(message, Shell) else entry.id
    return None
