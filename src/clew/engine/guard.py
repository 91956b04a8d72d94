"""Any engine made safe: whatever it does wrong is told, and the session goes on.

Two ways to fail. `assemble`: this turn's requests hold the plain messages, one warning a turn, and the engine is asked
again in the next. Any other method: the engine is quarantined for the rest of the process and the built-in one takes
over; a `compact` that failed is raised as well, for the room it was asked for is not there. A hand-over that fails
(`commit_turn`) is neither: the turn stays owed (`clew.engine.outbox`). Cancelling is no failure, nor is what the host
itself raised while the engine called it.
"""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from clew.compact.outcome import Compacted, Declined, Outcome, Skipped
from clew.engine.legacy import ID, Legacy
from clew.engine.port import (
    Assembled,
    Assembly,
    CompactionAsk,
    ContextEngine,
    Ending,
    EngineOffer,
    Host,
    Info,
    Maintained,
    Operation,
    Rollback,
    Seen,
    Spawn,
    TurnRecord,
)
from clew.errors import EngineError
from clew.tokens import estimate
from clew.transcript import Message, User
from clew.workspace.port import Offer

Given = TypeVar("Given")

REQUIRED = ("ingest", "assemble", "compact")
"""Methods an engine cannot do without."""

OPTIONAL = (
    "bootstrap", "maintain", "ingest_batch", "after_turn", "commit_turn", "prepare_subagent_spawn",
    "on_subagent_ended", "dispose",
)  # fmt: skip
"""Methods an engine may have, that are waited for; `tools` is the one that is not."""

MOST_ERROR = 300
"""Characters of an error that are told."""


class Trouble(msgspec.Struct, frozen=True):
    """Something an engine did wrong."""

    engine: str
    method: str
    """The method that failed; `made` for an engine that could not be had at all."""
    error: str
    quarantined: bool = False
    """Whether the built-in engine has taken over for the rest of the process."""
    commits: bool = False
    """Whether finished turns are still owed to it, for a process that runs it again."""


Tell = Callable[[Trouble], None]

quarantine: dict[str, Trouble] = {}
"""The engines that are not run any more in this process, by id, each with the first reason."""


def engaged(
    wanted: str, offers: Sequence[EngineOffer], host: Host, tell: Tell, *, operation: Operation = "agent-run"
) -> "Guarded":
    """The engine of this id, made safe; the built-in one where it cannot be had, with the reason told."""
    legacy = Legacy(host)
    if wanted == ID:
        return Guarded(legacy, legacy, tell)
    if wanted in quarantine:
        tell(quarantine[wanted])
        return Guarded(legacy, legacy, tell, owed_to=wanted if quarantine[wanted].commits else None)
    offer = next((one for one in offers if one.id == wanted), None)
    if offer is None:
        known = ", ".join(sorted({ID, *(one.id for one in offers)}))
        return _without(legacy, tell, wanted, f"no plug-in registers it (there are: {known})")
    try:
        engine = offer.make(host)
        wrong = problems(engine, wanted)
        missing = [] if wrong else lacking(engine.info, host, operation)
        ready = Guarded(legacy if wrong else engine, legacy, tell)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may fail in any way
        return _without(legacy, tell, wanted, told(error))
    if wrong:
        return _without(legacy, tell, wanted, "it keeps not to the contract: " + "; ".join(wrong))
    if missing:
        tell(Trouble(wanted, "made", "; ".join(missing)))
        return Guarded(legacy, legacy, tell)
    return ready


def _without(legacy: Legacy, tell: Tell, wanted: str, why: str) -> "Guarded":
    quarantine[wanted] = trouble = Trouble(wanted, "made", why, quarantined=True)
    tell(trouble)
    return Guarded(legacy, legacy, tell)


def problems(engine: object, wanted: str) -> list[str]:
    """What an object lacks to be the engine of this id: all of it at once."""
    info = getattr(engine, "info", None)
    if not isinstance(info, Info):
        found = [f"`info` is {type(info).__name__} and no Info"]
    else:
        found = [f"`info.{name}` is blank" for name in ("id", "name") if not getattr(info, name).strip()]
        found += [f"`info.id` is {info.id!r} and was registered as {wanted!r}"] if info.id not in ("", wanted) else []
    absent = [name for name in REQUIRED if not callable(getattr(engine, name, None))]
    found += [f"`{name}` is missing" for name in absent]
    there = [name for name in (*REQUIRED, *OPTIONAL) if callable(getattr(engine, name, None))]
    waits = [name for name in there if not _is_async(getattr(engine, name))]
    return found + [f"`{name}` is not async" for name in waits]


