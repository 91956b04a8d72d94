"""A branch as Anthropic messages."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from clew.store.archive.anthropic import RAW, blocks_in
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
    ToolResult,
    Usage,
    brief_text,
    shell_text,
)

_STOPS_BACK = {"stop": "end_turn", "length": "max_tokens", "tools": "tool_use"}


def blocks_out(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Blocks as Anthropic content. A foreign block of another format becomes a text that says so."""
    return [_block_out(block) for block in blocks]


def _block_out(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Call):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": _input_out(block)}
    if isinstance(block, Media):
        return _media_out(block)
    if isinstance(block, Foreign):
        ours = block.kind.startswith("anthropic.") and "type" in block.data
        return block.data if ours else {"type": "text", "text": f"[{block.kind} block left out]"}
    if block.redacted is not None:
        return {"type": "redacted_thinking", "data": block.redacted}
    return {"type": "thinking", "thinking": block.text, "signature": block.signature or ""}


def _input_out(call: Call) -> dict[str, Any]:
    return call.arguments if call.raw is None else {RAW: call.raw}


def _media_out(media: Media) -> dict[str, Any]:
    kind = "image" if media.media_type.startswith("image/") else "document"
    named = {"title": media.name} if media.name and kind == "document" else {}
    if media.data is None:
        return {"type": kind, "source": {"type": "url", "url": media.url or ""}, **named}
    return {"type": kind, "source": {"type": "base64", "media_type": media.media_type, "data": media.data}, **named}


def result_out(message: ToolResult) -> dict[str, Any]:
    """A result as a content block; a result that is one text is written as a string."""
    plain = len(message.blocks) == 1 and isinstance(message.blocks[0], Text)
    content = message.blocks[0].text if plain and isinstance(message.blocks[0], Text) else blocks_out(message.blocks)
    error = {"is_error": True} if message.error else {}
    return {"type": "tool_result", "tool_use_id": message.call_id, "content": content, **error}


def usage_out(usage: Usage | None) -> dict[str, int]:
    """Usage under Anthropic's names; what is unknown is left out."""
    if usage is None:
        return {}
    named = {"input_tokens": usage.input, "output_tokens": usage.output,
             "cache_creation_input_tokens": usage.cache_write, "cache_read_input_tokens": usage.cache_read}  # fmt: skip
    return {name: count for name, count in named.items() if count is not None}


def stop_out(stop: str | None) -> str | None:
    """A stop reason under Anthropic's name; None where it has none."""
    return _STOPS_BACK.get(stop or "")


def content_out(message: Message) -> tuple[str, list[dict[str, Any]]]:
    """The role and the content blocks a message is written as."""
    if isinstance(message, Assistant):
        return "assistant", blocks_out(message.blocks)
    if isinstance(message, ToolResult):
        return "user", [result_out(message)]
    if isinstance(message, Shell):
        return "user", [{"type": "text", "text": shell_text(message)}]
    return "user", blocks_out(message.blocks)


def write(branch: Sequence[Entry]) -> Iterator[bytes]:
    """A branch as `{"system": …, "messages": […]}`, a message a line; neighbours of one role become one message."""
    system = [entry.body.data for entry in branch if isinstance(entry.body, Custom) and entry.body.kind in SYSTEMS]
    head = {"system": _system_out(system)} if system else {}
    yield dumps(head)[:-1] + (b"," if head else b"") + b'"messages":[\n'
    first = True
    for role, blocks in _turns(branch):
        yield (b"" if first else b",\n") + dumps({"role": role, "content": blocks})
        first = False
    yield b"\n]}\n"


SYSTEMS = ("anthropic.system", "openai.system", "openai.developer", "swe-agent.system")
"""The custom entries that hold a system prompt."""


def _system_out(kept: list[Any]) -> Any:
    if len(kept) == 1 and not isinstance(kept[0], dict):
        return kept[0]
    return "\n\n".join(system_text(data) for data in kept)


def system_text(data: Any) -> str:
    """The words of a kept system prompt, whichever format it came from."""
    content = data.get("content") if isinstance(data, dict) else data
    return "\n\n".join(block.text for block in blocks_in(content) if isinstance(block, Text))


def _turns(branch: Iterable[Entry]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    role, blocks = "", list[dict[str, Any]]()
    for entry in branch:
        if isinstance(entry.body, Said):
            next_role, more = content_out(entry.body.message)
        elif isinstance(entry.body, Compaction):
            next_role, more = "user", [{"type": "text", "text": brief_text(entry.body.summary)}]
        else:
            continue
        if next_role != role and blocks:
            yield role, blocks
            blocks = []
        role, blocks = next_role, [*blocks, *more]
    if blocks:
        yield role, blocks
