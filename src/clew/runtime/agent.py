"""What runs a session, put together by the composition root: models, tools, prompt, settings, and where notes go."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from clew.compact.settings import CompactionSettings
from clew.memory.settings import MemoryFlushSettings
from clew.models.port import Model, Tool
from clew.prompt.assemble import SystemPrompt
from clew.prune.gate import Route
from clew.prune.settings import PruningSettings
from clew.prune.worth import Prices
from clew.transcript import Call, ToolResult


class Tools(Protocol):
    """What a turn needs of a toolbox."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools as a model is told of them, always in the same order."""
        ...

    async def run(self, call: Call, *, ask: "Ask | None" = None, window: int | None = None) -> ToolResult:
        """One call carried out; whatever goes wrong is a result that says so. `window` bounds its size."""
        ...


Ask = Callable[[Call, str], Awaitable[bool]]
"""Asks a person whether a call may run, with the reason for asking."""


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A model with tools, a prompt and settings. It holds no session and can run many."""

    chain: tuple[Model, ...]
    """The session's model, then those that stand in when a provider fails."""
    toolbox: Tools
    prompt: Callable[[str], SystemPrompt]
    """The system prompt as it is now, given what is shown again since the last compaction."""
    compaction: CompactionSettings = CompactionSettings()
    flush: MemoryFlushSettings = MemoryFlushSettings()
    writers: tuple[Model, ...] = ()
    """Who writes briefs; empty takes the chain."""
    flush_writers: tuple[Model, ...] = ()
    """Who writes notes; empty takes the chain."""
    note: Callable[[str], str | None] | None = None
    """Appends a note to the day's file and returns None, or why it could not; None for a workspace without notes."""
    note_path: Callable[[], str] = lambda: "memory/"
    """Where notes go today, as the model is told."""
    refresh: Callable[[], str] = lambda: ""
    """What is shown again after a compaction (`postCompactionSections`); empty for nothing."""
    rides: Callable[[int, int], bool] = lambda conversation, text: False
    """Whether a summary request is cheaper at the end of the conversation's own request of so many tokens, which the
    provider's cache holds, than with the conversation as a text of so many tokens."""
    pruning: PruningSettings = PruningSettings()
    """Whether and when old results are shown shortened."""
    route: Route | None = None
    """Where the requests of the session's model go; None for a route nothing is known of."""
    prices: Prices = Prices()
    """What the route's prompt cache costs."""
    window: int | None = None
    """The window in tokens where the user says so; else the model is asked."""
    max_output: int | None = None
    timeout_s: float | None = 600.0
    """Seconds one request may take."""
    max_steps: int = 200
    """Requests of one turn, after which it stops and says so."""
