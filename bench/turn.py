"""What a turn costs: CPU of a turn against a bare loop, by the length of the history; memory; what housekeeping shares.

    python -m bench.turn [--sizes 200 2000 20000] [--turns 12] [--json]

All run the same turns against the same scripted server in another process: the user's message, two tool calls one after
the other, an answer; six messages, each durable before the next step. The window is the same for every history: its
older part is compacted. Clew is what `Clew.converse` gives; the bare loops are a list of messages, one row a message in
SQLite (WAL, synchronous=FULL), the same tool, and the OpenAI SDK (`sdk`) or its HTTP library alone (`http`).
"""

import argparse
import asyncio
import gc
import json
import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import openai

from clew.app import Clew
from clew.config import Config
from clew.models.port import Request
from clew.models.providers.openai_format import messages
from clew.store.inmemory import InMemoryStore
from clew.store.port import Draft, Store
from clew.store.sqlite import SqliteStore
from clew.testing import server_prefix
from clew.testing.scene import brief
from clew.testing.server import ModelServer, Say, Seen
from clew.tokens import estimate
from clew.transcript import Call, Message, Said, assistant, result, user

SIZES = (200, 2_000, 20_000)
WINDOW_MESSAGES = 120
"""Messages the window holds when the measuring begins."""
WINDOW = 32_768
"""Tokens of the window in which the sharing of housekeeping is measured."""
COMMANDS = 5
"""Runs of each command, of which the median counts."""
CALLS = 2
"""Tool calls of a turn."""
WORDS = "some more words about the build and its logs " * 12
PAGE = "line of a page with a value = 1 and a path src/clew/app.py\n" * 20
API = "openai-completions"

Row = dict[str, Any]
Turn = Callable[[int], Awaitable[object]]


def look(number: int) -> str:
    """Looks a page up."""
    return f"page {number}\n{PAGE}"


def script(seen: Seen) -> Say:
    """Two calls after a user's message, then an answer; notes and briefs where they are asked for."""
    done = 0
    for message in reversed(seen.body["messages"]):
        if message["role"] == "user":
            break
        done += message["role"] == "tool"
    number = len(seen.body["messages"])
    return Say("I look.", calls=(Call(f"c{number}", "look", {"number": number}),)) if done < CALLS else Say(WORDS)


def main() -> None:
    """Measure what the command line asks for and print it."""
    options = argparse.ArgumentParser(prog="python -m bench.turn", description=(__doc__ or "").splitlines()[0])
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="messages of history")
    options.add_argument("--turns", type=int, default=12, help="turns measured of each kind")
    options.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        return serve()
    if chosen.memory:
        return print(asyncio.run(memory(*chosen.memory)))
    found = report(chosen.sizes, chosen.turns)
    print(json.dumps(found, indent=1) if chosen.json else table(found))


def report(sizes: list[int], turns: int) -> Row:
    """All figures."""
    with TemporaryDirectory() as folder, server() as url:
        place = Path(folder)
        rows = [asyncio.run(measured(place / str(size), url, size, turns)) for size in sizes]
        return {
            "turns": rows,
            "flat": round(rows[-1]["clew_cpu_ms"] / rows[0]["clew_cpu_ms"], 2),
            "memory_mib": peak(place / str(sizes[-1]) / "clew.sqlite", url),
            "housekeeping": housekeeping(place / "housekeeping"),
            "agent": command(place / "agent"),
        }


# The server ---------------------------------------------------------------------------------------------------------


def serve() -> None:
    """The server's process: says where it is and answers until its input ends."""
    with ModelServer(script) as here:
        print(here.url, flush=True)
        sys.stdin.read()


