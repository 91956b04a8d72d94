"""Housekeeping around the requests of a session: sizes, notes before a compaction, compactions, and their back-off."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec

from clew.clock import NewId, Now
from clew.compact.serialize import pieces
from clew.errors import ModelError, ProviderError
from clew.memory import flush as notes
from clew.memory.flush import FlushState
from clew.models.drive import Progress
from clew.models.failover import complete
from clew.models.port import Model, Request
from clew.prompt.fixed import tools_size
from clew.prune.mark import cuts, project
from clew.runtime import events
from clew.runtime.agent import Agent
from clew.runtime.compaction import (
    Compacted,
    Declined,
    Order,
    Outcome,
    Skipped,
    compact,
    latch,
    reason,
    sizes_in,
)
from clew.runtime.events import Emit
from clew.runtime.pruning import Pruning
from clew.runtime.session import Session
from clew.runtime.tool_size import SHARE, limit
from clew.tokens import estimate
from clew.tokens.usage import Size, calibrate, measure
from clew.tokens.window import compact_at, thresholds
from clew.transcript import (
    Assistant,
    Message,
    PruneMark,
    Said,
    Trigger,
    User,
    View,
    mend,
    text_of,
    user,
)

FLUSH_OUTPUT, FLUSH_PROMPT, FLUSH_LEAST = 1_000, 300, 600
"""Tokens a note may take, those its request takes, and what a window must have left for a note to be asked for."""

BACKOFF_SHARE = 8
"""After a compaction that was refused the next one waits until the view has grown by an eighth of the window…"""

LAST_RESORT = 4
"""…or until less than a quarter of the reserve is left: then rules write the brief, for the next request must fit."""

RESULTS_SHARE = 0.6
"""Of the room a window has before it must be compacted, what the results of one answer may take together: they cannot
be parted, so no compaction could make them fit."""

ESTIMATE_ERROR, WRAPPING = 5, 128
"""An estimate may be a fifth too low, and a provider wraps messages in its own way: so much of the estimated part, and
so many tokens, are added where a request has to fit."""

USUAL_OUTPUT, LEAST_OUTPUT = 8_192, 256
"""Tokens an answer may have where nobody says. Where less room than that is left, the request asks for what is left."""

LEAST_TO_NOTE = 500
"""Tokens a conversation must have before there is anything to note."""

LEARNT = "learnt"
"""Under which a session's row remembers the windows that refusals named, by model."""

FACT = "flush"
"""Under which a session's row remembers its flushes."""