def lacking(info: Info, host: Host, operation: Operation) -> list[str]:
    """What an engine wants of its host for an operation and does not get, in words."""
    wanted = info.requires.get(operation)
    missing = sorted(set(wanted.capabilities) - host.capabilities) if wanted else []
    if not wanted or not missing:
        return []
    has = ", ".join(sorted(host.capabilities)) or "nothing"
    words = f"for {operation} it needs {', '.join(missing)}, which {host.label} has not (it has {has})"
    return [f"{words}. {wanted.message}".strip()]


class Guarded:
    """An engine as the runtime calls it: no method of this class raises, but for `compact`."""

    def __init__(self, engine: ContextEngine, legacy: Legacy, tell: Tell, *, owed_to: str | None = None) -> None:
        """`owed_to` is the quarantined engine that the built-in one stands in for, where it is still owed turns."""
        self._engine, self._legacy, self._tell = engine, legacy, tell
        self._info, self._warned, self.behind = engine.info, False, False
        """`behind`: a turn before this one was not taken, so that the built-in engine runs this one."""
        self._id = owed_to or self._info.id
        self._out = owed_to is not None
        self._commits = owed_to is not None or callable(getattr(engine, "commit_turn", None))

    @property
    def charged(self) -> ContextEngine:
        """The engine in charge: the one that was wanted, or the built-in one while that is quarantined or behind."""
        return self._legacy if self.behind or self._id in quarantine else self._engine

    @property
    def info(self) -> Info:
        """Who is in charge."""
        return self._legacy.info if self.charged is self._legacy else self._info

    @property
    def plain(self) -> bool:
        """Whether the built-in engine is in charge, with which a session runs as if there were none."""
        return isinstance(self.charged, Legacy)

    @property
    def commits(self) -> bool:
        """Whether finished turns are handed over through the outbox; they are owed also while it cannot take them."""
        return self._commits

    @property
    def takes(self) -> bool:
        """Whether what is owed can be handed over now."""
        return self.commits and self._id not in quarantine

    @property
    def id(self) -> str:
        """The engine that was wanted, whoever is in charge."""
        return self._id

    def begin_turn(self) -> None:
        """A turn begins: its first failure to assemble is told, the others are not.

        Told as well is that another session's run had the engine quarantined since.
        """
        self._warned = False
        if self._id in quarantine and not self._out:
            self._out = True
            self._tell(quarantine[self._id])

    async def assemble(self, given: Assembly) -> Assembled:
        """What the request is to hold; the plain messages where the engine fails."""
        if self.plain:
            return Assembled(given.messages)
        try:
            assembled: Assembled = await _safely(self.charged.assemble, given)
            _check(assembled, given)
        except Exception as error:  # noqa: BLE001 - an engine may fail in any way
            if not self._warned:
                self._tell(Trouble(self._id, "assemble", told(error)))
            self._warned = True
            return Assembled(given.messages)
        return assembled

    async def compact(self, ask: CompactionAsk) -> Outcome:
        """Room made. Raises EngineError where the engine fails; what the host raised inside passes as it is."""
        charged = self.charged
        try:
            outcome = await _safely(charged.compact, ask)
        except Exception as error:
            if charged is self._legacy or _is_hosts(error):
                raise
            raise self._failed("compact", error) from error
        if not isinstance(outcome, Compacted | Skipped | Declined):
            raise self._failed("compact", TypeError(f"it returned {type(outcome).__name__} and no outcome"))
        return outcome

    async def bootstrap(self, given: Seen) -> bool:
        """Whether the engine prepared something."""
        return bool(await self._call("bootstrap", False, given))

    async def maintain(self, session: str, reason: Literal["bootstrap", "turn", "compaction"]) -> Maintained:
        """What upkeep did."""
        return await self._call("maintain", Maintained(), session, reason)

    async def turn_ended(self, turn: TurnRecord) -> None:
        """A finished turn told to an engine that does not commit turns: whole, in a batch, or message by message."""
        if self._method("after_turn"):
            await self._call("after_turn", None, turn)
        elif self._method("ingest_batch"):
            await self._call("ingest_batch", 0, turn.session, turn.messages)
        elif not self.plain:
            for message in turn.messages:
                await self._call("ingest", False, turn.session, message)

    async def commit(self, turn: TurnRecord) -> str:
        """Hand a turn over: empty if it was taken, else why not."""
        try:
            said = await _safely(self._engine.commit_turn, turn)  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - an engine may fail in any way
            return told(error)
        return "" if said in ("committed", "duplicate") else f"it answered {said!r}"

    async def prepare(self, given: Spawn) -> Rollback | None:
        """What takes the preparation for a sub-agent back. It raises nothing, and the second time it does nothing."""
        rollback: Rollback | None = await self._call("prepare_subagent_spawn", None, given)
        waiting = [rollback] if callable(rollback) else []

        def back() -> None:
            try:
                while waiting:
                    waiting.pop()()
            except Exception as error:  # noqa: BLE001 - an engine may fail in any way
                self._failed("prepare_subagent_spawn", error)

        return back if waiting else None

    async def ended(self, child: str, ending: Ending) -> None:
        """A sub-agent ended."""
        await self._call("on_subagent_ended", None, child, ending)

    def tools(self) -> tuple[Offer, ...]:
        """Tools lent to the model."""
        lend = self._method("tools")
        try:
            lent = tuple(lend()) if lend else ()
            if wrong := [one for one in lent if not isinstance(one, Offer)]:
                raise TypeError(f"among its tools is a {type(wrong[0]).__name__} and no Offer")
            return lent
        except Exception as error:  # noqa: BLE001 - an engine may fail in any way
            self._failed("tools", error)
            return ()

    async def dispose(self) -> None:
        """The run is over. What goes wrong here is told and hurts nobody."""
        dispose = getattr(self._engine, "dispose", None)
        try:
            if callable(dispose):
                await _safely(dispose)
        except Exception as error:  # noqa: BLE001 - an engine may fail in any way
            self._tell(Trouble(self._id, "dispose", told(error)))

    def _method(self, name: str) -> Callable[..., Any] | None:
        method = getattr(self.charged, name, None)
        return method if callable(method) else None

    async def _call(self, name: str, otherwise: Given, *given: object) -> Given:
        """What a method returns; `otherwise` where the engine has none or fails, and then it is quarantined.

        What the host raised inside is told, and is no fault of the engine.
        """
        method = self._method(name)
        if method is None:
            return otherwise
        try:
            returned = await _safely(method, *given)
        except Exception as error:  # noqa: BLE001 - an engine may fail in any way
            if _is_hosts(error):
                self._tell(Trouble(self._id, name, told(error)))
            else:
                self._failed(name, error)
            return otherwise
        return returned if otherwise is None or isinstance(returned, type(otherwise)) else otherwise

    def _failed(self, method: str, error: BaseException) -> EngineError:
        trouble = Trouble(self._id, method, told(error), quarantined=True, commits=self._commits)
        quarantine.setdefault(self._id, trouble)
        self._out = True
        self._tell(trouble)
        return EngineError(
            f"The context engine `{self._id}` failed in `{method}` ({trouble.error}). Nothing was written and nothing "
            "is lost; for the rest of this process the built-in engine runs the session. For good: `clew config set "
            "plugins.slots.contextEngine legacy`. `clew doctor` says more."
        )


