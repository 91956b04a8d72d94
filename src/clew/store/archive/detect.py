"""Which format a file is in, judged by what its values look like, never by its name."""

from collections.abc import Iterable, Sequence
from typing import Any

from clew.errors import BadInput
from clew.store.archive import anthropic, clew_lines, codex
from clew.store.archive.field import listing, mapping, objects, string
from clew.store.archive.source import SQLITE, Content, Item, fetch, parse, refuse, unpack

_CLAUDE = {"parentUuid", "leafUuid", "sessionId", "isSidechain", "messageId"}
_PI = frozenset({
    "message", "compaction", "model_change", "thinking_level_change", "custom_message", "branch_summary", "label",
    "custom", "session_info", "reset", "leaf",
})  # fmt: skip
_CHAT = ("messages", "traj", "conversation")
"""The names of a list of chat messages in an object."""


def detect(head: bytes | str) -> str:
    """The format of a file by its contents or its beginning (whole lines, or the whole document).

    Raises BadInput if it is none that Clew reads.
    """
    data = unpack(fetch(head), [])
    if data.startswith(SQLITE):
        return "openclaw"
    try:
        return of_content(parse(data))
    except BadInput:
        found = _by_mark(data)
        if not found:
            raise
        return found


_MARKS = (
    (b'"trajectory"', "swe-agent"),
    (b'"tool_use"', "anthropic"),
    (b'"tool_result"', "anthropic"),
    (b'"role"', "openai"),
)
"""What gives away a document that is cut off, the surest first."""


def _by_mark(data: bytes) -> str:
    """The format of the beginning of a document, or nothing."""
    if not data.lstrip().startswith((b"{", b"[")):
        return ""
    return next((name for mark, name in _MARKS if mark in data), "")


def of_content(content: Content) -> str:
    """The format of parsed contents. Raises BadInput if it is none that Clew reads."""
    for _, value in content.items[:200]:
        found = of_list(value) if isinstance(value, list) else _of_object(value)
        if found == "chat":
            return _dialect(value for _, value in content.items)
        if found:
            return found
    raise refuse("The file holds JSON, but no session in a format that is known.")


def of_list(values: list[Any]) -> str:
    """The format of a list that is a document or a line: chat messages, or nothing known."""
    messages = [value for value in values if isinstance(value, dict) and "role" in value]
    return _dialect(messages) if messages else ""


def _of_object(raw: dict[str, Any]) -> str:
    kind = string(raw, "type")
    if kind == clew_lines.HEADER or "type" in mapping(mapping(raw, "entry"), "body"):
        return "clew"
    if kind == "session":
        version = raw.get("version", 1)
        return "openclaw" if isinstance(version, int) and version >= 4 else "pi"
    for test, name in _TESTS:
        if test(raw, kind):
            return name
    if rows := chat_in(raw):
        return "anthropic" if raw.get("system") else _dialect(rows)
    return "chat" if "role" in raw else ""


def _is_claude(raw: dict[str, Any], kind: str) -> bool:
    return bool(kind) and bool(_CLAUDE & raw.keys())


def _is_codex(raw: dict[str, Any], kind: str) -> bool:
    if kind in codex.LINES:
        return "payload" in raw
    old = {"id", "timestamp", "instructions"} <= raw.keys() or "record_type" in raw
    return old or (kind in codex.ITEMS and ("message" not in raw))


def _is_pi(raw: dict[str, Any], kind: str) -> bool:
    return kind in _PI and "timestamp" in raw


def _is_openhands(raw: dict[str, Any], kind: str) -> bool:
    return any("action" in event or "observation" in event for event in objects(raw, "history")[:5])


_TESTS = (
    (lambda raw, kind: isinstance(raw.get("events"), list), "events"),
    (_is_claude, "claude-code"),
    (_is_pi, "pi"),
    (_is_codex, "codex"),
    (lambda raw, kind: "trajectory" in raw and isinstance(raw.get("history"), list), "swe-agent"),
    (_is_openhands, "openhands"),
)
"""What gives a format away, the surest first."""


def chat_in(raw: dict[str, Any]) -> list[Any]:
    """The chat messages an object holds, under any of the names in use."""
    return next((found for name in _CHAT if (found := listing(raw, name))), [])


def _dialect(messages: Iterable[Any]) -> str:
    ours = any(anthropic.is_ours(message) for message in messages if isinstance(message, dict))
    return "anthropic" if ours else "openai"


def conversations(content: Content) -> list[tuple[Any, Sequence[Item]]]:
    """The conversations in a file of chat messages: the object each is in (or None), and its messages."""
    found: list[tuple[Any, Sequence[Item]]] = []
    loose: list[Item] = []
    for number, value in content.items:
        rows = value if isinstance(value, list) else chat_in(value)
        if rows:
            found.append((value, [Item(place, row) for place, row in enumerate(rows, 1)]))
        else:
            loose.append(Item(number, value))
    return [*found, (None, loose)] if loose else found
