"""Claude Code's session files: a tree of lines, one content block a line, compactions as a boundary and a summary."""

from collections import Counter
from itertools import pairwise
from typing import Any

from clew.store.archive.anthropic import messages_in, said_by
from clew.store.archive.clew_lines import body_in
from clew.store.archive.field import listing, mapping, moment, string, whole
from clew.store.archive.gather import PREVIOUS, Gather
from clew.store.archive.imported import Imported
from clew.store.archive.lineage import Row, branch, tip
from clew.store.archive.source import Content, Item
from clew.transcript import (
    Assistant,
    Body,
    Compaction,
    Ledger,
    Message,
    Said,
    Text,
    ToolResult,
    User,
    Verdict,
    calls_of,
    text_of,
)

KEPT_AS_CAME = frozenset({
    "summary", "file-history-snapshot", "system", "progress", "attachment", "queue-operation", "custom-title",
    "ai-title", "last-prompt", "agent-name", "agent-color", "agent-setting", "permission-mode", "mode", "tag",
    "pr-link", "worktree-state", "attribution-snapshot", "result", "started",
})  # fmt: skip
"""Line types that are no messages: kept as custom entries."""
OURS = "clew"
"""The type of the lines that an export made of entries Claude Code has no line for."""
_CHAIN = frozenset({"user", "assistant", "system", "attachment"})
"""Types a session can go on from."""
_FIELDS = frozenset({
    "type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "isMeta", "isCompactSummary", "timestamp",
    "message", "isVisibleInTranscriptOnly", "isApiErrorMessage", "sessionId", "cwd", "version", "gitBranch", "slug",
})  # fmt: skip
"""Fields of a message line that an entry or the session's facts take up."""
_REJOINED = "{n} entries of parallel tool calls hung beside the main line and were put back into it."


def read(content: Content, *, at: int = 0) -> Imported:
    """One session file, or the file of one subagent."""
    gather = Gather("claude-code", content, at=at)
    lines = [Item(number, raw) for number, raw in content.items if isinstance(raw, dict)]
    for number, raw in content.items:
        if not isinstance(raw, dict):
            gather.spoil(number, "a list, not a line of a session")
    reading = _Reading(gather, lines)
    for number, raw in lines:
        _describe(gather, raw)
        reading.take(number, raw)
    _rejoin(gather, reading.turns)
    return gather.finish()


