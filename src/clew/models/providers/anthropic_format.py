"""A request as the Messages API writes it: strict turns, results before words, sealed reasoning, cache marks."""

from collections.abc import Iterator
from typing import Any

from clew.models.port import Request, Tool
from clew.models.providers.wire import CallIds, arguments, image_url, note, spoken, words
from clew.transcript import Assistant, Block, Call, Media, Message, Shell, Text, Thinking, ToolResult, shell_text

LONGEST_ID = 64
"""Characters of a call's id."""

OPENING = "(The conversation goes on.)"
"""The user's turn before a list that begins with the assistant's: this API wants one there."""

MARK = {"type": "ephemeral"}


def tool(tool: Tool) -> dict[str, Any]:
    """A tool as this format describes it."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def system(request: Request) -> list[dict[str, Any]]:
    """The system prompt in blocks: the stable part, then the part that changes from turn to turn."""
    return [_text(part) for part in (request.system, request.dynamic) if part.strip()]


def mark(sent: dict[str, Any], *, stable: bool = True) -> None:
    """Mark what the next request repeats: the tools with the system prompt, and the last two user turns.

    Three of the four marks the API allows. The older turn's is where the cache of the request before ends. Of the
    system prompt only the first block is marked, and that only where it is the `stable` one; else the last tool is.
    """
    if stable and sent.get("system"):
        sent["system"][0]["cache_control"] = MARK
    elif sent.get("tools"):
        sent["tools"][-1]["cache_control"] = MARK
    for message in [message for message in sent["messages"] if message["role"] == "user"][-2:]:
        message["content"][-1]["cache_control"] = MARK


def messages(request: Request, *, images: bool = True) -> list[dict[str, Any]]:
    """The messages in the Messages API's shape: turns alternate, the user's first, results before words."""
    ids = CallIds(longest=LONGEST_ID)
    sent: list[dict[str, Any]] = []
    for message in request.messages:
        role = "assistant" if isinstance(message, Assistant) else "user"
        blocks = list(_blocks(message, ids, images))
        if not blocks:
            continue
        if not sent and role == "assistant":
            sent.append({"role": "user", "content": [{"type": "text", "text": OPENING}]})
        if sent and sent[-1]["role"] == role:
            sent[-1]["content"] += blocks
        else:
            sent.append({"role": role, "content": blocks})
    return sent


def _blocks(message: Message, ids: CallIds, images: bool) -> Iterator[dict[str, Any]]:
    if isinstance(message, Shell):
        yield _text(shell_text(message))
    elif isinstance(message, ToolResult):
        yield _result(message, ids, images)
    elif isinstance(message, Assistant):
        ours = _signs(message.model)
        yield from (sent for block in message.blocks if (sent := _said(block, ids, ours)))
    else:
        yield from _shown(spoken(message), images)


def _shown(blocks: tuple[Block, ...], images: bool) -> Iterator[dict[str, Any]]:
    """What a user or a tool shows. Blank text is left out: the API refuses it."""
    for block in blocks:
        if isinstance(block, Media) and images and (url := image_url(block)):
            yield {"type": "image", "source": _source(block, url)}
        elif (text := block.text if isinstance(block, Text) else note(block)).strip():
            yield _text(text)


def _said(block: Block, ids: CallIds, ours: bool) -> dict[str, Any] | None:
    """What the assistant said. Reasoning goes back only with the seal it came with, and only to who sealed it."""
    match block:
        case Text(text) if text.strip():
            return _text(text)
        case Thinking(_, _, str(data)) if ours:
            return {"type": "redacted_thinking", "data": data}
        case Thinking(text, str(signature)) if ours and signature:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Call():
            return {"type": "tool_use", "id": ids.of_call(block), "name": block.name, "input": arguments(block)}
    return None


def _signs(model: str | None) -> bool:
    return model is None or "claude" in model.lower()


def _result(message: ToolResult, ids: CallIds, images: bool) -> dict[str, Any]:
    sent: dict[str, Any] = {"type": "tool_result", "tool_use_id": ids.of_result(message.call_id)}
    if content := list(_shown(message.blocks, images)):
        sent["content"] = content
    return {**sent, "is_error": True} if message.error else sent


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": words(text)}


def _source(block: Media, url: str) -> dict[str, Any]:
    if block.data is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": block.media_type, "data": block.data}
