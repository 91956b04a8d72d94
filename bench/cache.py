"""What the prompt costs over a session: recorded sessions replayed request by request under four kinds of management.

    python -m bench.cache [FILE ...] [--sessions N] [--window 100000] [--pause 10] [--json]

Every answer of the recording is one request, which holds what stood before it. `none` sends all of it; `masking` shows
only the results of the last three answers; `off` is Clew with compaction alone; `clew` is Clew with its defaults on an
Anthropic route. Briefs are written by rules, so that nothing but the conversation's own requests is counted. The tokens
of the messages that a request and the one before it begin with are read from the cache, the rest is written; after
a pause longer than the cache lives nothing is read. Cost is 0.1 × read + 1.25 × written, in tokens of plain input.
`shared` are the bytes a request begins with as the one before it did, against all bytes, whatever the pause.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from bench.sessions import COMPACTIONS, conversations, events, lines
from clew.compact.settings import CompactionSettings
from clew.memory.settings import MemoryFlushSettings
from clew.models.scripted import ScriptedModel
from clew.prompt.assemble import SystemPrompt
from clew.prune.gate import Route
from clew.prune.settings import PruningSettings
from clew.prune.trim import CLEARED
from clew.runtime.agent import Agent
from clew.runtime.events import Event, PrefixBreak
from clew.runtime.house import House
from clew.runtime.session import Session
from clew.runtime.tools import Toolbox
from clew.store.inmemory import InMemoryStore
from clew.testing.server_prefix import shared
from clew.tokens import estimate
from clew.transcript import Assistant, Message, Text, ToolResult, User, calls_of

WINDOW, PAUSE_MIN, STEP_MS, LIFE_MS = 100_000, 10.0, 20_000, 300_000
"""Tokens; minutes before each message of a person; milliseconds of a step, and those the cache lives."""

READ, WRITE = 0.1, 1.25
"""Prices of a token as a share of plain input."""

MASKED = 3
"""Answers whose results `masking` shows."""

NAME = "anthropic/claude-sonnet-4-5"
KINDS = ("none", "masking", "off", "clew")


class Tally(msgspec.Struct):
    """What one replay came to, in tokens."""

    requests: int = 0
    sent: int = 0
    read: int = 0
    breaks: int = 0
    """Requests that do not extend the one before."""
    told: int = 0
    """Breaks that Clew logged."""
    bytes: int = 0
    same: int = 0
    """Of all bytes, those that a request begins with as the one before it did."""
    rereads: int = 0
    """Calls that repeat one whose result is no longer shown whole."""
    largest: int = 0

    @property
    def cost(self) -> float:
        """In tokens of plain input."""
        return READ * self.read + WRITE * (self.sent - self.read)


class Replay:
    """One session under one kind of management."""

    def __init__(self, kind: str, window: int, pause_ms: int) -> None:
        self.kind, self.pause_ms, self.now, self.ids = kind, pause_ms, 1_000_000, 0
        self.tally, self._last = Tally(), 0
        self._before: tuple[Message, ...] = ()
        self._weighed: dict[int, tuple[Message, int, bytes]] = {}
        self._answers: dict[tuple[str, bytes], ToolResult] = {}
        store = InMemoryStore()
        store.create("k", at=1)
        self.session = Session(store, "k", now=lambda: self.now, new_id=self._id)
        agent = Agent(
            chain=(ScriptedModel(name=NAME),),
            toolbox=Toolbox(),
            prompt=lambda again: SystemPrompt("", "", ()),
            compaction=CompactionSettings(fallback="ledger"),
            flush=MemoryFlushSettings(enabled=False),
            pruning=PruningSettings(mode="off" if kind == "off" else None, ttl=LIFE_MS / 1000 / 60),
            route=Route("anthropic", NAME.partition("/")[2], "anthropic-messages"),
            window=window,
        )
        self.house = House(agent, self.session, self._hear, now=lambda: self.now, new_id=self._id)

    async def run(self, messages: Sequence[Message]) -> Tally:
        """The whole session. A call recorded while another's result is awaited belongs to the same answer."""
        answered = {message.call_id for message in messages if isinstance(message, ToolResult)}
        awaited: set[str] = set()
        for at, message in enumerate(messages):
            if isinstance(message, Assistant):
                if at and not awaited and not isinstance(messages[at - 1], Assistant):
                    await self._ask(messages[:at], message)
                awaited |= {call.id for call in calls_of(message)} & answered
            elif isinstance(message, ToolResult):
                awaited.discard(message.call_id)
            self.now += self.pause_ms if isinstance(message, User) and not message.synthetic else 0
            if self.kind in ("off", "clew"):
                self.session.append(message)
            self._learn(messages[:at], message)
        return self.tally

    async def _ask(self, before: Sequence[Message], answer: Assistant) -> None:
        self.now += STEP_MS
        if self.kind in ("off", "clew"):
            newest = before[-1]
            await (self.house.before_turn(newest) if isinstance(newest, User) else self.house.before_step())
            self.house.pruning.asking()
            sent = self.house.request().messages
            self.house.pruning.answered(Assistant((), model=NAME))
        else:
            sent = masked(before) if self.kind == "masking" else tuple(before)
        self._count(sent)
        whole = set(map(_key, sent))
        for call in calls_of(answer):
            earlier = self._answers.get((call.name, msgspec.json.encode(call.arguments, order="sorted")))
            self.tally.rereads += earlier is not None and _key(earlier) not in whole

    def _count(self, sent: tuple[Message, ...]) -> None:
        sizes, written = zip(*map(self._weigh, sent), strict=True)
        whole, same = alike([self._weigh(one)[1] for one in self._before], written)
        tally, warm = self.tally, self.now - self._last < LIFE_MS
        tally.requests += 1
        tally.sent += sum(sizes)
        tally.read += sum(sizes[:whole]) if warm else 0
        tally.bytes += sum(map(len, written))
        tally.same += same
        tally.breaks += whole < len(self._before)
        tally.largest = max(tally.largest, sum(sizes))
        self._before, self._last = sent, self.now

    def _weigh(self, message: Message) -> tuple[int, bytes]:
        """Tokens and bytes of a message, reckoned once."""
        if id(message) not in self._weighed:
            self._weighed[id(message)] = message, estimate.message(message), msgspec.json.encode(message)
        return self._weighed[id(message)][1:]

    def _learn(self, before: Sequence[Message], message: Message) -> None:
        if isinstance(message, ToolResult):
            for earlier in reversed(before):
                for call in calls_of(earlier):
                    if call.id == message.call_id:
                        self._answers[call.name, msgspec.json.encode(call.arguments, order="sorted")] = message
                        return

    def _hear(self, event: Event) -> None:
        self.tally.told += isinstance(event, PrefixBreak)

    def _id(self) -> str:
        self.ids += 1
        return f"id{self.ids:08d}"


