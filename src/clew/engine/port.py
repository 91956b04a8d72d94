"""What a context engine promises: what the model is shown of a session, and what becomes of what it is not shown.

One engine runs a session. Its laws, which `clew.testing.EngineContract` checks over any engine:

1. **Order.** `bootstrap` then `maintain` when a session is first seen; `assemble` before each request; when a turn is
   done `commit_turn`, or else `after_turn`, `ingest_batch` or `ingest`, whichever the engine has, then `maintain`;
   `compact` when the window is full; `dispose` at the end.
2. **The transcript is the host's.** An engine reads it and never changes an entry. What it derives it can derive again.
3. **Pairs stay whole.** `assemble` returns calls with their results; the host mends what is not.
4. **Bytes stay.** What `assemble` returned for a request it returns again at the beginning of the next one, unless a
   compaction came between: a prompt cache holds a prompt by the bytes it begins with. What is new goes to the end
   (`Assembled.append`), which the host stores.
5. **Within the budget.** What `assemble` returns fits `Assembly.budget`, by the host's count.
6. **Once.** `commit_turn` may be called again with a turn it has; it answers `duplicate` and changes nothing.
7. **Failures are exceptions.** They are caught, told and survived: see `clew.engine.guard`.

Only `info`, `ingest`, `assemble` and `compact` are required; a host looks whether the others are there.
"""

from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

import msgspec

from clew.compact.flow import Flow
from clew.compact.outcome import Outcome
from clew.models.port import Request
from clew.store.port import Store
from clew.transcript import Assistant, Message, Trigger, User
from clew.workspace.port import Offer

Operation = Literal["agent-run", "manual-compact", "subagent-spawn"]
"""What a host may run an engine for."""

Mode = Literal["isolated", "fork"]
"""What a sub-agent knows: its task alone, or the conversation so far as well."""

Ending = Literal["completed", "failed", "cancelled", "deleted"]

CAPABILITIES = frozenset((
    "bootstrap", "assemble-before-prompt", "append", "after-turn", "commit-turn", "maintain", "compact",
    "subagents", "tools", "runtime-llm-complete", "history",
))  # fmt: skip
"""What the runtime that ships offers an engine."""


class Requirement(msgspec.Struct, frozen=True):
    """What an operation of a host has to offer, or the engine does not run there."""

    capabilities: tuple[str, ...]
    """Names of CAPABILITIES."""
    message: str = ""
    """What is told where one is missing."""


class Info(msgspec.Struct, frozen=True):
    """Who an engine is."""

    id: str
    """What `plugins.slots.contextEngine` names it by."""
    name: str
    version: str = ""
    owns_compaction: bool = False
    """Whether the engine sees to its window itself: the host then starts no compaction before a request by its own
    thresholds. A provider's refusal still asks `compact` for room."""
    requires: dict[Operation, Requirement] = {}
    """What a host must offer."""


class Assembly(msgspec.Struct, frozen=True):
    """What is known before a request."""

    session: str
    messages: tuple[Message, ...]
    """What the host would send: the view, old results shortened, each call with its result."""
    budget: int | None
    """Tokens the messages may take; None where the window is not known."""
    prompt: str = ""
    """The words of the newest message of a person."""
    first: bool = True
    """Whether this is the first request of a turn."""
    tools: frozenset[str] = frozenset()
    """Names of the tools the model is offered."""
    model: str = ""


class Assembled(msgspec.Struct, frozen=True):
    """What a request is to hold."""

    messages: tuple[Message, ...]
    tokens: int = 0
    """Their size as the engine estimates it, from which the host reckons the room for an answer; 0 leaves that to the
    host. The budget is held against the host's own count in any case."""
    addition: str = ""
    """Words for the system prompt, behind its cache boundary. A change of them costs the cache of all messages."""
    append: tuple[User, ...] = ()
    """Messages that the host stores behind the newest one and sends: what the engine adds without breaking the cache.
    They count as no person's words. Heeded before the first request of a turn alone."""


class TurnRecord(msgspec.Struct, frozen=True):
    """A turn that ended with an answer."""

    session: str
    turn: str
    """What makes it this turn, however often it is handed over: the id of the entry that began it."""
    first: str
    last: str
    """Ids of its first and last entry."""
    messages: tuple[Message, ...]
    """From the user's message to the answer, oldest first; hidden entries left out."""
    budget: int | None = None
    """Tokens of the window; None where it is not known."""