class House:
    """The housekeeper of one session while an agent runs it."""

    def __init__(self, agent: Agent, session: Session, emit: Emit, *, now: Now, new_id: NewId) -> None:
        self.agent, self.session, self.emit = agent, session, emit
        self._now, self._new_id = now, new_id
        self._calibration = 1.0
        self._declined_at: int | None = None
        self._window: int | None = agent.window
        self.pruning = Pruning(agent, session, emit, now=now)
        self.begin()

    def begin(self) -> None:
        """Read the prompt afresh: once a turn, so that within a turn its bytes stay the same."""
        again = self.agent.refresh() if self.session.view().brief else ""
        self.prompt = self.agent.prompt(again)
        tools = sum(piece.tokens for piece in tools_size(self.agent.toolbox.tools))
        self.fixed = estimate.text(self.prompt.stable) + estimate.text(self.prompt.dynamic) + tools

    # Sizes ------------------------------------------------------------------------------------------------------------

    async def window(self) -> int | None:
        """The window requests have to fit, in tokens: what the user says, else what the model can take now.

        A refusal that named a smaller one is believed over both.
        """
        model = self.agent.chain[0]
        limits, told = await model.limits(), self.agent.window
        known = self.session.row().meta.get(LEARNT, {})
        if limits.source == "error" and limits.budget and limits.budget < known.get(model.name, limits.budget + 1):
            known = {**known, model.name: limits.budget}
            self.session.store.describe(self.session.key, {LEARNT: known})
        self._window = min((size for size in (told or limits.budget, known.get(model.name)) if size), default=None)
        return self._window

    async def surely_fits(self) -> bool:
        """Whether the next request may be sent: by the lowest it can come to it is within the window."""
        window, size = await self.window(), self.size()
        return not window or size.tokens is None or size.tokens - size.estimated_part // ESTIMATE_ERROR <= window

    async def share(self, calls: int) -> int | None:
        """The window that the result of each of so many calls of one answer is cut to."""
        window = await self.window()
        if not window:
            return None
        room = max(1.0, (thresholds(window).compact_at - self.fixed) * RESULTS_SHARE)
        return window if calls * limit(window) <= room else max(1, int(room / calls / SHARE))

    def shown(self) -> View:
        """The view as it is sent."""
        return project(self.session.view())

    def sizes(self) -> Mapping[str, int]:
        """The sizes of the window's entries as they are sent, in tokens by id."""
        window, marked = self.session.window(), cuts(self.session.view())
        sizes = sizes_in(window)
        for entry in self.shown().entries if marked else ():
            if entry.id in marked:
                sizes[entry.id] = estimate.entry(entry)
        return sizes

    def size(self) -> Size:
        """What the next request takes. A mark set since the last report makes that report stale."""
        shown = self.shown()
        for entry in reversed(shown.entries):
            if isinstance(entry.body, PruneMark):
                shown = msgspec.structs.replace(shown, kept=len(shown.entries))
                break
            if isinstance(entry.body, Said) and isinstance(entry.body.message, Assistant):
                break
        return measure(shown, self.sizes(), fixed=self.fixed, calibration=self._calibration)

    def learn(self, answer: Assistant) -> None:
        """Take what a provider reported as the measure of the estimates that follow, and that its cache was touched."""
        self.pruning.answered(answer)
        context = answer.usage.context if answer.usage else None
        guessed = measure(msgspec.structs.replace(self.shown(), kept=10**9), self.sizes(), fixed=self.fixed)
        self._calibration = calibrate(context, guessed.tokens, self._calibration)

    # Before a request -------------------------------------------------------------------------------------------------

    async def before_turn(self, message: User) -> None:
        """Old results shortened, notes, a compaction, each if due. Raises PromptTooLarge where nothing can help."""
        window = await self.window()
        self.pruning.images(self.sizes())
        self.prune(window)
        size = self.size()
        if self._flush_due(window, size):
            await self.flush(message)
        await self._compact_if_due(window, size)

    async def before_step(self) -> None:
        """Within a turn: old results shortened where the cache lapsed; or a compaction, so that the next request fits.

        With `midTurnPrecheck` (and in `default` mode) from the usual threshold on; else only when it could not fit.
        """
        window, settings = await self.window(), self.agent.compaction
        self.prune(window)
        if not window or not settings.enabled:
            return
        size, limits = self.size(), thresholds(window)
        early = settings.mid_turn_precheck.enabled or settings.mode == "default"
        bound = (compact_at(window, self.fixed) or window) if early else window - limits.reserve // LAST_RESORT
        if size.tokens is None or _at_most(size, size.tokens) < bound:
            return
        over = size.tokens - limits.compact_at
        freed = self.pruning.trim(keep=1) if self.pruning.reducible() >= over * 3 // 2 else 0
        if freed < over:
            if self._flush_due(window, size):
                await self.flush()
            await self.compact("budget", window, required=not early)

    def prune(self, window: int | None) -> None:
        """Old results shortened, where the provider's cache has lapsed and that pays."""
        if self.pruning.opens():
            self.pruning.results(window, self.size().tokens, self.sizes())

    async def _compact_if_due(self, window: int | None, size: Size) -> None:
        settings = self.agent.compaction
        why = reason(self.session.window(), size, limit=window, settings=settings, fixed=self.fixed)
        full = bool(window and size.tokens and size.tokens >= window - thresholds(window).reserve // LAST_RESORT)
        required = settings.enabled and full
        if (why is None and not required) or (self._backing_off(window, size) and not required):
            return
        await self.compact(why or "budget", window, required=required)
        latch(self.session.store, self.session.key, settings)

    def _backing_off(self, window: int | None, size: Size) -> bool:
        if self._declined_at is None or size.tokens is None or window is None:
            return False
        return size.tokens < self._declined_at + window // BACKOFF_SHARE

    # Compaction -------------------------------------------------------------------------------------------------------

    async def compact(
        self,
        trigger: Trigger,
        window: int | None,
        *,
        required: bool = False,
        focus: str | None = None,
        attempt: int = 1,
    ) -> Outcome:
        """One compaction with its events. `required`: where the model's brief is refused, rules write one."""
        settings = self.agent.compaction
        if required:
            settings = settings.model_copy(update={"fallback": "ledger"})
        keep = settings.keep_recent_tokens >> (attempt - 1)
        settings = settings.model_copy(update={"keep_recent_tokens": keep})
        chain = self.agent.writers or self.agent.chain
        base = self.request() if self._rides(trigger, window) else None
        order = Order(settings, trigger, focus, window, self.fixed, chain=chain, base=base)
        self.emit(events.Compacting(trigger, self.size().tokens or 0, attempt))
        try:
            outcome = await compact(
                self.session.store,
                self.session.key,
                order,
                now=self._now,
                new_id=self._new_id,
                on_progress=self._progress,
                on_answer=partial(self._spent, "compaction", chain),
            )
        except asyncio.CancelledError:
            size = self.size().tokens or 0
            self.emit(events.Compacted("declined", "cancelled", size, size, count=self.session.row().compactions))
            raise
        self._declined_at = self.size().tokens if isinstance(outcome, Declined) else None
        self._say(outcome)
        return outcome

    def _spent(self, purpose: Literal["flush", "compaction"], chain: Sequence[Model], answer: Assistant) -> None:
        """Tell what a request of the house used."""
        self.emit(events.Spent(purpose, answer.model or chain[0].name, answer.usage))

    def _rides(self, trigger: Trigger, window: int | None) -> bool:
        """Whether the summary is asked for at the end of the conversation's own request: the same model writes it, the
        request fits, and by the route's prices that is cheaper than sending the conversation once more as text."""
        agent, size = self.agent, self.size().tokens
        if (
            trigger == "overflow"
            or not size
            or not window
            or (agent.writers and agent.writers[0] is not agent.chain[0])
        ):
            return False
        if size > window - thresholds(window).reserve * 3 // 4:
            return False
        text = sum(piece.tokens for piece in pieces(self.shown().entries, estimate.text))
        return agent.rides(size, text)

    def _progress(self, step: Progress) -> None:
        ask = step.ask
        self.emit(events.CompactionStep(ask.stage, ask.part, ask.parts, ask.attempt, ask.attempts, step.chars))

    def _say(self, outcome: Outcome) -> None:
        """The end of a compaction, told once however it ended."""
        told = events.Compacted("skipped", "", 0, 0, count=self.session.row().compactions)
        match outcome:
            case Compacted():
                body = outcome.body
                told = msgspec.structs.replace(
                    told,
                    outcome="compacted",
                    reason=body.verdict.outcome,
                    tokens_before=body.tokens_before,
                    tokens_after=body.tokens_after,
                    id=outcome.id,
                    attempts=len(body.verdict.attempts),
                    duration_ms=body.duration_ms or 0,
                )
            case Skipped() | Declined():
                ended = "declined" if isinstance(outcome, Declined) else "skipped"
                sizes = {"tokens_before": outcome.tokens, "tokens_after": outcome.tokens}
                tried = len(outcome.attempts) if isinstance(outcome, Declined) else 0
                told = msgspec.structs.replace(told, outcome=ended, reason=outcome.code, attempts=tried, **sizes)
        self.emit(told)
        if isinstance(outcome, Compacted):
            self.begin()
            self.emit(events.PrefixBreak("compaction"))

    # Notes ------------------------------------------------------------------------------------------------------------

    def _flush_due(self, window: int | None, size: Size) -> bool:
        settings, row = self.agent.flush, self.session.row()
        if size.tokens is None or size.tokens - self.fixed < LEAST_TO_NOTE:
            return False  # what is said so far is less than the prompt: there is nothing to note yet
        return bool(settings.enabled and self.agent.note) and notes.due(
            size.tokens,
            window=window,
            stored=row.window_bytes,
            soft=settings.soft_threshold_tokens,
            max_bytes=settings.force_flush_transcript_bytes,
            state=self._state(),
            generation=row.generation,
        )

    def _state(self) -> FlushState:
        return msgspec.convert(self.session.row().meta.get(FACT, {}), FlushState)

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

    async def _flushed(self, waiting: User | None) -> tuple[notes.Outcome, str]:
        """Ask and append. Whatever fails, the turn goes on."""
        asked = self.request(
            purpose="flush", extra=user(notes.prompt(self.agent.note_path()), synthetic=True), leave=waiting
        )
        left = self._left()
        if left is not None and left < FLUSH_LEAST:
            return "skipped", f"the window has about {max(0, left):,} tokens left, too few to ask for notes"
        room = FLUSH_OUTPUT if left is None else min(FLUSH_OUTPUT, left - FLUSH_PROMPT)
        asked = msgspec.structs.replace(asked, max_output=room)
        try:
            answer = await complete(chain := self.agent.flush_writers or self.agent.chain, asked)
        except (ProviderError, ModelError) as error:
            return "failed", str(error)
        self._spent("flush", chain, answer)
        done = notes.read(text_of(answer))
        if done.outcome != "written" or self.agent.note is None:
            return done.outcome, ""
        problem = self.agent.note(done.note)
        return ("failed", problem) if problem else ("written", "")

    # Requests ---------------------------------------------------------------------------------------------------------

    def request(self, *, purpose: str = "turn", extra: Message | None = None, leave: User | None = None) -> Request:
        """The next request: the view, mended, between the system prompt's parts and the tools.

        `extra` stands at its end; `leave` is a message at its end that is left out.
        """
        messages = mend(self.shown().messages())
        if leave is not None and messages and messages[-1] == leave:
            messages.pop()
        prompt, agent = self.prompt, self.agent
        return Request(
            tuple([*messages, extra] if extra else messages),
            prompt.stable,
            dynamic=prompt.dynamic,
            max_output=self._output(),
            tools=agent.toolbox.tools,
            timeout_s=agent.timeout_s,
            context_edits=self.pruning.edits(self._window),
            purpose=purpose,
        )

    def _output(self) -> int | None:
        """The tokens the answer may have: what the settings say, and no more than the window has left."""
        left = self._left()
        wanted = self.agent.max_output or USUAL_OUTPUT
        if left is None or left >= wanted:
            return self.agent.max_output
        return max(min(LEAST_OUTPUT, (self._window or wanted) // 16), left)

    def _left(self) -> int | None:
        """The tokens the next request surely leaves of the window; None where window or size are unknown."""
        size = self.size()
        return self._window - _at_most(size, size.tokens) if self._window and size.tokens is not None else None


def _at_most(size: Size, tokens: int) -> int:
    """What a size may come to by the provider's count."""
    return tokens + size.estimated_part // ESTIMATE_ERROR + WRAPPING
