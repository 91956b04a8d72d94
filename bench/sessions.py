"""Recorded sessions as entries, so that a bench can run them through Clew: the event lists and four other formats.

Read in place from `../shared/data` (or where `--data` points); nothing of them is kept in the project.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from clew.transcript import (
    Assistant,
    Block,
    Call,
    Entry,
    Message,
    Said,
    Text,
    Thinking,
    ToolResult,
    User,
)

DATA = Path(__file__).parents[2] / "shared" / "data"
COMPACTIONS = DATA / "claude-code" / "compaction_events.jsonl.gz"


class Recorded(msgspec.Struct, frozen=True):
    """One recorded compaction: what stood before it, the summary that was written, what came after."""

    name: str
    before: tuple[Entry, ...]
    summary: str
    after: tuple[Message, ...]


def lines(path: Path) -> Iterator[Any]:
    """The JSON values of a file with one a line, gzipped or not."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def entries(messages: Iterable[Message], prefix: str = "e") -> tuple[Entry, ...]:
    """Messages as a straight branch."""
    listed = [Said(message) for message in messages]
    return tuple(
        Entry(f"{prefix}{n}", f"{prefix}{n - 1}" if n else None, 1_700_000_000_000 + n * 1000, said)
        for n, said in enumerate(listed)
    )


def event(one: dict[str, Any]) -> Message | None:
    """A line of the event lists as a message; None for a boundary and for a recorded summary."""
    words = (Text(one.get("t") or ""),)
    match one["k"]:
        case "user":
            return User(words)
        case "meta":
            return User(words, synthetic=True)
        case "assistant":
            return Assistant(words)
        case "think":
            return Assistant((Thinking(one.get("t") or ""),))
        case "call":
            return Assistant((Call(one.get("id") or "", one.get("name") or "", one.get("input") or {}),))
        case "result":
            failed = (one.get("t") or "").startswith(("Exit code", "<tool_use_error>", "Error"))
            return ToolResult(one.get("id") or "", one.get("name") or "", words, failed)
        case _:
            return None


def events(listed: Iterable[dict[str, Any]]) -> list[Message]:
    """The messages of an event list."""
    return [message for one in listed if (message := event(one)) is not None]


def compactions(path: Path = COMPACTIONS, *, later_calls: int = 10) -> list[Recorded]:
    """The recorded compactions that at least `later_calls` tool calls follow before the next one."""
    found = []
    for session in lines(path):
        positions = session["summary_positions"]
        for nth, (at, end) in enumerate(pairwise([*positions, len(session["events"])])):
            after = session["events"][at + 1 : end]
            if sum(one["k"] == "call" for one in after) >= later_calls:
                before = entries(events(session["events"][:at]))
                summary = session["events"][at]["t"]
                found.append(Recorded(f"{session['session'][:8]}#{nth + 1}", before, summary, tuple(events(after))))
    return found
