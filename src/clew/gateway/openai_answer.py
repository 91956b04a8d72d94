"""An answer as a chat completion: in one body, or in pieces."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from clew.transcript import Assistant, Call, Text, Usage, calls_of

FINISH = {"stop": "stop", "length": "length", "tools": "tool_calls", "aborted": "stop", "error": "content_filter"}

PIECE = 256
"""Characters of the arguments of a call in one piece of a stream."""

DONE = "data: [DONE]\n\n"


class Head(msgspec.Struct, frozen=True):
    """What every piece of an answer bears."""

    id: str
    created: int
    """Seconds since 1970-01-01 UTC."""
    model: str


def whole(head: Head, answer: Assistant) -> dict[str, Any]:
    """The completion in one body."""
    calls = [call_out(call) for call in calls_of(answer)]
    content = words(answer) or (None if calls else "")
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": finish(answer), "logprobs": None}
    return {
        "id": head.id, "object": "chat.completion", "created": head.created, "model": answer.model or head.model,
        "choices": [choice], "usage": usage_out(answer.usage),
    }  # fmt: skip


def piece(head: Head, delta: dict[str, Any] | None, *, finish: str | None = None, usage: Any = None) -> str:
    """One piece of a stream; without a delta it has no choice and tells what was used."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
    body = {"id": head.id, "object": "chat.completion.chunk", "created": head.created, "model": head.model,
            "choices": choices}  # fmt: skip
    return event(body if delta is not None else {**body, "usage": usage})


def ending(head: Head, answer: Assistant, *, usage: bool) -> Iterator[str]:
    """The pieces after the words: calls, why it ended, and, where it was asked for, what was used."""
    for index, call in enumerate(calls_of(answer)):
        given = call_out(call)
        text, given["function"]["arguments"] = given["function"]["arguments"], ""
        yield piece(head, {"tool_calls": [{"index": index, **given}]})
        for start in range(0, len(text), PIECE):
            more = {"index": index, "function": {"arguments": text[start : start + PIECE]}}
            yield piece(head, {"tool_calls": [more]})
    yield piece(head, {}, finish=finish(answer))
    if usage:
        yield piece(head, None, usage=usage_out(answer.usage))
    yield DONE


def event(body: dict[str, Any]) -> str:
    """A body as an event of a stream."""
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def words(answer: Assistant) -> str:
    """The words of an answer as they are streamed."""
    return "".join(block.text for block in answer.blocks if isinstance(block, Text))


def finish(answer: Assistant) -> str:
    """Why it ended."""
    return FINISH.get(answer.stop or ("tools" if any(calls_of(answer)) else "stop"), "stop")


def call_out(call: Call) -> dict[str, Any]:
    """A call as a client is asked for it."""
    given = json.dumps(call.arguments, ensure_ascii=False) if call.raw is None else call.raw
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": given}}


def usage_out(usage: Usage | None) -> dict[str, Any] | None:
    """What the provider reported, in this format's arithmetic; None where it reported nothing."""
    if usage is None:
        return None
    given = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    return {
        "prompt_tokens": given, "completion_tokens": usage.output or 0, "total_tokens": given + (usage.output or 0),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read or 0},
    }  # fmt: skip