class _Reading:
    """What the lines so far tell about those to come."""

    def __init__(self, gather: Gather, lines: list[Item]) -> None:
        self.gather = gather
        self.last = {_turn(raw): number for number, raw in lines}
        """The last line of each model message: what it reports as usage stands for the whole message."""
        self.alone = all(raw.get("isSidechain") is True for _, raw in lines if "uuid" in raw)
        """Whether this is a subagent's own file, whose side line is the main one."""
        self.boundaries: dict[str, dict[str, Any]] = {}
        self.tools: dict[str, str] = {}
        self.turns: dict[str, str] = {}
        self.instead: dict[str, str] = {}
        """Parent to the entry of an export's own line that came between it and what follows it."""

    def take(self, number: int, raw: dict[str, Any]) -> None:
        """Add the entries of one line."""
        kind, uuid, gather, place = string(raw, "type"), string(raw, "uuid"), self.gather, self.place(raw)
        if kind == "system" and raw.get("subtype") == "compact_boundary":
            self.boundaries[uuid] = raw
        if kind == "user" and raw.get("isCompactSummary") is True:
            gather.counts["compact-summary"] += 1
            gather.add(_compaction(raw, self.boundaries.get(string(raw, "parentUuid"), {})), **place)
        elif kind == OURS and (body := body_in(raw.get("body"))):
            gather.counts[kind] += 1
            self.instead[string(raw, "parentUuid")] = gather.add(body, **{**place, "side": False})
        elif (said := _messages(raw, self.tools, self.last.get(_turn(raw)) == number)) is not None:
            gather.counts[kind] += 1
            gather.ignore(raw, _FIELDS)
            self.turns[_add_all(gather, place, said)] = _turn(raw)
        else:
            gather.custom(kind, raw, known=kind in KEPT_AS_CAME, **place)

    def place(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Id, parent, time and side of a line's entry. A line outside the tree hangs beside the one before."""
        kind, uuid = string(raw, "type"), string(raw, "uuid")
        outside = not uuid or "parentUuid" not in raw
        aside = raw.get("isSidechain") is True and not self.alone
        parent = string(raw, "parentUuid") or string(raw, "logicalParentUuid") or None
        parent = PREVIOUS if outside else self.instead.get(parent or "", parent)
        return {"id": uuid, "parent": parent, "at": moment(raw), "side": aside or kind not in _CHAIN or outside}


def _describe(gather: Gather, raw: dict[str, Any]) -> None:
    for key, field in (("session", "sessionId"), ("cwd", "cwd"), ("version", "version"), ("branch", "gitBranch")):
        gather.note(key, string(raw, field))
    model = string(mapping(raw, "message"), "model")
    gather.note("model", "" if model.startswith("<") else model)
    titles = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
    gather.note("title", string(raw, titles.get(string(raw, "type"), "")))


def _turn(raw: dict[str, Any]) -> str:
    """The model's own id of the message a line belongs to: one message may be spread over several lines."""
    return string(mapping(raw, "message"), "id") if raw.get("type") == "assistant" else ""


def _compaction(raw: dict[str, Any], boundary: dict[str, Any]) -> Compaction:
    about = mapping(boundary, "compactMetadata")
    words = next(messages_in("user", mapping(raw, "message").get("content"), {}))
    kept = mapping(about, "preservedSegment")
    return Compaction(
        summary=text_of(words),
        first_kept=string(kept, "headUuid") or None,
        tokens_before=whole(about, "preTokens") or 0,
        tokens_after=whole(about, "postTokens") or 0,
        trigger="manual" if about.get("trigger") == "manual" else "budget",
        verdict=Verdict("imported"),
        ledger=Ledger(),
    )


def _messages(raw: dict[str, Any], tools: dict[str, str], is_last: bool) -> list[Message] | None:
    """The messages of a line, or None if it carries none."""
    kind, message = string(raw, "type"), mapping(raw, "message")
    if kind == "user" and "content" in message:
        meta = raw.get("isMeta") is True or raw.get("isVisibleInTranscriptOnly") is True
        return list(messages_in("user", message["content"], tools, synthetic=meta))
    if kind == "assistant" and "content" in message:
        return list(messages_in("assistant", message["content"], tools, **_said_by(raw, message, is_last)))
    if kind == "attachment":
        return _attached(mapping(raw, "attachment"), tools)
    return None


def _said_by(raw: dict[str, Any], message: dict[str, Any], is_last: bool) -> dict[str, Any]:
    more = said_by(message)
    if string(message, "model").startswith("<"):
        more["model"] = None
    if raw.get("isApiErrorMessage") is True:
        more["stop"] = "error"
    return more if is_last or not string(message, "id") else {**more, "usage": None}


def _attached(raw: dict[str, Any], tools: dict[str, str]) -> list[Message] | None:
    """What an attachment said in the user's place: a prompt typed while the model was busy, or a hook's output."""
    kind = string(raw, "type")
    if kind == "queued_command" and raw.get("prompt"):
        return list(messages_in("user", raw["prompt"], tools, synthetic=raw.get("commandMode") == "task-notification"))
    parts = [part for part in [string(raw, "content"), *listing(raw, "content")] if isinstance(part, str) and part]
    if kind.startswith("hook_") and parts:
        return [User(tuple(Text(part) for part in parts), synthetic=True)]
    return None


def _add_all(gather: Gather, place: dict[str, Any], messages: list[Message]) -> str:
    """One entry a message; the last one has the line's id, because the lines after it name that as their parent."""
    for message in messages[:-1]:
        place["parent"] = gather.add(Said(message), **{**place, "id": ""})
    return gather.add(Said(messages[-1]), **place)


def _rejoin(gather: Gather, turns: dict[str, str]) -> None:
    """Put parallel calls and their results back into the main line.

    Each call of one answer is a line under the line before it, each result a line under its call: the chain of
    parents passes one of them only, and the others, though the model saw them, would look like abandoned branches.
    """
    order = {row.id: index for index, row in enumerate(gather.rows)}
    main = branch({row.id: row for row in gather.rows}, tip(gather.rows))
    places = [order[row.id] for row in main]
    lost = [] if places != sorted(places) else _lost(gather.rows, main, turns)
    joined, names = sorted([*main, *lost], key=lambda row: order[row.id]), {row.id for row in lost}
    for before, row in pairwise(joined):
        if before.id in names or row.id in names:
            row.parent = before.id
    if lost:
        gather.warnings.append(_REJOINED.format(n=len(lost)))


def _lost(rows: list[Row], main: list[Row], turns: dict[str, str]) -> list[Row]:
    """The rows off the main line that belong to answers on it."""
    names, spoken = {row.id for row in main}, {turn for row in main if (turn := turns.get(row.id))}
    off = [row for row in rows if row.id not in names and not row.side]
    answers = [row for row in off if turns.get(row.id) in spoken]
    asked = Counter(call.id for row in [*main, *answers] for call in _calls(row.body))
    asked.subtract(message.call_id for row in main if (message := _result(row.body)))
    results = []
    for row in off:
        message = _result(row.body)
        if message and asked[message.call_id] > 0:
            asked[message.call_id] -= 1
            results.append(row)
    return [*answers, *results]


def _calls(body: Body) -> list[Any]:
    return list(calls_of(body.message)) if isinstance(body, Said) and isinstance(body.message, Assistant) else []


def _result(body: Body) -> ToolResult | None:
    return body.message if isinstance(body, Said) and isinstance(body.message, ToolResult) else None
