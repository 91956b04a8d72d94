"""Anthropic messages: content as blocks, and a list of messages as a session."""

from collections.abc import Iterator, Sequence
from typing import Any

from clew.store.archive.field import arguments, mapping, moment, objects, string, whole
from clew.store.archive.gather import Gather
from clew.store.archive.harness import is_synthetic
from clew.store.archive.imported import Imported
from clew.store.archive.source import Content, Item
from clew.transcript import (
    Assistant,
    Block,
    Call,
    Foreign,
    Media,
    Message,
    Said,
    Text,
    Thinking,
    ToolResult,
    Usage,
    User,
)

STOPS = {
    "end_turn": "stop", "stop_sequence": "stop", "refusal": "stop", "max_tokens": "length", "tool_use": "tools",
    "model_context_window_exceeded": "length",
}  # fmt: skip
"""What a stop reason is called here."""
RAW = "__raw__"
"""The one argument of an exported call whose arguments were no JSON object."""
_FIELDS = frozenset({"role", "content", "id", "model", "usage", "stop_reason", "type", "timestamp"})


def blocks_in(content: Any) -> tuple[Block, ...]:
    """The blocks of a message's or a result's content: text, or a list of blocks and texts."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if isinstance(content, dict):
        content = [content]
    return tuple(_block_in(item) for item in content) if isinstance(content, list) else ()


def _block_in(raw: Any) -> Block:
    if not isinstance(raw, dict):
        return Text(raw) if isinstance(raw, str) else Foreign("anthropic.value", {"value": raw})
    kind = string(raw, "type")
    if kind == "text":
        return Text(string(raw, "text"))
    if kind == "thinking":
        return Thinking(string(raw, "thinking"), string(raw, "signature") or None)
    if kind == "redacted_thinking":
        return Thinking("", redacted=string(raw, "data"))
    if kind == "tool_use":
        return _call_in(raw)
    return _media_in(raw) or Foreign(f"anthropic.{kind}", raw)


def _call_in(raw: dict[str, Any]) -> Call:
    given = raw.get("input")
    if isinstance(given, dict) and set(given) == {RAW}:
        return Call(string(raw, "id"), string(raw, "name"), {}, str(given[RAW]))
    return Call(string(raw, "id"), string(raw, "name"), *arguments(given))


def _media_in(raw: dict[str, Any]) -> Media | None:
    """An image or document whose bytes or address are there."""
    kind, source = string(raw, "type"), mapping(raw, "source")
    if kind not in ("image", "document") or string(source, "type") not in ("base64", "url"):
        return None
    media_type = string(source, "media_type") or ("image/*" if kind == "image" else "application/pdf")
    return Media(
        media_type, string(source, "data") or None, string(source, "url") or None, string(raw, "title") or None
    )


def messages_in(role: str, content: Any, tools: dict[str, str], **more: Any) -> Iterator[Message]:
    """The messages one Anthropic message stands for: its results apart from the words around them.

    `tools` maps call ids to tool names and learns the calls met. `more` goes to the user or assistant message.
    """
    if role == "assistant":
        said = Assistant(blocks_in(content), **more)
        tools.update((block.id, block.name) for block in said.blocks if isinstance(block, Call))
        yield said
        return
    words: list[Any] = []
    parts = content if isinstance(content, list) else [content] if content else []
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            if words:
                yield _user(words, **more)
                words = []
            yield _result_in(part, tools)
        else:
            words.append(part)
    if words or not parts:
        yield _user(words, **more)


def _user(words: list[Any], *, synthetic: bool = False) -> User:
    blocks = blocks_in(words)
    return User(blocks, synthetic=synthetic or is_synthetic(blocks))


def _result_in(raw: dict[str, Any], tools: dict[str, str]) -> ToolResult:
    call = string(raw, "tool_use_id")
    return ToolResult(call, tools.get(call, ""), blocks_in(raw.get("content")), raw.get("is_error") is True)


def usage_in(raw: dict[str, Any]) -> Usage | None:
    """The usage of a message, or None if it reports nothing."""
    usage = Usage(
        input=whole(raw, "input_tokens"),
        output=whole(raw, "output_tokens"),
        cache_read=whole(raw, "cache_read_input_tokens"),
        cache_write=whole(raw, "cache_creation_input_tokens"),
    )
    return usage if usage.context else None


def read(content: Content, messages: Sequence[Item], *, at: int = 0) -> Imported:
    """A list of messages, one item each; a `system` beside them in the document is kept as a custom entry."""
    gather, tools = Gather("anthropic", content, at=at), dict[str, str]()
    if isinstance(content.document, dict):
        document = content.document
        gather.note("model", document.get("model"))
        gather.ignore(document, {"messages", "system", "model"})
        if document.get("system"):
            gather.custom("system", document["system"])
    for number, raw in messages:
        role = string(raw, "role") if isinstance(raw, dict) else ""
        if role not in ("user", "assistant"):
            gather.custom(role, raw, known=role == "system")
            continue
        gather.counts[role] += 1
        gather.ignore(raw, _FIELDS)
        if not isinstance(raw.get("content"), str | list):
            gather.warnings.append(f"Message {number} has no content.")
        more = said_by(raw) if role == "assistant" else {}
        for message in messages_in(role, raw.get("content"), tools, **more):
            gather.add(Said(message), at=moment(raw))
    return gather.finish()


def said_by(raw: dict[str, Any]) -> dict[str, Any]:
    """Model, usage and stop reason of an assistant message."""
    return {
        "model": string(raw, "model") or None,
        "usage": usage_in(mapping(raw, "usage")),
        "stop": STOPS.get(string(raw, "stop_reason")),
    }


def is_ours(message: dict[str, Any]) -> bool:
    """Whether a chat message can only be one of Anthropic's."""
    kinds = {block.get("type") for block in objects(message, "content")}
    return bool(kinds & {"tool_use", "tool_result", "thinking", "redacted_thinking", "document"}) or any(
        "source" in block for block in objects(message, "content")
    )
