"""Rounds of pruning in a session: the clock of each model's cache, the marks that are stored, what is told of it."""

from collections.abc import Mapping

import msgspec

from clew.clock import Now
from clew.prune import gate, remote
from clew.prune.gate import Route
from clew.prune.mark import UNCUT, cuts
from clew.prune.plan import Plan, images, results
from clew.prune.tools import prunable
from clew.prune.trim import saved, trimmed
from clew.prune.worth import expected, worth
from clew.runtime import events
from clew.runtime.agent import Agent
from clew.runtime.events import Emit
from clew.runtime.session import Session
from clew.tokens import estimate
from clew.tokens.window import thresholds
from clew.transcript import Assistant, PruneMark, Said, ToolResult, calls_of, groups

FACT = "cacheTouched"
"""Under which a session's row keeps, by model, when its last successful request began."""

MODELS_KEPT = 8
"""Models whose clock is kept, the newest ones."""


class Pruning:
    """The pruning of one session while an agent runs it."""

    def __init__(self, agent: Agent, session: Session, emit: Emit, *, now: Now) -> None:
        self.agent, self.session, self.emit, self._now = agent, session, emit, now
        self._began = now()

    @property
    def route(self) -> Route:
        """Where the session's requests go."""
        provider, _, model = self.agent.chain[0].name.partition("/")
        return self.agent.route or Route(provider, model)

    # The clock --------------------------------------------------------------------------------------------------------

    def asking(self) -> None:
        """A request goes out now."""
        self._began = self._now()

    def answered(self, answer: Assistant) -> None:
        """The request that went out last succeeded: its start is when the cache was last touched."""
        if gate.on(self.agent.pruning, self.route):
            self._touch(answer.model or self.agent.chain[0].name, self._began)

    def _touched(self) -> dict[str, int]:
        try:
            return msgspec.convert(self.session.row().meta.get(FACT, {}), dict[str, int])
        except msgspec.ValidationError:
            return {}  # no part of the conversation: one that an import brought damaged must not stop a session

    def _touch(self, model: str, at: int) -> None:
        clocks = self._touched()
        clocks.pop(model, None)
        newest = list(clocks.items())[1 - MODELS_KEPT :]
        self.session.store.describe(self.session.key, {FACT: {**dict(newest), model: at}})

    def opens(self) -> bool:
        """Whether a round may run now."""
        settings, route = self.agent.pruning, self.route
        if not gate.on(settings, route):
            return False
        return gate.opens(settings, route, self._touched().get(self.agent.chain[0].name), self._now())

    # Rounds -----------------------------------------------------------------------------------------------------------

    def images(self, sizes: Mapping[str, int]) -> None:
        """At the start of a turn, whatever the mode: images older than the newest turns become markers.

        They need no lapsed cache: each goes as soon as it is old, so that little stands behind the break.
        """
        self._store(images(self.session.view(), sizes), "")

    def results(self, window: int | None, tokens: int | None, sizes: Mapping[str, int]) -> None:
        """A round, if it pays: old results trimmed, then cleared. `tokens` is the size of the next request."""
        if not window or tokens is None:
            return
        agent, view = self.agent, self.session.view()
        plan = results(view, sizes, tokens, thresholds(window), agent.pruning)
        if worth(plan, agent.prices, expected(view)):
            self._store(plan, agent.pruning.hard_clear.fixed)
            self._touch(agent.chain[0].name, self._now())

    def _store(self, plan: Plan, placeholder: str) -> None:
        """The mark is durable before the request whose bytes it changes."""
        if plan.cuts:
            mark = self.session.mark(PruneMark(self.route.provider, plan.cuts, placeholder))
            self.emit(events.Trimmed(len(plan.cuts), plan.freed, mark.entry.id))
            self.emit(events.PrefixBreak("prune"))

    def edits(self, window: int | None) -> dict[str, object] | None:
        """What the provider is asked to clear by itself, where it can; else None."""
        if not self.route.remote or not gate.on(self.agent.pruning, self.route):
            return None
        said = [entry.body.message for entry in self.session.view().entries if isinstance(entry.body, Said)]
        called = [call.name for message in said for call in calls_of(message)]
        lent = [tool.name for tool in self.agent.toolbox.tools]
        return remote.context_edits(window, self.agent.pruning.tools, [*lent, *called])

    # Room that is needed whatever it breaks ---------------------------------------------------------------------------

    def _results(self, keep: int) -> list[tuple[str, ToolResult]]:
        """The large results not yet shortened, but for those of the last `keep` groups of messages."""
        shown, marked = self.session.view(), cuts(self.session.view())
        spoken = [entry for entry in shown.entries if isinstance(entry.body, Said)]
        runs = groups([entry.body.message for entry in spoken if isinstance(entry.body, Said)])
        end = runs[-keep].start if keep and len(runs) >= keep else len(spoken)
        return [
            (entry.id, entry.body.message)
            for entry in spoken[:end]
            if isinstance(entry.body, Said)
            and isinstance(entry.body.message, ToolResult)
            and not marked.get(entry.id, UNCUT).shortened
            and saved(entry.body.message)
        ]

    def _allowed(self, results: list[tuple[str, ToolResult]]) -> list[tuple[str, ToolResult]]:
        return [(name, result) for name, result in results if prunable(result.tool, self.agent.pruning.tools)]

    def reducible(self, keep: int = 1) -> int:
        """Roughly the tokens that trimming would free, of results that may be shortened."""
        return sum(saved(result) for _, result in self._allowed(self._results(keep))) // 4

    def trim(self, *, keep: int) -> int:
        """Show the large results shortened; the tokens that frees, 0 where there is none to shorten.

        Those of tools the settings keep out are spared for as long as there are others.
        """
        large = self._results(keep)
        chosen = self._allowed(large) or large
        if not chosen:
            return 0
        mark = self.session.mark(PruneMark("overflow", {name: "trim" for name, _ in chosen}))
        freed = sum(estimate.message(r) - estimate.message(trimmed(r, name)) for name, r in chosen)
        self.emit(events.Trimmed(len(chosen), freed, mark.entry.id))
        self.emit(events.PrefixBreak("trim"))
        return freed
