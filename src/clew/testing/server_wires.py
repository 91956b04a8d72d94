"""Both wire formats from the server's side: a prompt read out of a request, an answer as one body or as events."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from clew.testing.server_words import Refuse
from clew.transcript import Call

PIECE = 16
"""Characters of each piece of a streamed answer."""


class Say(msgspec.Struct, frozen=True):
    """An answer in words and tool calls, and how it arrives."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    """Reasoning; signed where the format has signatures."""
    stop: str | None = None
    """`stop`, `length` or `tools`; None is `tools` if there are calls, else `stop`."""
    delay_s: float = 0.0
    """Seconds before the first byte."""
    pace_s: float = 0.0
    """Seconds before each streamed piece."""
    hang_up: bool = False
    """The connection is closed after the words, before the end."""
    fails: Refuse | None = None
    """An error inside the stream, after the words."""
    counted: bool = True
    """Whether usage is reported."""
    more: dict[str, Any] = {}
    """Further fields of a Messages answer, such as `context_management`; in a stream they come at its end."""


class Counts(NamedTuple):
    """Tokens of one exchange."""

    given: int
    """All of the input."""
    read: int
    """The part of it that was in the cache."""
    written: int
    """The part of it that went into the cache, where the format tells."""
    output: int


def prompt(body: dict[str, Any]) -> list[str]:
    """The request as a model reads it, in parts: tools, system prompt, messages. Cache marks are no part of it."""
    parts = [json.dumps(tool, ensure_ascii=False) for tool in _unmarked(body.get("tools") or [])]
    if body.get("system"):
        parts.append(f"<|system|>{_plain(body['system'])}")
    return [*parts, *(_turn(message) for message in body.get("messages", ()))]


def _turn(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls")
    said = f"<|{message.get('role')}|>{_plain(message.get('content') or '')}"
    return f"{said}{json.dumps(calls, ensure_ascii=False)}" if calls else said


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(
        part["text"] if part.get("type") == "text" else json.dumps(_unmarked(part), ensure_ascii=False)
        for part in content
    )


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    return value


def _stop(say: Say, names: dict[str, str]) -> str:
    return names[say.stop or ("tools" if say.calls else "stop")]


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


class Chat:
    """Chat Completions."""

    STOPS = {"stop": "stop", "length": "length", "tools": "tool_calls"}

    def error(self, refuse: Refuse) -> dict[str, Any]:
        """An error body."""
        return {"error": {"message": refuse.message, "type": refuse.kind, "code": refuse.code, **refuse.more}}

    def whole(self, say: Say, counts: Counts, model: str) -> dict[str, Any]:
        """An answer in one body."""
        message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
        if say.thinking:
            message["reasoning_content"] = say.thinking
        if say.calls:
            message["tool_calls"] = [self._call(call) for call in say.calls]
        choice = {"index": 0, "message": message, "finish_reason": _stop(say, self.STOPS)}
        return {"id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": model,
                "choices": [choice], "usage": self._usage(counts) if say.counted else None}  # fmt: skip

    def begin(self, say: Say, counts: Counts, model: str) -> Iterator[str]:
        """The events up to the last word."""
        yield self._chunk({"role": "assistant", "content": ""}, model)
        for piece in _pieces(say.thinking):
            yield self._chunk({"reasoning_content": piece}, model)
        for piece in _pieces(say.text):
            yield self._chunk({"content": piece}, model)

    def end(self, say: Say, counts: Counts, model: str) -> Iterator[str]:
        """The events after it: calls, the stop reason, usage."""
        for index, call in enumerate(say.calls):
            head = self._call(call)
            given = head["function"].pop("arguments")
            yield self._chunk({"tool_calls": [{**head, "index": index}]}, model)
            for piece in _pieces(given):
                yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, model)
        yield self._chunk({}, model, finish=_stop(say, self.STOPS))
        if say.counted:
            yield self._chunk(None, model, usage=self._usage(counts))
        yield "data: [DONE]\n\n"

    def failed(self, refuse: Refuse) -> str:
        """An error as an event."""
        return f"data: {json.dumps(self.error(refuse))}\n\n"

    def _call(self, call: Call) -> dict[str, Any]:
        given = json.dumps(call.arguments) if call.raw is None else call.raw
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": given}}

    def _usage(self, counts: Counts) -> dict[str, Any]:
        return {"prompt_tokens": counts.given, "completion_tokens": counts.output,
                "total_tokens": counts.given + counts.output,
                "prompt_tokens_details": {"cached_tokens": counts.read}}  # fmt: skip

    def _chunk(self, delta: Any, model: str, *, finish: str | None = None, usage: Any = None) -> str:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        chunk = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": model,
                 "choices": choices, "usage": usage}  # fmt: skip
        return f"data: {json.dumps(chunk)}\n\n"


class Messages:
    """The Messages API."""

    STOPS = {"stop": "end_turn", "length": "max_tokens", "tools": "tool_use"}

    def error(self, refuse: Refuse) -> dict[str, Any]:
        """An error body."""
        return {"type": "error", "error": {"type": refuse.kind, "message": refuse.message, **refuse.more}}

    def whole(self, say: Say, counts: Counts, model: str) -> dict[str, Any]:
        """An answer in one body."""
        return {"id": "msg_scripted", "type": "message", "role": "assistant", "model": model,
                "content": self._blocks(say), "stop_reason": _stop(say, self.STOPS), "stop_sequence": None,
                "usage": self._usage(counts, say), **say.more}  # fmt: skip

    def begin(self, say: Say, counts: Counts, model: str) -> Iterator[str]:
        """The events up to the last word."""
        empty = {**self.whole(Say(counted=say.counted), counts, model), "stop_reason": None}
        yield self._event("message_start", message=empty)
        for index, block in enumerate(self._blocks(say)):
            if block["type"] != "tool_use":
                yield from self._block(index, block)

    def end(self, say: Say, counts: Counts, model: str) -> Iterator[str]:
        """The events after it: calls, the stop reason, usage."""
        calls = iter(say.calls)
        for index, block in enumerate(self._blocks(say)):
            if block["type"] == "tool_use":
                yield from self._block(index, block, next(calls).raw)
        delta = {"stop_reason": _stop(say, self.STOPS), "stop_sequence": None}
        used = {"output_tokens": counts.output if say.counted else 0}
        yield self._event("message_delta", delta=delta, usage=used, **say.more)
        yield self._event("message_stop")

    def failed(self, refuse: Refuse) -> str:
        """An error as an event."""
        return f"event: error\ndata: {json.dumps(self.error(refuse))}\n\n"

    def _blocks(self, say: Say) -> list[dict[str, Any]]:
        thought = {"type": "thinking", "thinking": say.thinking, "signature": "c2VhbGVk"}
        calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in say.calls]
        words = [{"type": "text", "text": say.text}] if say.text else []
        return [*([thought] if say.thinking else []), *words, *calls]

    def _block(self, index: int, block: dict[str, Any], raw: str | None = None) -> Iterator[str]:
        starts: dict[str, tuple[str, str, dict[str, Any]]] = {
            "text": ("text", "text_delta", {"text": ""}),
            "thinking": ("thinking", "thinking_delta", {"thinking": "", "signature": ""}),
            "tool_use": ("input", "input_json_delta", {"input": {}}),
        }
        field, kind, start = starts[block["type"]]
        yield self._event("content_block_start", index=index, content_block={**block, **start})
        value = raw or (block[field] if isinstance(block[field], str) else json.dumps(block[field]))
        name = "partial_json" if field == "input" else field
        for piece in _pieces(value):
            yield self._event("content_block_delta", index=index, delta={"type": kind, name: piece})
        if seal := block.get("signature"):
            yield self._event("content_block_delta", index=index, delta={"type": "signature_delta", "signature": seal})
        yield self._event("content_block_stop", index=index)

    def _usage(self, counts: Counts, say: Say) -> dict[str, Any]:
        if not say.counted:
            return {"input_tokens": 0, "output_tokens": 0}
        return {"input_tokens": counts.given - counts.read - counts.written, "output_tokens": counts.output,
                "cache_read_input_tokens": counts.read, "cache_creation_input_tokens": counts.written}  # fmt: skip

    def _event(self, name: str, **fields: Any) -> str:
        return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n"


Wire = Chat | Messages
