"""Housekeeping around the requests of a session: sizes, notes before a compaction, compactions, and their back-off."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec

from clew.clock import NewId, Now
from clew.compact.brief import Style, focus_of, instructions
from clew.compact.flow import Flow, compaction
from clew.compact.outcome import Compacted, Declined, Outcome, Skipped
from clew.compact.serialize import pieces
from clew.engine import guard
from clew.engine.port import Assembly, CompactionAsk
from clew.errors import EngineError, ModelError, ProviderError
from clew.models.drive import Progress
from clew.models.failover import complete
from clew.models.port import Model, Request, compacts
from clew.prompt.fixed import tools_size
from clew.prune.mark import project
from clew.runtime import events
from clew.runtime.agent import Agent
from clew.runtime.compaction import Order, compact, cut_for, latch, reason, sizes_in
from clew.runtime.engine_run import EngineRun
from clew.runtime.events import Emit
from clew.runtime.lineage import changed
from clew.runtime.notetaking import NoteTaker, lost_in
from clew.runtime.pruning import Pruning
from clew.runtime.session import Session
from clew.runtime.tool_size import SHARE, limit
from clew.tokens import estimate
from clew.tokens.usage import Size, calibrate, measure
from clew.tokens.window import compact_at, thresholds
from clew.transcript import (
    Assistant,
    Message,
    ModelChange,
    Trigger,
    User,
    View,
    mend,
    text_of,
)

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

LEARNT = "learnt"
"""Under which a session's row remembers the windows that refusals named, by model."""


