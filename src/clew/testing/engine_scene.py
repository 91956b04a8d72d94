"""A session run by an engine, to try engines on: real turns with a scripted model, every call of the engine watched."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from clew.agency import Conversation
from clew.clock import new_id, now_ms
from clew.compact.outcome import Outcome
from clew.compact.settings import CompactionSettings
from clew.engine import guard
from clew.engine.port import Assembled, Assembly, EngineOffer, Info, Make, TurnRecord
from clew.errors import EngineError
from clew.models.port import Request
from clew.models.scripted import ScriptedModel
from clew.prompt.assemble import SystemPrompt
from clew.runtime import events
from clew.runtime.agent import Agent
from clew.runtime.engine_run import EngineRun
from clew.runtime.session import Session
from clew.runtime.tools import Toolbox
from clew.store.inmemory import InMemoryStore
from clew.store.port import SessionRow, Store
from clew.tokens import estimate
from clew.transcript import Assistant, Call, ToolResult, User, assistant, encode, text_of, user

KEY = "agent:main"

ID = "on-trial"
"""Under which an engine runs here, whatever it calls itself: so that even `legacy` is called as a plug-in's is."""

PAGE = "On page {page} the lease of worker-{page} stands at {page}0 seconds, as ticket OPS-{page} wants it. "


def look(page: int) -> str:
    """Looks a page up."""
    return PAGE.format(page=page) * 12


class Watched:
    """An engine, and what it was asked and answered. Has the methods the engine has, and no others."""

    def __init__(self, engine: Any, store: Store) -> None:
        self.engine, self._store = engine, store
        self.assembled: list[tuple[Assembly, Assembled]] = []
        self.committed: list[tuple[TurnRecord, str]] = []
        self.wrote: list[str] = []
        """Methods after which the session had other entries, another end or another beginning; `compact` may."""

    @property
    def info(self) -> Info:
        """Who it is, but for the id."""
        info: Info = self.engine.info
        return msgspec.structs.replace(info, id=ID)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.engine, name)
        if name == "compact" or not inspect.iscoroutinefunction(method):
            return method

        async def called(*given: Any) -> Any:
            before = self._state()
            answer = await method(*given)
            self.wrote += [name] if self._state() != before else []
            if name == "assemble":
                self.assembled.append((given[0], answer))
            if name == "commit_turn":
                self.committed.append((given[0], answer))
            return answer

        return called

    def _state(self) -> tuple[int, int, str | None]:
        row = self._store.session(KEY)
        return row.entries, row.generation, row.leaf


class EngineScene:
    """One session, one engine, one model. A second scene over the first one's store is a restart."""

    def __init__(self, make: Make, *, window: int | None = None, store: Store | None = None) -> None:
        guard.quarantine.pop(ID, None)
        self.store = store or InMemoryStore()
        if store is None:
            self.store.create(KEY, at=1)
        self.session = Session(self.store, KEY, now=now_ms, new_id=new_id)
        self.told: list[events.Event] = []
        self.broken: set[int] = set()
        """The places in `sent` before which a compaction came."""
        self.model = ScriptedModel(_answer for _ in iter(int, 1))
        agent = Agent(
            chain=(self.model,), toolbox=Toolbox([look]), prompt=lambda again: SystemPrompt("", "", ()), window=window,
            compaction=CompactionSettings(fallback="ledger"),
        )  # fmt: skip
        self.run = EngineRun(ID, [EngineOffer(ID, self._maker(make))], self.session)
        self.talk = Conversation(self.session, lambda name: agent, now=now_ms, new_id=new_id, engine=self.run)
        self.talk.listen(self._hear)

    def _maker(self, make: Make) -> Callable[[Any], Any]:
        def made(host: Any) -> Watched:
            self.watched = Watched(make(host), self.store)
            return self.watched

        return made

    def _hear(self, event: events.Event) -> None:
        self.told.append(event)
        if isinstance(event, events.Compacted) and event.outcome == "compacted":
            self.broken.add(len(self.sent()))

    def fill(self, rounds: int, *, words: int = 20) -> None:
        """So many earlier exchanges, of which every fifth has a call with its result."""
        for n in range(rounds):
            call = Call(f"old{n}", "look", {"page": n})
            looked = (assistant("", call), ToolResult(call.id, "look", user(look(n)).blocks)) if n % 5 == 0 else ()
            done = assistant(f"OPS-{n} is done in src/part_{n}.py. " * words, stop="stop")
            self.session.append(user(f"Please see to ticket OPS-{n}."), *looked, done)

    def say(self, *texts: str) -> events.Ended:
        """Turns, one after another; how the last one ended. A text with the word `page` has the model call a tool."""
        ended = [asyncio.run(self.talk.say(text)) for text in texts][-1]
        self.sound()
        return ended

    def compact(self) -> Outcome:
        """A compaction by hand."""
        try:
            outcome = asyncio.run(self.talk.compact())
        except EngineError as error:
            raise AssertionError(str(error)) from error
        self.sound()
        return outcome

    def dispose(self) -> None:
        """The end of the run."""
        asyncio.run(self.run.dispose())
        self.sound()

    def sound(self) -> None:
        """Fails where the engine failed in anything, or wrote to the session."""
        for event in self.told:
            if isinstance(event, events.EngineTrouble):
                raise AssertionError(f"the engine failed in `{event.method}`: {event.error}")
        wrote = self.watched.wrote
        assert not wrote, f"the session was written to in {', '.join(sorted(set(wrote)))}"

    def lines(self) -> list[bytes]:
        """The stored entries as canonical bytes."""
        return [encode(record.entry) for record in self.store.entries(KEY)]

    def row(self) -> SessionRow:
        """The session's row."""
        return self.session.row()

    def sent(self) -> list[Request]:
        """The requests of turns, in order."""
        return [one for one in self.model.requests if one.purpose == "turn"]


def shared(first: Request, second: Request) -> bool:
    """Whether the second request begins with all messages of the first, byte for byte."""
    one, two = (list(map(msgspec.json.encode, request.messages)) for request in (first, second))
    return two[: len(one)] == one


def size(request: Request) -> int:
    """The tokens of a request's messages."""
    return sum(map(estimate.message, request.messages))


def _answer(request: Request) -> Assistant:
    """Calls the tool once where the user speaks of a page; else a sentence. To a request for a brief, nothing useful:
    rules write it."""
    said = [one for one in request.messages if not (isinstance(one, User) and one.synthetic)]
    last = said[-1] if said else user("")
    if request.purpose == "turn" and isinstance(last, User) and "page" in text_of(last):
        number = sum(isinstance(one, ToolResult) for one in said)
        return assistant("", Call(f"c{number}-{len(request.messages)}", "look", {"page": number}))
    return assistant("That is done.")
