"""Lasting notes before a compaction: when they are due, the request for them, where they go, and their back-off."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from clew.errors import ModelError, ProviderError
from clew.memory import flush as notes
from clew.memory.flush import FlushState
from clew.models import failover
from clew.models.failover import complete
from clew.models.port import Model, Request
from clew.runtime import events
from clew.runtime.agent import Agent
from clew.runtime.events import Emit
from clew.runtime.session import Session
from clew.transcript import Assistant, Message, User, text_of, user

OUTPUT, PROMPT, LEAST = 1_000, 300, 600
"""Tokens a note may take, those its request takes, and what a window must have left for a note to be asked for."""

LEAST_TO_NOTE = 500
"""Tokens a conversation must have before there is anything to note."""

FACT = "flush"
"""Under which a session's row remembers its flushes."""

Ask = Callable[[Message, User | None], Request]
"""The conversation's own request with a message at its end, a message that waits left out."""


def lost_in(purpose: Literal["flush", "compaction"], emit: Emit) -> Callable[[failover.Event], None]:
    """Tells of a request that was begun and never reported as one that cost something."""

    def told(event: failover.Event) -> None:
        if isinstance(event, failover.Lost):
            emit(events.Spent(purpose, event.model, None))

    return told


class NoteTaker:
    """The notes of one session while an agent runs it."""

    def __init__(
        self,
        agent: Agent,
        session: Session,
        emit: Emit,
        *,
        ask: Ask,
        left: Callable[[], int | None],
        spent: Callable[[Sequence[Model], Assistant], None],
    ) -> None:
        """`left` are the tokens the next request leaves of the window; `spent` is told what an answer used."""
        self.agent, self.session, self.emit = agent, session, emit
        self._ask, self._left, self._spent = ask, left, spent

    def due(self, window: int | None, tokens: int | None, fixed: int) -> bool:
        """Whether notes should be asked for, with a request of so many tokens, `fixed` of them prompt and tools."""
        settings, row = self.agent.flush, self.session.row()
        if tokens is None or tokens - fixed < LEAST_TO_NOTE:
            return False  # what is said so far is less than the prompt: there is nothing to note yet
        return bool(settings.enabled and self.agent.note) and notes.due(
            tokens,
            window=window,
            stored=row.window_bytes,
            soft=settings.soft_threshold_tokens,
            max_bytes=settings.force_flush_transcript_bytes,
            state=self._state(),
            generation=row.generation,
        )

    async def flush(self, waiting: User | None = None) -> None:
        """Let the model write lasting notes, on a view of its own: neither request nor answer enters the transcript."""
        state, generation = self._state(), self.session.row().generation
        self.emit(events.Flushing())
        outcome, why = await self._flushed(waiting)
        state = notes.after(state, outcome, generation)
        if outcome == "failed" and state.failures == 0:
            outcome = "exhausted"
        self.session.store.describe(self.session.key, {FACT: msgspec.to_builtins(state)})
        self.emit(events.Flushed(outcome, why))

    def _state(self) -> FlushState:
        return msgspec.convert(self.session.row().meta.get(FACT, {}), FlushState)

    async def _flushed(self, waiting: User | None) -> tuple[notes.Outcome, str]:
        """Ask and append. Whatever fails, the turn goes on."""
        asked, left = self._ask(user(notes.prompt(self.agent.note_path()), synthetic=True), waiting), self._left()
        if left is not None and left < LEAST:
            return "skipped", f"the window has about {max(0, left):,} tokens left, too few to ask for notes"
        room = OUTPUT if left is None else min(OUTPUT, left - PROMPT)
        asked = msgspec.structs.replace(asked, max_output=room)
        try:
            answer = await complete(
                chain := self.agent.flush_writers or self.agent.chain, asked, on_event=lost_in("flush", self.emit)
            )
        except (ProviderError, ModelError) as error:
            return "failed", str(error)
        self._spent(chain, answer)
        done = notes.read(text_of(answer))
        if done.outcome != "written" or self.agent.note is None:
            return done.outcome, ""
        problem = self.agent.note(done.note)
        return ("failed", problem) if problem else ("written", "")
