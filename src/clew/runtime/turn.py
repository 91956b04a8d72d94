"""One turn on one screen: admit the user's message, keep house, ask, act, and settle."""

import asyncio
import time
from collections import deque

import msgspec

from clew.clock import NewId, Now
from clew.compact.trigger import Load
from clew.errors import ProviderError, WindowOverflow
from clew.memory.flush import Gate, strip_silent
from clew.models import failover
from clew.models.failover import complete
from clew.models.refusal import complaint_of
from clew.models.silence import silent_overflow
from clew.runtime import events
from clew.runtime.agent import Agent, Ask
from clew.runtime.events import Emit, Ended
from clew.runtime.house import House, TooLarge
from clew.runtime.lane import Lane
from clew.runtime.recovery import Exhausted, Recovery
from clew.runtime.session import Session
from clew.transcript import Assistant, Call, Said, Text, ToolResult, User, calls_of, text_of

LOOP_WINDOW = 3
"""The same call with the same result so many times in a row, after a compaction, is a loop."""


class Turn:
    """A turn of one agent on one session."""

    def __init__(
        self, agent: Agent, session: Session, lane: Lane, emit: Emit, *, now: Now, new_id: NewId, ask: Ask | None = None
    ) -> None:
        self.agent, self.session, self.lane, self.emit, self.ask = agent, session, lane, emit, ask
        self.house = House(agent, session, emit, now=now, new_id=new_id)
        self.recovery = Recovery(self.house)
        self.steps = 0
        self._partial = ""
        self._seen: deque[tuple[str, bytes, str]] = deque(maxlen=LOOP_WINDOW)

    async def run(self, message: User) -> Ended:
        """The whole turn, holding the session. Cancelling the task keeps what was said so far."""
        async with self.lane.hold():
            try:
                return self._settle(await self._turn(message))
            except asyncio.CancelledError:
                self._keep_partial()
                self._settle(Ended("cancelled", steps=self.steps))
                raise

    async def _turn(self, message: User) -> Ended:
        self._admit(message)
        try:
            await self.house.before_turn(message)
            return await self._loop()
        except TooLarge as large:
            return Ended("too_large", code="fixed_prompt", detail=str(large), steps=self.steps, facts=large.facts)
        except Exhausted as done:
            code = "request_limit" if done.terminal else "overflow"
            return Ended("overflow", code=code, detail=str(done), steps=self.steps, facts={"attempts": done.attempts})
        except ProviderError as error:
            complaint = complaint_of(error)
            code = complaint.kind if complaint else "provider"
            return Ended("failed", code=code, detail=str(error), steps=self.steps)

    async def _loop(self) -> Ended:
        while True:
            answer = await self._answer()
            self.session.append(answer)
            calls = list(calls_of(answer))
            if not calls:
                return Ended("done", strip_silent(text_of(answer)), steps=self.steps)
            for call in calls:
                self.session.append(await self._act(call))
            if self._looping():
                return Ended("loop", code="loop", steps=self.steps)
            if self.steps >= self.agent.max_steps:
                return Ended("failed", code="steps", detail=f"{self.steps} requests", steps=self.steps)
            for steering in self.lane.steered():
                self._admit(steering)
            await self.house.before_step()
"""
"""
