"""The session format that Pi and OpenClaw share: a header, then entries with ids and parents (or, in Pi's v1, none)."""

from collections.abc import Iterable
from typing import Any

from clew.store.archive.clew_lines import body_in
from clew.store.archive.field import arguments, mapping, moment, string, whole
from clew.store.archive.gather import PREVIOUS, Gather
from clew.store.archive.imported import Imported
from clew.store.archive.source import Content, Item
from clew.transcript import (
    Assistant,
    Block,
    Body,
    Call,
    Compaction,
    Custom,
    Foreign,
    Ledger,
    Media,
    Message,
    ModelChange,
    Reset,
    Said,
    Shell,
    Text,
    Thinking,
    ToolResult,
    Usage,
    User,
    Verdict,
)

STOPS = {"stop": "stop", "length": "length", "toolUse": "tools", "aborted": "aborted", "error": "error"}
"""What a stop reason is called here."""
OURS = "clew."
"""How the names of entries begin that an export made of kinds these formats do not have."""
_KEPT = Custom("kept")
"""The body of a line that is kept as it came."""
HEADER = frozenset({"session"})
CONTROLS = frozenset({"leaf", "label", "session_info", "thinking_level_change", "custom"})
"""Entry types that are no part of the conversation."""
_LINE_FIELDS = frozenset({"type", "id", "parentId", "timestamp", "message", "customType", "content", "summary",
                          "appendMode"})  # fmt: skip
_FIELDS = frozenset({
    "role", "content", "timestamp", "provider", "model", "usage", "stopReason", "toolCallId", "toolName", "isError",
    "command", "output", "exitCode", "excludeFromContext", "customType",
})  # fmt: skip


class Cursor:
    """Where a session stands while its lines are read: the leaf, and what lies below the newest reset."""

    def __init__(self) -> None:
        self.leaf: str | None = None
        self.fresh: set[str] | None = None
        """The reset and its descendants; None while there was none."""
        self.moved = 0

    def parent(self, named: str | None, known: set[str]) -> str | None:
        """The parent of a new entry: the one it names, unless that is unknown or older than the newest reset."""
        if named in known and (self.fresh is None or named in self.fresh):
            return named
        if named is None and self.fresh is None:
            return None
        self.moved += 1
        return self.leaf

    def step(self, name: str, parent: str | None, body: Body, side: bool) -> None:
        """An entry has been added."""
        if isinstance(body, Reset):
            self.fresh = {name}
        elif self.fresh is not None and parent in self.fresh:
            self.fresh.add(name)
        if not side:
            self.leaf = name


def read(content: Content, items: Iterable[Item], *, format: str = "pi", at: int = 0) -> Imported:
    """One session, in any version of the format; `format` is `pi` or `openclaw` and names what is kept as it came."""
    gather, cursor, by_index = Gather(format, content, at=at), Cursor(), dict[int, str]()
    for index, (number, raw) in enumerate(items):
        if not isinstance(raw, dict):
            gather.spoil(number, "a list, not an entry of a session")
            continue
        if raw.get("type") in HEADER:
            _describe(gather, raw)
        by_index[index] = _take(gather, cursor, raw, by_index)
    if cursor.moved:
        gather.warnings.append(f"{cursor.moved} entries named a parent that is unknown or older than the newest reset "
                               "and were attached to the end of the session.")  # fmt: skip
    return gather.finish(cursor.leaf)


def _describe(gather: Gather, raw: dict[str, Any]) -> None:
    gather.note("session", string(raw, "id"))
    gather.note("cwd", string(raw, "cwd"))
    gather.note("version", raw.get("version", 1))
    if string(raw, "modelId"):
        gather.note("model", _model(raw, "modelId"))


def _take(gather: Gather, cursor: Cursor, raw: dict[str, Any], by_index: dict[int, str]) -> str:
    """Add the entry of one line."""
    kind = string(raw, "type")
    body = _body(gather, raw, by_index)
    side = raw.get("appendMode") == "side" or kind in ("leaf", *HEADER)
    linear = "parentId" not in raw or kind in HEADER
    named = string(raw, "parentId") or None
    if kind in HEADER:
        place: dict[str, Any] = {"parent": None, "at": moment(raw), "side": True}
    elif linear:
        place = {"id": string(raw, "id"), "parent": PREVIOUS, "at": moment(raw), "side": side}
    else:
        parent = cursor.parent(named, gather.ids)
        place = {"id": string(raw, "id"), "parent": parent, "at": moment(raw), "side": side}
    if body is _KEPT:
        name = gather.custom(kind, raw, known=_is_known(kind, raw), **place)
    else:
        gather.counts[kind] += 1
        name = gather.add(body, **place)
    cursor.step(name, gather.rows[-1].parent, body, gather.rows[-1].side)
    if kind == "leaf" and raw.get("targetId") in gather.ids:
        cursor.leaf = string(raw, "targetId")
    return name