class CompactionAsk(msgspec.Struct, frozen=True):
    """Room is needed."""

    session: str
    trigger: Trigger
    window: int | None = None
    """The model's, in tokens; None where it is not known."""
    focus: str | None = None
    """What the user asked the brief to look at."""
    required: bool = False
    """Whether the next request cannot be sent without it."""
    attempt: int = 1
    """Counted from 1; a later one has to free more."""


class Seen(msgspec.Struct, frozen=True):
    """A session that is seen for the first time by this engine in this process."""

    session: str
    entries: int
    """How many it has."""


class Maintained(msgspec.Struct, frozen=True):
    """What maintenance did."""

    changed: bool = False
    reason: str = ""


class Spawn(msgspec.Struct, frozen=True):
    """A sub-agent about to begin."""

    parent: str
    child: str
    """Keys of sessions."""
    mode: Mode


Rollback = Callable[[], None]
"""Takes back what was prepared for a sub-agent that could not begin. Called once, or never."""


class Host(Protocol):
    """What an engine is given to work with; the same for all of its life."""

    session: str
    """The key of the session it runs."""
    store: Store
    """To read from. An engine that keeps something of its own keeps it elsewhere, or in `describe`d small facts."""
    capabilities: frozenset[str]
    label: str
    """Who the host is, in words."""

    async def complete(self, request: Request) -> Assistant:
        """An answer of the session's model, booked as housekeeping. Raises what a model raises."""
        ...

    async def delegate_compaction(
        self, ask: CompactionAsk, *, draft: str | None = None, flow: Flow | None = None
    ) -> Outcome:
        """The built-in compaction, audit and commit included: for an engine that does not compact by itself.

        `draft` is a brief to be tried before a model is asked; `flow` takes the place of the usual way to a brief.
        """
        ...


@runtime_checkable
class ContextEngine(Protocol):
    """What every engine has."""

    @property
    def info(self) -> Info:
        """Who it is; the same at all times."""
        ...

    async def ingest(self, session: str, message: Message) -> bool:
        """One message of a finished turn, for engines that take in no more than that; whether it was taken."""
        ...

    async def assemble(self, given: Assembly) -> Assembled:
        """What the next request is to hold."""
        ...

    async def compact(self, ask: CompactionAsk) -> Outcome:
        """Make room, or say why not."""
        ...


class FullEngine(ContextEngine, Protocol):
    """An engine with all that is optional. No engine needs to name this class: a method that is there is called."""

    async def bootstrap(self, given: Seen) -> bool:
        """A session is seen for the first time; whether something was prepared for it."""
        ...

    async def maintain(self, session: str, reason: Literal["bootstrap", "turn", "compaction"]) -> Maintained:
        """Time for upkeep of what was derived."""
        ...

    async def ingest_batch(self, session: str, messages: tuple[Message, ...]) -> int:
        """The messages of a finished turn; how many were taken."""
        ...

    async def after_turn(self, turn: TurnRecord) -> None:
        """A turn is done. Called once if all goes well, and not again after a crash."""
        ...

    async def commit_turn(self, turn: TurnRecord) -> Literal["committed", "duplicate"]:
        """A turn is done; it was stored with the note that it is owed, and is handed over until this returns."""
        ...

    async def prepare_subagent_spawn(self, given: Spawn) -> Rollback | None:
        """A sub-agent is about to begin."""
        ...

    async def on_subagent_ended(self, child: str, ending: Ending) -> None:
        """It ended."""
        ...

    def tools(self) -> tuple[Offer, ...]:
        """Tools lent to the model while this engine runs the session. Asked for once, at the beginning."""
        ...

    async def dispose(self) -> None:
        """The run is over."""
        ...


Make = Callable[[Host], ContextEngine]


class EngineOffer(msgspec.Struct, frozen=True):
    """An engine that a plug-in registers."""

    id: str
    make: Make
    """Makes one for a session. Called once a run."""


async def delegate_compaction(host: Host, ask: CompactionAsk) -> Outcome:
    """The whole `compact` of an engine that leaves compaction to the host."""
    return await host.delegate_compaction(ask)