@contextmanager
def server() -> Iterator[str]:
    """A server in a process of its own; its URL."""
    command = [sys.executable, "-m", "bench.turn", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        address, end = process.stdout, process.stdin
        yield address.readline().strip() if address else ""
        if end:
            end.close()


def settings(url: str, window: int = 262_144, cached: float = 0.3) -> Row:
    """Settings that lead to the server; `cached` is the price of input from the cache, where other input costs 3."""
    model = {"id": "any", "contextWindow": window, "cost": {"input": 3, "output": 15, "cacheRead": cached}}
    provider = {"baseUrl": f"{url}/v1", "api": API, "apiKey": "none", "models": [model]}
    return {"models": {"providers": {"scripted": provider}}, "agents": {"defaults": {"model": "scripted/any"}}}


def clew_on(store: Store, found: Row) -> Clew:
    """Clew over a store, with such settings and none of this machine's."""
    return Clew(store, Config.model_validate(found), env={})


# CPU ----------------------------------------------------------------------------------------------------------------


async def measured(folder: Path, url: str, size: int, turns: int) -> Row:
    """Clew and both bare loops, one turn each by turns, over a history of so many messages."""
    folder.mkdir(parents=True)
    shown = build(folder / "clew.sqlite", size)
    clew = clew_on(SqliteStore(folder / "clew.sqlite"), settings(url))
    async with clew.converse("k", workspace=folder, tools=[look]) as talk:
        sdk, http = Bare(folder / "sdk.sqlite", url, shown), Bare(folder / "http.sqlite", url, shown)
        kinds: dict[str, Turn] = {"clew": lambda n: talk.say(f"message {n}: {WORDS}"), "sdk": sdk.by_sdk,
                                  "http": http.by_http}  # fmt: skip
        spent: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        for number in range(turns + 2):
            for name, turn in kinds.items():
                spent[name].append(await timed(turn, number))
        await sdk.close()
        await http.close()
    await clew.aclose()
    clew.store.close()
    row: Row = {"messages": size}
    for name, all_of in spent.items():
        row[f"{name}_cpu_ms"] = round(median(cpu for cpu, _ in all_of[2:]) * 1000, 2)
        row[f"{name}_wall_ms"] = round(median(wall for _, wall in all_of[2:]) * 1000, 2)
    row["ratio_sdk"] = round(row["clew_cpu_ms"] / row["sdk_cpu_ms"], 2)
    row["ratio_http"] = round(row["clew_cpu_ms"] / row["http_cpu_ms"], 2)
    return row


async def timed(turn: Turn, number: int) -> tuple[float, float]:
    """CPU and wall seconds of one turn, threads included."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    await turn(number)
    return time.process_time() - cpu, time.perf_counter() - wall


def build(path: Path, size: int) -> list[Message]:
    """A session of so many messages whose newest are the window; the messages the window shows."""
    said = [said_at(n) for n in range(size)]
    drafts = [Draft(f"e{n}", n, Said(one), estimate.message(one)) for n, one in enumerate(said)]
    with SqliteStore(path) as store:
        store.create("k", at=0)
        for first in range(0, size, 1_000):
            store.append("k", drafts[first : first + 1_000])
        start = f"e{size - WINDOW_MESSAGES}"
        store.commit("k", brief("c", start), generation=0, boundary="c", start=start, event="compaction", data={})
    return [user("Brief c"), *said[size - WINDOW_MESSAGES :]]


def said_at(n: int) -> Message:
    """The `n`-th message: by fours a question, a call, its result, an answer."""
    call = Call(f"h{n // 4}", "look", {"number": n // 4})
    made: list[Message] = [
        user(f"question {n}: {WORDS}"), assistant("I look.", call), result(call, look(n)), assistant(WORDS),
    ]  # fmt: skip
    return made[n % 4]


class Bare:
    """The shortest loop there is: a list, an append a message, a request, the tool."""

    def __init__(self, path: Path, url: str, shown: list[Message]) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE said (data TEXT);")
        self.url = f"{url}/v1"
        self.client = openai.AsyncOpenAI(api_key="none", base_url=self.url, max_retries=0)
        self.http = httpx2.AsyncClient()
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief. " * 200}]
        self.messages += [as_sent(message) for message in shown]
        schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
        self.tools: list[Any] = [{"type": "function", "function": {"name": "look", "parameters": schema}}]

    async def close(self) -> None:
        await self.client.close()
        await self.http.aclose()
        self.db.close()

    async def by_sdk(self, number: int) -> None:
        """A turn through the OpenAI SDK, streamed."""
        await self.turn(number, self._sdk)

    async def by_http(self, number: int) -> None:
        """A turn through the HTTP library that the SDK stands on, streamed and read line by line."""
        await self.turn(number, self._http)

    async def turn(self, number: int, ask: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        self.keep({"role": "user", "content": f"message {number}: {WORDS}"})
        while True:
            answer = await ask()
            self.keep(answer)
            for call in answer.get("tool_calls", ()):
                given = json.loads(call["function"]["arguments"])
                self.keep({"role": "tool", "tool_call_id": call["id"], "content": look(**given)})
            if not answer.get("tool_calls"):
                return

    def keep(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self.db.execute("INSERT INTO said VALUES (?)", (json.dumps(message),))

    async def _sdk(self) -> dict[str, Any]:
        asked: Any = {"model": "any", "messages": self.messages, "tools": self.tools, "stream": True}
        chunks = [chunk async for chunk in await self.client.chat.completions.create(**asked)]
        return joined([one.delta.model_dump(exclude_none=True) for chunk in chunks for one in chunk.choices])

    async def _http(self) -> dict[str, Any]:
        asked = {"model": "any", "messages": self.messages, "tools": self.tools, "stream": True}
        deltas: list[dict[str, Any]] = []
        async with self.http.stream("POST", f"{self.url}/chat/completions", json=asked) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    deltas += [choice["delta"] for choice in json.loads(line[6:])["choices"]]
        return joined(deltas)


def joined(deltas: list[dict[str, Any]]) -> dict[str, Any]:
    """A streamed answer as one message."""
    calls: dict[int, dict[str, Any]] = {}
    for call in (call for delta in deltas for call in delta.get("tool_calls") or ()):
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        whole = calls.setdefault(call["index"], empty)
        whole["id"] += call.get("id") or ""
        for field in ("name", "arguments"):
            whole["function"][field] += call["function"].get(field) or ""
    message = {"role": "assistant", "content": "".join(delta.get("content") or "" for delta in deltas)}
    return {**message, "tool_calls": list(calls.values())} if calls else message


def as_sent(message: Message) -> dict[str, Any]:
    """A message of the history as a bare loop would hold it."""
    return messages(Request((message,)))[0]


# Memory -------------------------------------------------------------------------------------------------------------


def peak(path: Path, url: str) -> float:
    """MiB a process took at most that ran turns on this session and did nothing else."""
    command = [sys.executable, "-m", "bench.turn", "--memory", str(path), url]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


async def memory(path: str, url: str) -> float:
    """Run turns; the largest resident size in MiB."""
    clew = clew_on(SqliteStore(path), settings(url))
    async with clew.converse("k", workspace=Path(path).parent, tools=[look]) as talk:
        for number in range(10):
            await talk.say(f"message {number}: {WORDS}")
    await clew.aclose()
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


# Housekeeping -------------------------------------------------------------------------------------------------------


NOTES, BRIEF, APART = "Write down what must outlast it", "handover brief for an agent", "no tools"
"""By which the requests of housekeeping are known."""


def housekeeping(folder: Path) -> Row:
    """What the requests for notes and for a brief share with the conversation, by the server's own cache; of several
    the dearest.

    A brief is asked for at the conversation's end where input from the cache is cheap, and apart from it where not.
    """
    found: Row = {}
    for cached, names in ((0.3, {"notes": NOTES, "a brief": BRIEF}), (3.0, {"a brief, apart": APART})):
        with ModelServer(script, window=WINDOW) as here:
            asyncio.run(filled(folder / f"{cached}", settings(here.url, WINDOW, cached)))
        for name, words in names.items():
            asked = [at for at, one in enumerate(here.requests) if words in kind(one)]
            at = max(asked, key=lambda at: here.requests[at].tokens - here.requests[at].cached)
            found[name] = shared(here.requests[at - 1], here.requests[at])
    return found


def kind(seen: Seen) -> str:
    """What tells a request of housekeeping: the words at its end, or that it offers no tools."""
    return json.dumps(seen.body["messages"][-1]) if seen.body.get("tools") else APART


def shared(before: Seen, seen: Seen) -> Row:
    """A request beside the one before it: tokens in the cache, and bytes of the messages that are the same."""
    one, other = (json.dumps(sent.body["messages"]).encode() for sent in (before, seen))
    alike = server_prefix.shared(one, other)
    return {"tokens": seen.tokens, "new": seen.tokens - seen.cached, "bytes": alike, "bytes_before": len(one)}


async def filled(folder: Path, found: Row) -> None:
    """A conversation that goes on until it has been compacted."""
    folder.mkdir(parents=True)
    clew = clew_on(InMemoryStore(), found)
    async with clew.converse("k", workspace=folder, tools=[look]) as talk:
        for number in range(100):
            await talk.say(f"message {number}: {WORDS}")
            if talk.session.row().generation:
                break
    await clew.aclose()


# The command --------------------------------------------------------------------------------------------------------

BARE_COMMAND = """
import sys, openai
client = openai.OpenAI(api_key="none", base_url=sys.argv[1])
asked = {"model": "any", "messages": [{"role": "user", "content": sys.argv[2]}], "stream": True}
chunks = list(client.chat.completions.create(**asked))
print("".join(one.delta.content or "" for chunk in chunks for one in chunk.choices))
"""


def command(folder: Path) -> Row | None:
    """Seconds of `clew agent --message`, and of a script of the SDK's that asks the same; None without that command."""
    folder.mkdir()
    with ModelServer(lambda seen: Say(WORDS)) as here:
        (folder / "clew.json5").write_text(json.dumps(settings(here.url)))
        env = {**os.environ, "CLEW_HOME": str(folder)}
        clew = [sys.executable, "-m", "clew", "agent", "--message", "hi"]
        bare = [sys.executable, "-c", BARE_COMMAND, f"{here.url}/v1", "hi"]
        if subprocess.run(clew, env=env, cwd=folder, capture_output=True, check=False).returncode:
            return None
        spent: dict[str, list[float]] = {"clew": [], "bare": []}
        for _ in range(COMMANDS):
            for name, line in (("clew", clew), ("bare", bare)):
                began = time.perf_counter()
                subprocess.run(line, env=env, cwd=folder, capture_output=True, check=True)
                spent[name].append(time.perf_counter() - began)
    seconds = {name: round(median(all_of), 3) for name, all_of in spent.items()}
    return {**seconds, "over": round(seconds["clew"] - seconds["bare"], 3)}


def table(found: Row) -> str:
    """The figures in columns."""
    lines = ["  ".join(f"{name:>12}" for name in found["turns"][0])]
    lines += ["  ".join(f"{value:>12,}" for value in row.values()) for row in found["turns"]]
    lines += [f"CPU of a turn, longest history to shortest: {found['flat']}"]
    lines += [f"Memory at most: {found['memory_mib']} MiB"]
    for name, one in found["housekeeping"].items():
        lines.append(f"Request for {name}: {one['tokens']:,} tokens, {one['new']:,} of them not in the cache; shares "
                     f"{one['bytes']:,} of {one['bytes_before']:,} bytes with the request before it")  # fmt: skip
    agent = found["agent"]
    lines.append(
        f"clew agent --message: {agent['clew']} s, a bare script {agent['bare']} s: {agent['over']} s more"
        if agent
        else "SKIPPED: there is no `clew agent --message` here, so what it adds was not measured"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