async def _safely(method: Callable[..., Any], *given: object) -> Any:
    """What a method returns. What would end more than the method is an error like any other: a cancelled task of the
    engine's own, where nobody cancelled ours, and a wish to end the process."""
    try:
        return await method(*given)
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        raise RuntimeError("a task of its own was cancelled") from error
    except SystemExit as error:
        raise RuntimeError(f"it wanted to end the process ({error.code})") from error


def told(error: BaseException) -> str:
    """An error in one line."""
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return words if len(words) <= MOST_ERROR else f"{words[:MOST_ERROR]}…"


HOSTS = "_clew_host"
"""The mark on an error that the host raised while an engine called it."""


def raised_by_host(error: BaseException) -> None:
    """Mark an error as no fault of the engine it passes through."""
    setattr(error, HOSTS, True)


def _is_hosts(error: BaseException | None) -> bool:
    while error is not None:
        if getattr(error, HOSTS, False):
            return True
        error = error.__cause__
    return False


def _is_async(method: object) -> bool:
    return inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(getattr(method, "__call__", None))  # noqa: B004


def size(assembled: Assembled) -> int:
    """The tokens of what an engine returned, as the host counts them."""
    return sum(map(estimate.message, (*assembled.messages, *assembled.append))) + estimate.text(assembled.addition)


def _check(assembled: object, given: Assembly) -> None:
    if not isinstance(assembled, Assembled):
        raise TypeError(f"it returned {type(assembled).__name__} and no Assembled")
    wrong = [one for one in assembled.messages if not isinstance(one, Message)]
    wrong += [one for one in assembled.append if not isinstance(one, User)]
    if wrong:
        raise TypeError(f"among its messages is a {type(wrong[0]).__name__}")
    if not isinstance(assembled.addition, str):
        raise TypeError(f"its addition is a {type(assembled.addition).__name__}")
    if not assembled.messages:
        raise ValueError("it returned no messages")
    known = set(map(id, given.messages))
    added = bool(assembled.append or assembled.addition) or len(assembled.messages) > len(given.messages)
    added = added or any(id(one) not in known for one in assembled.messages)
    if given.budget is None or not added:
        return
    most = max(given.budget, sum(map(estimate.message, given.messages)))
    if (taken := size(assembled)) > most:
        raise ValueError(f"it returned about {taken:,} tokens for a budget of {given.budget:,}")
