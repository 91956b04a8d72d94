"""Recorded sessions as entries, so that a bench can run them through Clew: the event lists and four other formats.

Read in place from `../shared/data` (or where `--data` points); nothing of them is kept in the project.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
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
    blocks_of,
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


def recorded(path: Path = COMPACTIONS) -> list[Recorded]:
    """What a file holds: its recorded compactions, or, where it has none, each session cut at three places."""
    if path.suffix == ".gz":
        return compactions(path)
    held = [(f"{nth}", listed) for nth, listed in enumerate(conversations(path)) if listed]
    return [parted(f"{nth}#{part}", listed, part) for nth, listed in held for part in (0.4, 0.6, 0.8)]


def parted(name: str, listed: Sequence[Message], part: float) -> Recorded:
    """A session as if it had been compacted after `part` of its calls."""
    calling = [at for at, message in enumerate(listed) if any(isinstance(b, Call) for b in blocks_of(message))]
    cut = calling[int(len(calling) * part)] if calling else len(listed)
    return Recorded(name, entries(listed[:cut]), "", tuple(listed[cut:]))


def conversations(path: Path) -> Iterator[list[Message]]:
    """The sessions of a file: Pi lines, τ-bench runs, a SWE-agent trajectory, OpenHands runs."""
    if path.suffix == ".traj":
        yield chat(json.loads(path.read_text(encoding="utf-8"))["history"])
        return
    listed = list(lines(path))
    if listed and "traj" in listed[0]:
        yield from (chat(run["traj"]) for run in listed)
    elif listed and "history" in listed[0]:
        yield from (steps(run["history"]) for run in listed)
    else:
        yield chat([line["message"] for line in listed if line.get("type") == "message"])


def chat(listed: Iterable[dict[str, Any]]) -> list[Message]:
    """Messages in OpenAI's or Pi's form; a system prompt is left out."""
    return [message for one in listed if (message := _chat(one)) is not None]


def _chat(one: dict[str, Any]) -> Message | None:
    blocks = _blocks(one)
    match one["role"]:
        case "user":
            return User(blocks)
        case "assistant":
            return Assistant(blocks)
        case "tool" | "toolResult":
            ids = one.get("tool_call_ids") or [""]
            where = one.get("tool_call_id") or one.get("toolCallId") or ids[0]
            name = one.get("name") or one.get("toolName") or ""
            return ToolResult(where, name, blocks, bool(one.get("isError")))
        case _:
            return None


def _blocks(one: dict[str, Any]) -> tuple[Block, ...]:
    content = one.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks: list[Block] = [Text(part["text"]) for part in parts if part.get("type") == "text" and part["text"]]
    blocks += [Call(part["id"], part["name"], part["arguments"]) for part in parts if part.get("type") == "toolCall"]
    for call in one.get("tool_calls") or ():
        given = call["function"]["arguments"]
        blocks.append(
            Call(call["id"], call["function"]["name"], json.loads(given) if isinstance(given, str) else given)
        )
    return tuple(blocks)


def steps(history: Iterable[dict[str, Any]]) -> list[Message]:
    """OpenHands' actions and observations as messages."""
    found: list[Message] = []
    for one in history:
        words = (Text(str(one.get("content") or (one.get("args") or {}).get("content") or "")),)
        call = one.get("tool_call_metadata") or {}
        if one.get("source") == "user" and one.get("action") == "message":
            found.append(User(words))
        elif one.get("action") and call:
            found.append(Assistant((Call(call["tool_call_id"], call["function_name"], one.get("args") or {}),)))
        elif one.get("observation") and call:
            found.append(ToolResult(call["tool_call_id"], call["function_name"], words))
    return found
