"""A branch as OpenAI chat messages."""

from collections.abc import Iterator, Sequence
from typing import Any

from clew.store.archive.anthropic_export import SYSTEMS, system_text
from clew.store.archive.field import dumps
from clew.transcript import (
    Assistant,
    Block,
    Call,
    Compaction,
    Custom,
    Entry,
    Foreign,
    Media,
    Message,
    Said,
    Shell,
    Text,
    Thinking,
    ToolResult,
    brief_text,
    calls_of,
    shell_text,
)


def write(branch: Sequence[Entry]) -> Iterator[bytes]:
    """A branch as `{"messages": […]}`, a message a line."""
    yield b'{"messages":[\n'
    first = True
    for entry in branch:
        raw = _entry_out(entry)
        if raw is not None:
            yield (b"" if first else b",\n") + dumps(raw)
            first = False
    yield b"\n]}\n"


def _entry_out(entry: Entry) -> Any:
    body = entry.body
    if isinstance(body, Said):
        return message_out(body.message)
    if isinstance(body, Compaction):
        return {"role": "user", "content": brief_text(body.summary)}
    if isinstance(body, Custom) and body.kind.startswith("openai.") and isinstance(body.data, dict):
        return body.data
    if isinstance(body, Custom) and body.kind in SYSTEMS:
        return {"role": "system", "content": system_text(body.data)}
    return None


def message_out(message: Message) -> dict[str, Any]:
    """A message as a chat message."""
    if isinstance(message, Assistant):
        return _assistant_out(message)
    if isinstance(message, ToolResult):
        named = {"name": message.tool} if message.tool else {}
        return {"role": "tool", "tool_call_id": message.call_id, **named, "content": _content_out(message.blocks)}
    if isinstance(message, Shell):
        return {"role": "user", "content": shell_text(message)}
    return {"role": "user", "content": _content_out(message.blocks)}


def _assistant_out(message: Assistant) -> dict[str, Any]:
    words = tuple(block for block in message.blocks if not isinstance(block, Thinking | Call))
    raw: dict[str, Any] = {"role": "assistant", "content": _content_out(words) if words else None}
    thought = "\n".join(block.text for block in message.blocks if isinstance(block, Thinking) and block.text)
    if thought:
        raw["reasoning_content"] = thought
    calls = [_call_out(call) for call in calls_of(message)]
    if calls:
        raw["tool_calls"] = calls
    return raw


def _call_out(call: Call) -> dict[str, Any]:
    given = dumps(call.arguments).decode() if call.raw is None else call.raw
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": given}}


def _content_out(blocks: tuple[Block, ...]) -> str | list[dict[str, Any]]:
    if len(blocks) == 1 and isinstance(blocks[0], Text):
        return blocks[0].text
    return [_part_out(block) for block in blocks] if blocks else ""


def _part_out(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Media):
        return _media_out(block)
    if isinstance(block, Foreign) and block.kind.startswith("openai.") and "type" in block.data:
        return block.data
    kind = block.kind if isinstance(block, Foreign) else type(block).__name__.lower()
    return {"type": "text", "text": f"[{kind} block left out]"}


def _media_out(media: Media) -> dict[str, Any]:
    if media.data is None:
        return {"type": "image_url", "image_url": {"url": media.url or ""}}
    if media.media_type.startswith("audio/"):
        audio = {"data": media.data, "format": media.media_type.removeprefix("audio/")}
        return {"type": "input_audio", "input_audio": audio}
    url = f"data:{media.media_type};base64,{media.data}"
    if media.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": media.name or "file", "file_data": url}}
