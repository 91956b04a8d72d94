"""OpenAI chat messages: one as a message, and a list of them as a session."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from clew.store.archive.field import arguments, mapping, moment, objects, string
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
    User,
    calls_of,
)

_FIELDS = frozenset({
    "role", "content", "tool_calls", "function_call", "tool_call_id", "tool_call_ids", "refusal", "reasoning_content",
    "reasoning", "name", "model", "timestamp",
})  # fmt: skip
SETUP = ("system", "developer")
"""The roles whose messages are kept as custom entries: a prompt is assembled anew for each request."""


def parts_in(content: Any) -> tuple[Block, ...]:
    """The blocks of a message's content: text, or a list of parts."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(_part_in(part) for part in content) if isinstance(content, list) else ()


def _part_in(raw: Any) -> Block:
    if not isinstance(raw, dict):
        return Text(raw) if isinstance(raw, str) else Foreign("openai.value", {"value": raw})
    kind = string(raw, "type")
    if kind in ("text", "input_text", "output_text", "refusal"):
        return Text(string(raw, "text") or string(raw, "refusal"))
    if kind in ("image_url", "input_image"):
        return image_in(string(mapping(raw, "image_url"), "url") or string(raw, "image_url"))
    if kind == "input_audio" and (audio := mapping(raw, "input_audio")):
        return Media(f"audio/{string(audio, 'format') or '*'}", string(audio, "data"))
    if kind == "file" and (file := mapping(raw, "file")) and string(file, "file_data"):
        return msgspec.structs.replace(image_in(string(file, "file_data")), name=string(file, "filename") or None)
    return Foreign(f"openai.{kind}", raw)


def image_in(url: str) -> Media:
    """The media an address or a `data:` URL stands for."""
    head, comma, data = url.partition(",")
    if head.startswith("data:") and head.endswith(";base64") and comma:
        return Media(head.removeprefix("data:").removesuffix(";base64") or "image/*", data)
    return Media("image/*", url=url)


def message_in(raw: dict[str, Any], tools: dict[str, str]) -> Message | None:
    """The message a chat message stands for, or None if its role is none of a conversation's.

    `tools` maps call ids to tool names and learns the calls met.
    """
    role = string(raw, "role")
    if role == "user":
        blocks = parts_in(raw.get("content"))
        return User(blocks, synthetic=is_synthetic(blocks))
    if role == "assistant":
        said = Assistant((*_words_in(raw), *_calls_in(raw)), string(raw, "model") or None)
        tools.update((call.id, call.name) for call in calls_of(said))
        return said
    if role in ("tool", "function"):
        ids = [id for id in (raw.get("tool_call_ids") or []) if isinstance(id, str)]
        call = string(raw, "tool_call_id") or next(iter(ids), "") or string(raw, "name")
        return ToolResult(call, string(raw, "name") or tools.get(call, ""), parts_in(raw.get("content")))
    return None


def _words_in(raw: dict[str, Any]) -> Iterator[Block]:
    thought = string(raw, "reasoning_content") or string(raw, "reasoning")
    if thought:
        yield Thinking(thought)
    yield from parts_in(raw.get("content"))
    if string(raw, "refusal"):
        yield Text(string(raw, "refusal"))


def _calls_in(raw: dict[str, Any]) -> Iterator[Call]:
    for call in objects(raw, "tool_calls"):
        function = mapping(call, "function") or mapping(call, "custom")
        given = function.get("arguments", function.get("input"))
        yield Call(string(call, "id"), string(function, "name"), *arguments(given))
    if legacy := mapping(raw, "function_call"):
        yield Call(string(legacy, "name"), string(legacy, "name"), *arguments(legacy.get("arguments")))


def read(content: Content, messages: Sequence[Item], *, at: int = 0) -> Imported:
    """A list of chat messages, one item each."""
    gather, tools = Gather("openai", content, at=at), dict[str, str]()
    if isinstance(content.document, dict):
        gather.note("model", content.document.get("model"))
        gather.ignore(content.document, {"messages", "traj", "model"})
    for _, raw in messages:
        take(gather, raw, tools)
    return gather.finish()


def take(gather: Gather, raw: Any, tools: dict[str, str]) -> None:
    """Add one chat message to an import."""
    role = string(raw, "role") if isinstance(raw, dict) else ""
    message = message_in(raw, tools) if isinstance(raw, dict) else None
    if message is None:
        gather.custom(role, raw, known=role in SETUP)
        return
    gather.counts[role] += 1
    gather.ignore(raw, _FIELDS)
    gather.add(Said(message), at=moment(raw))