class House:
    """The housekeeper of one session while an agent runs it."""

    def __init__(
        self, agent: Agent, session: Session, emit: Emit, *, now: Now, new_id: NewId, engine: EngineRun | None = None
    ) -> None:
        self.agent, self.session, self.emit = agent, session, emit
        self.engine = engine or EngineRun.plain(session)
        self.engine.bind(self._built_in, self._completed, emit)
        self._now, self._new_id = now, new_id
        self._calibration = 1.0
        self._declined_at: int | None = None
        self._window: int | None = agent.window
        self.pruning = Pruning(agent, session, emit, now=now)
        self.notes = NoteTaker(
            agent, session, emit, left=self._left, spent=partial(self._spent, "flush"),
            ask=lambda last, leave: self.request(purpose="flush", extra=last, leave=leave),
        )  # fmt: skip
        self.begin()

    def begin(self) -> None:
        """Read the prompt afresh: once a turn, so that within a turn its bytes stay the same."""
        again = self.agent.refresh() if self.session.view().brief else ""
        self.prompt = self.agent.prompt(again)
        tools = sum(piece.tokens for piece in tools_size(self.agent.toolbox.tools))
        self.fixed = estimate.text(self.prompt.stable) + estimate.text(self.prompt.dynamic) + tools

    def lineage(self, *, tell: bool = True) -> None:
        """Remember what requests begin with now; of another model than before, older sizes are no measure."""
        name = self.agent.chain[0].name
        cause = changed(self.session, name, self.agent.toolbox.tools, self.prompt, tell=tell)
        if cause == "model":
            self.session.change_model(ModelChange(name))
        if cause:
            self.emit(events.PrefixBreak(cause))

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
        return sizes_in(self.session.window())

    def size(self) -> Size:
        """What the next request takes."""
        return measure(self.session.view(), self.sizes(), fixed=self.fixed, calibration=self._calibration)

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
        if self.notes.due(window, size.tokens, self.fixed):
            await self.flush(message)
        await self._compact_if_due(window, size)

    async def before_step(self) -> None:
        """Within a turn: old results shortened where the cache lapsed; or a compaction, so that the next request fits.

        With `midTurnPrecheck` (and in `default` mode) from the usual threshold on; else only when it could not fit.
        """
        window, settings = await self.window(), self.agent.compaction
        self.prune(window)
        if not window or not settings.enabled or self.engine.owns_compaction:
            return
        size, limits = self.size(), thresholds(window)
        early = settings.mid_turn_precheck.enabled or settings.mode == "default"
        bound = (compact_at(window, self.fixed) or window) if early else window - limits.reserve // LAST_RESORT
        if size.tokens is None or _at_most(size, size.tokens) < bound:
            return
        over = size.tokens - limits.compact_at
        freed = self.pruning.trim(keep=1) if self.pruning.reducible() >= over * 3 // 2 else 0
        if freed < over:
            if self.notes.due(window, size.tokens, self.fixed):
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
        if self.engine.owns_compaction:
            return
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
        """One compaction with its events. `required`: where the model's brief is refused, rules write one.

        Raises EngineError where the context engine fails; then nothing is written.
        """
        self.emit(events.Compacting(trigger, self.size().tokens or 0, attempt))
        try:
            outcome = await self.engine.compact(
                CompactionAsk(self.session.key, trigger, window, focus, required, attempt)
            )
        except (asyncio.CancelledError, EngineError) as error:
            size, why = self.size().tokens or 0, "engine" if isinstance(error, EngineError) else "cancelled"
            self.emit(events.Compacted("declined", why, size, size, count=self.session.row().compactions))
            raise
        self._declined_at = self.size().tokens if isinstance(outcome, Declined) else None
        self._say(outcome)
        if isinstance(outcome, Compacted):
            await self.engine.maintain("compaction")
        return outcome

    async def _built_in(self, ask: CompactionAsk, draft: str | None, flow: Flow | None) -> Outcome:
        """The built-in compaction: what every engine can leave its own to."""
        settings = self.agent.compaction
        if ask.required:
            settings = settings.model_copy(update={"fallback": "ledger"})
        keep = settings.keep_recent_tokens >> (ask.attempt - 1)
        settings = settings.model_copy(update={"keep_recent_tokens": keep})
        chain = self.agent.writers or self.agent.chain
        base = self.request() if flow is None and self._rides(ask.trigger, ask.window) else None
        order = Order(
            settings, ask.trigger, ask.focus, ask.window, self.fixed, chain=chain, base=base, given=draft,
            flow=flow or compaction,
        )  # fmt: skip
        if ask.trigger == "manual" and flow is None and draft is None and compacts(self.agent.chain[0]):
            order = await self._native(order)
        return await compact(
            self.session.store,
            self.session.key,
            order,
            now=self._now,
            new_id=self._new_id,
            on_progress=self._progress,
            on_answer=partial(self._spent, "compaction", chain),
        )

    async def _native(self, order: Order) -> Order:
        """The order with a summary by the model's own provider, which said that it compacts; as it was where that
        failed."""
        model, shown = self.agent.chain[0], self.session.view()
        self.emit(events.NativeCompaction(model.name))
        _, allowed = cut_for(shown, self.sizes(), order)
        wanted = instructions(Style(allowed.brief, focus=focus_of(order.focus)))
        request = msgspec.structs.replace(self.request(purpose="compaction"), native_compaction=wanted)
        try:
            answer = await model.complete(request)
        except (ProviderError, ModelError) as error:
            self.emit(events.NativeCompaction(model.name, str(error)))
            return order
        self._spent("compaction", (model,), answer)
        return msgspec.structs.replace(order, given=text_of(answer) or None, given_by=f"{model.name} (native)")

    async def _completed(self, request: Request) -> Assistant:
        """An answer of the session's model for its engine."""
        answer = await complete(self.agent.chain, request, on_event=lost_in("compaction", self.emit))
        self._spent("compaction", self.agent.chain, answer)
        return answer

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
            self.lineage(tell=False)
            self.emit(events.PrefixBreak("compaction"))

    async def flush(self, waiting: User | None = None) -> None:
        """Let the model write lasting notes now."""
        await self.notes.flush(waiting)

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
            max_output=self._output(self._left()),
            tools=agent.toolbox.tools,
            timeout_s=agent.timeout_s,
            context_edits=self.pruning.edits(self._window),
            purpose=purpose,
        )

    async def next_request(self, *, first: bool) -> Request:
        """The next request of a turn, as the context engine has it; `first` in its turn."""
        request = self.request()
        if self.engine.is_plain:
            return request
        window, spoken = await self.window(), [one for one in request.messages if isinstance(one, User)]
        prompt = next((text_of(one) for one in reversed(spoken) if not one.synthetic), "")
        tools = frozenset(tool.name for tool in request.tools)
        budget = max(1, window - self.fixed) if window else None
        assembled = await self.engine.assemble(
            Assembly(self.session.key, request.messages, budget, prompt, first, tools, self.agent.chain[0].name)
        )
        added = [msgspec.structs.replace(one, synthetic=True) for one in assembled.append] if first else []
        if added:
            self.session.append(*added)
        dynamic = "\n\n".join(part for part in (assembled.addition, request.dynamic) if part.strip())
        messages = tuple(mend([*assembled.messages, *added]))
        output = request.max_output
        if window and assembled.messages != request.messages:
            tokens = self.fixed + (assembled.tokens or guard.size(assembled))
            output = self._output(window - tokens - tokens // ESTIMATE_ERROR - WRAPPING)
        return msgspec.structs.replace(request, messages=messages, dynamic=dynamic, max_output=output)

    def _output(self, left: int | None) -> int | None:
        """The tokens the answer may have: what the settings say, and no more than the window has left."""
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