def _is_known(kind: str, raw: dict[str, Any]) -> bool:
    role = string(mapping(raw, "message"), "role")
    return kind in CONTROLS | HEADER | {"branch_summary", "custom_message"} or role == "bashExecution"


def _body(gather: Gather, raw: dict[str, Any], by_index: dict[int, str]) -> Body:
    """What a line says."""
    kind = string(raw, "type")
    if kind == "message" and (message := _message(gather, mapping(raw, "message"))):
        gather.ignore(raw, _LINE_FIELDS)
        return Said(message)
    if kind == "custom_message" and (blocks := _blocks(raw.get("content"))):
        gather.ignore(raw, _LINE_FIELDS)
        return Said(User(blocks, synthetic=True))
    if kind == "branch_summary" and string(raw, "summary"):
        gather.ignore(raw, _LINE_FIELDS)
        return Said(User((Text(f"Summary of a branch that was left:\n{raw['summary']}"),), synthetic=True))
    if kind == "compaction" and isinstance(raw.get("summary"), str):
        return _compaction(raw, by_index)
    if kind == "reset":
        return Reset(string(raw, "reason") or "new", string(raw, "firstKeptEntryId") or None)
    if kind == "model_change":
        gather.note("model", _model(raw, "modelId"))
        return ModelChange(_model(raw, "modelId"))
    if kind == "session_info":
        gather.note("title", string(raw, "name"))
    return _ours(string(raw, "customType"), raw.get("data")) or _KEPT


def _ours(name: str, data: Any) -> Body | None:
    """The body an export wrapped up, if it did."""
    return body_in(data) if name.startswith(OURS) else None


def _compaction(raw: dict[str, Any], by_index: dict[int, str]) -> Body:
    """A compaction; Pi's v1 names the first kept entry by its index among the lines, header included."""
    ours = _ours(OURS, mapping(raw, "details").get("clew"))
    if isinstance(ours, Compaction) and ours.summary == raw["summary"]:
        return ours
    index = whole(raw, "firstKeptEntryIndex")
    first = by_index.get(index) if index else string(raw, "firstKeptEntryId")
    return Compaction(
        summary=raw["summary"],
        first_kept=first or None,
        tokens_before=whole(raw, "tokensBefore") or 0,
        tokens_after=whole(raw, "tokensAfter") or 0,
        trigger="budget",
        verdict=Verdict("imported"),
        ledger=Ledger(),
    )


def _message(gather: Gather, raw: dict[str, Any]) -> Message | None:
    """The message of a line; None for a role not known and for what the model never saw."""
    role, blocks = string(raw, "role"), _blocks(raw.get("content"))
    if raw.get("excludeFromContext") is True:
        return None
    known = role in ("user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage")
    if known:
        gather.ignore(raw, _FIELDS)
    if role == "user":
        return User(blocks)
    if role == "assistant":
        stop: Any = STOPS.get(string(raw, "stopReason"))
        return Assistant(blocks, _model(raw, "model") or None, _usage(mapping(raw, "usage")), stop)
    if role == "toolResult":
        return ToolResult(string(raw, "toolCallId"), string(raw, "toolName"), blocks, raw.get("isError") is True)
    if role == "bashExecution":
        return Shell(string(raw, "command"), string(raw, "output"), whole(raw, "exitCode"))
    return User(blocks, synthetic=True) if known else None


def _model(raw: dict[str, Any], key: str) -> str:
    return "/".join(part for part in (string(raw, "provider"), string(raw, key)) if part)


def _usage(raw: dict[str, Any]) -> Usage | None:
    usage = Usage(whole(raw, "input"), whole(raw, "output"), whole(raw, "cacheRead"), whole(raw, "cacheWrite"))
    return usage if usage.context else None


def _blocks(content: Any) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    parts = [content] if isinstance(content, dict) else content
    return tuple(_block(part) for part in parts) if isinstance(parts, list) else ()


def _block(raw: Any) -> Block:
    if not isinstance(raw, dict):
        return Text(raw) if isinstance(raw, str) else Foreign("pi.value", {"value": raw})
    kind = string(raw, "type")
    if kind == "text":
        return Text(string(raw, "text"))
    if kind == "thinking":
        redacted = string(raw, "thinkingSignature") if raw.get("redacted") is True else ""
        signature = "" if redacted else string(raw, "thinkingSignature")
        return Thinking(string(raw, "thinking"), signature or None, redacted or None)
    if kind == "toolCall":
        return Call(string(raw, "id"), string(raw, "name"), *arguments(raw.get("arguments")))
    if kind == "image" and string(raw, "data"):
        return Media(string(raw, "mimeType") or "image/*", string(raw, "data"))
    return Foreign(f"pi.{kind}", raw)
