"""A request as Chat Completions writes it: roles in runs, results as words, images where the format takes them."""

import json
from typing import Any

from clew.models.port import Request, Tool
from clew.models.providers.wire import CallIds, arguments, image_url, note, spoken, texts, words
from clew.transcript import Assistant, Block, Call, Media, Shell, Text, ToolResult, User, shell_text

LONGEST_ID = 40
"""Characters of a call's id, OpenAI's bound."""


def tool(tool: Tool) -> dict[str, Any]:
    """A tool as this format describes it."""
    described = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": described}


def system(request: Request) -> str:
    """The system prompt in one text, the stable part first: chat templates take one system message, and the first one.

    These providers cache by the bytes a prompt begins with, so nothing marks where the stable part ends.
    """
    return "\n\n".join(words(part) for part in (request.system, request.dynamic) if part.strip())


def messages(request: Request, *, images: bool = True) -> list[dict[str, Any]]:
    """The messages in Chat Completions' shape. Runs of one role become one message: chat templates want turns."""
    ids = CallIds(longest=LONGEST_ID)
    prompt = system(request)
    sent: list[dict[str, Any]] = [{"role": "system", "content": prompt}] if prompt else []
    pictures: list[dict[str, Any]] = []
    for message in request.messages:
        if pictures and not isinstance(message, ToolResult):
            _append(sent, {"role": "user", "content": pictures})
            pictures = []
        if isinstance(message, ToolResult):
            sent.append({
                "role": "tool", "tool_call_id": ids.of_result(message.call_id), "content": _result(message, images),
            })  # fmt: skip
            pictures += _pictures(message.blocks) if images else []
        elif isinstance(message, Assistant):
            _append(sent, _assistant(message, ids))
        else:
            _append(sent, {"role": "user", "content": _content(message, images)})
    if pictures:
        _append(sent, {"role": "user", "content": pictures})
    return sent


def _append(sent: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Add a message, to the one before if that has the same role; nothing for one that says nothing."""
    if not message["content"] and not message.get("tool_calls"):
        return
    last: dict[str, Any] = sent[-1] if sent else {}
    if last.get("role") != message["role"]:
        sent.append(message)
        return
    if message["content"]:
        last["content"] = _joined(last["content"], message["content"])
    if calls := message.get("tool_calls"):
        last["tool_calls"] = [*last.get("tool_calls", ()), *calls]


def _joined(one: Any, other: Any) -> Any:
    if not one or not other:
        return one or other
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [*_parts(one), *_parts(other)]


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _assistant(message: Assistant, ids: CallIds) -> dict[str, Any]:
    said = "".join(words(block.text) for block in message.blocks if isinstance(block, Text))
    sent: dict[str, Any] = {"role": "assistant", "content": said or None}
    if calls := [block for block in message.blocks if isinstance(block, Call)]:
        sent["tool_calls"] = [_call(call, ids) for call in calls]
    return sent


def _call(call: Call, ids: CallIds) -> dict[str, Any]:
    given = json.dumps(arguments(call), ensure_ascii=False)
    return {"id": ids.of_call(call), "type": "function", "function": {"name": call.name, "arguments": given}}


def _content(message: User | Shell, images: bool) -> str | list[dict[str, Any]]:
    if isinstance(message, Shell):
        return words(shell_text(message))
    blocks = spoken(message)
    if not images or not _pictures(blocks):
        return texts(blocks)
    parts = [_part(block) for block in blocks]
    return [part for part in parts if part["type"] != "text" or part["text"]]


def _part(block: Block) -> dict[str, Any]:
    if isinstance(block, Media) and (url := image_url(block)):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": words(block.text) if isinstance(block, Text) else note(block)}


def _result(message: ToolResult, images: bool) -> str:
    """A tool's result as words: images follow in a user message, the only place this format takes them."""
    shown = tuple(
        Text("[image: see below]") if images and isinstance(block, Media) and image_url(block) else block
        for block in message.blocks
    )
    return texts(shown) or "(no output)"


def _pictures(blocks: tuple[Block, ...]) -> list[dict[str, Any]]:
    return [_part(block) for block in blocks if isinstance(block, Media) and image_url(block)]