def alike(before: Sequence[bytes], sent: Sequence[bytes]) -> tuple[int, int]:
    """Messages and bytes that two requests begin with alike."""
    pairs = enumerate(zip(before, sent, strict=False))
    whole = next((at for at, (one, other) in pairs if one != other), min(len(before), len(sent)))
    part = shared(before[whole], sent[whole]) if whole < min(len(before), len(sent)) else 0
    return whole, sum(map(len, sent[:whole])) + part


def masked(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with every result before the newest answers as one line."""
    answers = [at for at, message in enumerate(messages) if isinstance(message, Assistant)]
    end = answers[-MASKED] if len(answers) >= MASKED else 0
    gone = (Text(CLEARED),)
    return tuple(
        msgspec.structs.replace(message, blocks=gone) if at < end and isinstance(message, ToolResult) else message
        for at, message in enumerate(messages)
    )


def _key(message: Message) -> tuple[str, str] | None:
    if not isinstance(message, ToolResult):
        return None
    return message.call_id, "".join(block.text for block in message.blocks if isinstance(block, Text))


def sessions(path: Path) -> Iterator[list[Message]]:
    """The sessions of a file, whole."""
    if path.suffix == ".gz":
        yield from (events(one["events"]) for one in lines(path))
    else:
        yield from conversations(path)


def total(done: Sequence[Tally]) -> Tally:
    """All replays of one kind together."""
    added = {name: sum(getattr(one, name) for one in done) for name in Tally.__struct_fields__}
    return Tally(**{**added, "largest": max(one.largest for one in done)})


def main() -> None:
    """Print what each kind of management costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[COMPACTIONS])
    parser.add_argument("--sessions", type=int, help="of each file, the first ones; all where not given")
    parser.add_argument("--window", type=int, default=WINDOW, help="tokens")
    parser.add_argument("--pause", type=float, default=PAUSE_MIN, help="minutes before each message of a person")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = [one for path in given.files for one in islice(sessions(path), given.sessions)]
    rows: dict[str, Tally] = {}
    for kind in KINDS:
        done = [asyncio.run(Replay(kind, given.window, round(given.pause * 60_000)).run(one)) for one in found]
        rows[kind] = total(done)
    if given.json:
        print(json.dumps({kind: {**msgspec.to_builtins(row), "cost": row.cost} for kind, row in rows.items()}))
        return
    print(f"{len(found)} sessions, window {given.window:,}, {given.pause:g} minutes before each message of a person")
    print(
        f"{'':10}{'requests':>9}{'sent':>14}{'read':>7}{'shared':>8}{'cost':>14}{'of none':>9}{'breaks':>8}{'told':>6}"
        f"{'rereads':>9}"
    )
    for kind, row in rows.items():
        print(
            f"{kind:10}{row.requests:9,}{row.sent:14,}{row.read / row.sent:7.1%}{row.same / row.bytes:8.1%}"
            f"{row.cost:14,.0f}{row.cost / rows['none'].cost:9.3f}{row.breaks:8,}{row.told:6,}{row.rereads:9,}"
        )


if __name__ == "__main__":
    main()
