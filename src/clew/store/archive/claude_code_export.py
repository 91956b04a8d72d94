"""A session as Claude Code's lines; kinds that has no line for travel as lines of type `clew`."""

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from clew.clock import iso
from clew.store.archive.anthropic_export import content_out, stop_out, usage_out
from clew.store.archive.claude_code import OURS
from clew.store.archive.field import dumps
from clew.transcript import Assistant, Body, Compaction, Custom, Entry, Message, Said, User, path

_NAMES = uuid.UUID("8f3c1a52-6d0e-5b7a-9a44-0c1e7b2d9f10")
"""The name space of ids made for entries whose own id is no UUID; any fixed one does."""
_BOUNDARY = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "level": "info"}


def write(entries: Sequence[Entry], meta: dict[str, Any], leaf: str | None) -> Iterator[bytes]:
    """The whole tree as lines. Entries off the branch to `leaf` that nothing continues keep their parents."""
    common = {"userType": "external", "cwd": meta.get("cwd", ""), "sessionId": meta.get("session", "clew"),
              "version": meta.get("version", ""), "gitBranch": meta.get("branch", "")}  # fmt: skip
    main = {entry.id for entry in path(entries, leaf)}
    anchors: dict[str | None, str | None] = {None: None}
    last: Body | None = None
    for entry in entries:
        above = anchors.get(entry.parent)
        place = {**common, "parentUuid": above, "isSidechain": entry.id not in main, "uuid": as_uuid(entry.id),
                 "timestamp": iso(entry.at)}  # fmt: skip
        yield from (dumps(line) + b"\n" for line in _lines(entry.body, place, last))
        anchors[entry.id] = above if _is_aside(entry.body) else as_uuid(entry.id)
        last = entry.body


def as_uuid(name: str) -> str:
    """`name` if it is a UUID, else the one made from it: Claude Code knows its lines by UUIDs."""
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return str(uuid.uuid5(_NAMES, name))


def _is_aside(body: Body) -> bool:
    """Whether the line of a body is none that another may name as its parent."""
    if isinstance(body, Custom):
        return not (is_line(body) and "uuid" in body.data)
    return not isinstance(body, Said | Compaction)


def is_line(body: Body | None) -> bool:
    """Whether a body is a line of Claude Code's, kept as it came."""
    return isinstance(body, Custom) and body.kind.startswith("claude-code.") and isinstance(body.data, dict)


def _is_boundary(body: Body | None) -> bool:
    return isinstance(body, Custom) and is_line(body) and body.data.get("subtype") == "compact_boundary"


def _lines(body: Body, place: dict[str, Any], last: Body | None) -> Iterator[dict[str, Any]]:
    if isinstance(body, Said):
        yield _said(body.message, place)
    elif isinstance(body, Compaction):
        if not _is_boundary(last):
            boundary = as_uuid(f"boundary of {place['uuid']}")
            about = {"trigger": "manual" if body.trigger == "manual" else "auto", "preTokens": body.tokens_before}
            yield {**place, **_BOUNDARY, "parentUuid": None, "logicalParentUuid": place["parentUuid"],
                   "uuid": boundary, "compactMetadata": about}  # fmt: skip
            place = {**place, "parentUuid": boundary}
        yield {**place, "type": "user", "message": {"role": "user", "content": body.summary},
               "isVisibleInTranscriptOnly": True, "isCompactSummary": True}  # fmt: skip
    elif isinstance(body, Custom) and is_line(body):
        yield body.data
    else:
        yield {**place, "type": OURS, "body": msgspec.to_builtins(body)}


def _said(message: Message, place: dict[str, Any]) -> dict[str, Any]:
    role, content = content_out(message)
    if isinstance(message, Assistant):
        about = {"model": message.model or "", "stop_reason": stop_out(message.stop), "usage": usage_out(message.usage)}
        said = {"id": f"msg_{place['uuid']}", "type": "message", "role": role, "content": content, **about}
        return {**place, "type": "assistant", "message": said}
    meta = {"isMeta": True} if isinstance(message, User) and message.synthetic else {}
    return {**place, "type": "user", **meta, "message": {"role": role, "content": content}}
