"""What consecutive requests share: long tool-heavy sessions over real HTTP against the tests' server, counted in bytes.

    python -m bench.traffic [--json]

Each turn is a message, one to five rounds of one or two calls, and an answer; one result in twenty is long. What can
be shared depends on what each request adds, `added` tokens on average: there are two loads, the heavier one a third
above what a request adds in the recorded coding sessions. `main` sets the bytes that each request of the conversation
shares with the one before it against all bytes of these; `all` sets what every request shares, those for notes and
briefs too, with the conversation's last one before it against the bytes of all.
"""

import argparse
import asyncio
import json
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from bench.turn import BRIEF, NOTES, clew_on, kind, settings
from clew.compact.brief import HEADINGS
from clew.runtime import events
from clew.runtime.events import Event
from clew.store.inmemory import InMemoryStore
from clew.testing.server import ModelServer, Say, Seen
from clew.testing.server_prefix import prompt, shared
from clew.transcript import Call

RUNS = ((32_768, 120), (200_000, 160))
"""Windows in tokens, and the turns in each."""

LIGHT, HEAVY = 7, 16
"""Lines of a result at most, but for the long ones of seven times as many."""

LINE = "src/quayside/lease_{n}.py:{n}: the lease of build {n} is held by worker {n} until it is renewed; "
"""What results are made of: about 25 tokens."""


class Share(msgspec.Struct):
    """What one session came to."""

    window: int
    turns: int
    requests: int
    added: int
    """Tokens by which a request is longer than the one it extends, on average."""
    main: float
    """Bytes shared among the conversation's own requests, 0 to 1."""
    all: float
    """The same with the requests for notes and briefs."""
    compactions: int
    breaks: int
    """Requests of the conversation that do not extend the one before."""
    untold: int
    """Breaks that no event told of."""
    lost: int
    """Turns that left the view other than by a compaction."""


class Sent(msgspec.Struct, frozen=True):
    """What is kept of a request: not its words, of which a long session sends hundreds of megabytes."""

    purpose: str
    tokens: int
    size: int
    """Bytes of its prompt."""
    shared: int
    """Of these, those that the conversation's last request before it began with too."""
    extends: bool
    """Whether it goes on from that request."""
    shorter: bool
    """Whether it holds fewer messages than that request."""


class Traffic:
    """A model that works with tools, from a seed; and what was sent to it."""

    def __init__(self, most: int, seed: int = 1) -> None:
        self.most, self.chance, self.rounds, self.calls = most, random.Random(seed), 0, 0
        self.sent: list[Sent] = []
        self._before, self._messages = b"", 0

    def __call__(self, seen: Seen) -> Say:
        self._count(seen)
        asked = seen.body["messages"][-1]["role"]
        seen.raw, seen.body = (
            b"",
            {name: value for name, value in seen.body.items() if name not in ("messages", "tools")},
        )
        if self.sent[-1].purpose == "notes":
            return Say("NO_REPLY")
        if self.sent[-1].purpose == "brief":
            return Say("\n".join(f"{heading}\n- {LINE.format(n=7)}" for heading in HEADINGS))
        if asked == "user":
            self.rounds = self.chance.randint(1, 5)
        if not self.rounds:
            return Say("Done: " + LINE.format(n=self.calls) * self.chance.randint(1, 4))
        self.rounds -= 1
        return Say("I look.", calls=tuple(self._call() for _ in range(self.chance.randint(1, 2))))

    def _count(self, seen: Seen) -> None:
        here, messages, why = prompt(seen), len(seen.body["messages"]), purpose(seen)
        alike, shorter = shared(self._before, here), messages < self._messages
        self.sent.append(Sent(why, seen.tokens, len(here), alike, alike == len(self._before), shorter))
        if why == "turn":
            self._before, self._messages = here, messages

    def _call(self) -> Call:
        self.calls += 1
        longest = self.most * (7 if self.chance.random() < 0.05 else 1)
        lines = self.chance.randint(longest // 2 if longest > self.most else 0, longest)
        return Call(f"c{self.calls}", "look", {"page": self.calls, "lines": lines})


def look(page: int, lines: int) -> str:
    """Looks a page up."""
    return "".join(LINE.format(n=page * 100 + line) + "\n" for line in range(lines))


def purpose(seen: Seen) -> str:
    """What a request was for: `turn`, `notes` or `brief`."""
    asked = kind(seen)
    return "notes" if NOTES in asked else "brief" if BRIEF in asked or not seen.body.get("tools") else "turn"


async def session(window: int, turns: int, most: int) -> Share:
    """One session from its first message to its last."""
    heard: list[tuple[int, Event]] = []
    with ModelServer(traffic := Traffic(most), window=window) as server, TemporaryDirectory() as folder:
        clew = clew_on(InMemoryStore(), settings(server.url, window))
        async with clew.converse("k", workspace=Path(folder), tools=[look]) as talk:
            talk.listen(lambda event: heard.append((len(traffic.sent), event)))
            for turn in range(turns):
                end = await talk.say(f"message {turn}: {LINE.format(n=turn)}")
                if end.outcome != "done":
                    raise SystemExit(f"Turn {turn} ended as {end.outcome}: {end.detail}. The figures mean nothing.")
        await clew.aclose()
    return counted(window, turns, traffic.sent, heard)


def counted(window: int, turns: int, sent: Sequence[Sent], told: Sequence[tuple[int, Event]]) -> Share:
    """The figures of a session from what was sent and told."""
    main = [at for at, one in enumerate(sent) if one.purpose == "turn"]
    growing = [(first, at) for first, at in pairwise(main) if sent[at].extends]
    broken = [(first, at) for first, at in pairwise(main) if not sent[at].extends]
    places = {at for at, event in told if isinstance(event, events.PrefixBreak)}
    packed = {at for at, event in told if isinstance(event, events.Compacted) and event.outcome == "compacted"}
    return Share(
        window=window,
        turns=turns,
        requests=len(sent),
        added=round(sum(sent[at].tokens - sent[first].tokens for first, at in growing) / len(growing)),
        main=sum(sent[at].shared for at in main) / sum(sent[at].size for at in main),
        all=sum(one.shared for one in sent) / sum(one.size for one in sent),
        compactions=len(packed),
        breaks=len(broken),
        untold=sum(not any(first < at <= second for at in places) for first, second in broken),
        lost=sum(sent[second].shorter and not any(first < at <= second for at in packed) for first, second in broken),
    )


def report() -> list[Share]:
    """All sessions."""
    return [asyncio.run(session(window, turns, most)) for most in (LIGHT, HEAVY) for window, turns in RUNS]


def main() -> None:
    """Print what the requests share."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", action="store_true")
    found: list[Any] = [msgspec.to_builtins(one) for one in report()] if options.parse_args().json else report()
    if found and isinstance(found[0], dict):
        print(json.dumps(found, indent=1))
        return
    names = Share.__struct_fields__
    print("  ".join(f"{name:>12}" for name in names))
    for one in found:
        values = [getattr(one, name) for name in names]
        print("  ".join(f"{value:>12.4f}" if isinstance(value, float) else f"{value:>12,}" for value in values))


if __name__ == "__main__":
    main()
