"""A session in the format that Pi (v3) and OpenClaw (v4) share; kinds these do not have travel as custom entries."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from clew.clock import iso
from clew.store.archive.field import dumps
from clew.store.archive.pi import OURS, STOPS
from clew.transcript import (
    Assistant,
    Block,
    Body,
    Call,
    Compaction,
    Custom,
    Entry,
    Foreign,
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
    kind_of,
)

VERSIONS = {"pi": 3, "openclaw": 4}
"""The version each of the two writes in its header."""
_STOPS_BACK = {ours: theirs for theirs, ours in STOPS.items()}


def write(entries: Sequence[Entry], meta: dict[str, Any], leaf: str | None, *, format: str) -> Iterator[bytes]:
    """The whole tree as lines. The newest line is where the session goes on."""
    started = entries[0].at if entries else 0
    yield dumps({"type": "session", "version": VERSIONS[format], "id": meta.get("session", "clew"),
                 "timestamp": iso(started), "cwd": meta.get("cwd", "")}) + b"\n"  # fmt: skip
    headers = {entry.id for entry in entries if _is_header(entry.body, format)}
    for entry in entries:
        if entry.id not in headers:
            parent = None if entry.parent in headers else entry.parent
            yield dumps(_line(entry, format, parent)) + b"\n"
    if format == "openclaw" and entries and leaf is not None and leaf != entries[-1].id:
        last = {"type": "leaf", "id": f"leaf-{leaf}", "parentId": leaf, "timestamp": iso(entries[-1].at)}
        yield dumps({**last, "targetId": leaf, "appendParentId": leaf}) + b"\n"


def _is_header(body: Body, format: str) -> bool:
    return isinstance(body, Custom) and body.kind == f"{format}.session"


def _line(entry: Entry, format: str, parent: str | None) -> dict[str, Any]:
    place = {"id": entry.id, "parentId": parent, "timestamp": iso(entry.at)}
    body = entry.body
    if isinstance(body, Said):
        return _said(body.message, place, entry.at)
    if isinstance(body, Compaction):
        kept = {"firstKeptEntryId": body.first_kept} if body.first_kept else {}
        sizes = {"tokensBefore": body.tokens_before, "tokensAfter": body.tokens_after}
        return {"type": "compaction", **place, "summary": body.summary, **kept, **sizes, "details": {"clew": body}}
    if isinstance(body, ModelChange):
        provider, _, model = body.model.rpartition("/")
        return {"type": "model_change", **place, "provider": provider, "modelId": model}
    if isinstance(body, Reset) and format == "openclaw":
        kept = {"firstKeptEntryId": body.first_kept} if body.first_kept else {}
        return {"type": "reset", **place, "reason": body.reason, **kept}
    if isinstance(body, Custom) and body.kind.startswith(f"{format}.") and isinstance(body.data, dict):
        return {**body.data, **place}
    return {"type": "custom", **place, "customType": f"{OURS}{kind_of(body)}", "data": msgspec.to_builtins(body)}


def _said(message: Message, place: dict[str, Any], at: int) -> dict[str, Any]:
    if isinstance(message, User) and message.synthetic:
        content = _blocks(message.blocks)
        return {"type": "custom_message", **place, "customType": "clew", "content": content, "display": False}
    return {"type": "message", **place, "message": {**_message(message), "timestamp": at}}


def _message(message: Message) -> dict[str, Any]:
    if isinstance(message, Shell):
        code = {} if message.exit_code is None else {"exitCode": message.exit_code}
        shell = {"role": "bashExecution", "command": message.command, "output": message.output, **code}
        return {**shell, "cancelled": False, "truncated": False}
    content = _blocks(message.blocks)
    if isinstance(message, ToolResult):
        return {"role": "toolResult", "toolCallId": message.call_id, "toolName": message.tool, "content": content,
                "isError": message.error}  # fmt: skip
    if isinstance(message, Assistant):
        provider, _, model = (message.model or "").rpartition("/")
        return {"role": "assistant", "content": content, "provider": provider, "model": model,
                "usage": _usage(message.usage), "stopReason": _STOPS_BACK.get(message.stop or "", "stop")}  # fmt: skip
    return {"role": "user", "content": content}


def _usage(usage: Usage | None) -> dict[str, int]:
    """Usage with a 0 for what is unknown: readers of this format add the numbers up."""
    known = usage or Usage()
    counts = {"input": known.input or 0, "output": known.output or 0, "cacheRead": known.cache_read or 0,
              "cacheWrite": known.cache_write or 0}  # fmt: skip
    return {**counts, "totalTokens": sum(counts.values())}


def _blocks(blocks: tuple[Block, ...]) -> list[dict[str, Any]]:
    return [_block(block) for block in blocks]


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Call):
        given: Any = block.arguments if block.raw is None else block.raw
        return {"type": "toolCall", "id": block.id, "name": block.name, "arguments": given}
    if isinstance(block, Thinking):
        return _thinking(block)
    if isinstance(block, Media) and block.data is not None:
        return {"type": "image", "data": block.data, "mimeType": block.media_type}
    if isinstance(block, Foreign) and block.kind.startswith("pi."):
        return block.data
    left = block.kind if isinstance(block, Foreign) else f"media {block.url}"
    return {"type": "text", "text": f"[{left} left out]"}


def _thinking(block: Thinking) -> dict[str, Any]:
    raw: dict[str, Any] = {"type": "thinking", "thinking": block.text}
    if block.redacted is not None:
        return {**raw, "thinkingSignature": block.redacted, "redacted": True}
    return {**raw, "thinkingSignature": block.signature} if block.signature else raw
