"""OpenHands runs: a `history` of actions and observations, with the model's own calls beside them."""

from typing import Any

from clew.store.archive.field import arguments, mapping, moment, objects, string, whole
from clew.store.archive.gather import Gather
from clew.store.archive.imported import Imported
from clew.store.archive.source import Content
from clew.transcript import Assistant, Call, Message, Said, Text, ToolResult, Usage, User

_FIELDS = frozenset({
    "id", "timestamp", "source", "message", "action", "observation", "args", "content", "cause", "tool_call_metadata",
})  # fmt: skip
_ASIDE = ("system", "recall", "change_agent_state", "condensation", "agent_state_changed", "null")
"""Events that are no part of the conversation."""


def read(content: Content, row: dict[str, Any], *, at: int = 0) -> Imported:
    """The history of one run, an entry an event."""
    gather, reported = Gather("openhands", content, at=at), set[str]()
    gather.note("title", string(row, "instance_id"))
    gather.note("session", string(row, "instance_id"))
    gather.ignore(row, {"history", "instance_id"})
    for raw in objects(row, "history"):
        kind = string(raw, "action") or string(raw, "observation")
        name = f"action:{kind}" if "action" in raw else f"observation:{kind}"
        message = _message(kind, raw, reported)
        if message is None:
            gather.custom(name, raw, known=kind in _ASIDE, at=moment(raw))
        else:
            gather.counts[name] += 1
            gather.ignore(raw, _FIELDS)
            gather.add(Said(message), at=moment(raw))
    return gather.finish()


def _message(kind: str, raw: dict[str, Any], reported: set[str]) -> Message | None:
    args, call = mapping(raw, "args"), mapping(raw, "tool_call_metadata")
    if kind in _ASIDE:
        return None
    if "observation" in raw:
        return _result(kind, raw, call)
    if kind == "message" and raw.get("source") == "user":
        return User((Text(string(args, "content")),))
    if kind in ("message", "finish") and not call:
        return Assistant((Text(string(args, "content") or string(args, "final_thought") or string(raw, "message")),))
    return _action(kind, raw, args, call, reported) if "action" in raw else None


def _action(
    kind: str, raw: dict[str, Any], args: dict[str, Any], meta: dict[str, Any], reported: set[str]
) -> Assistant:
    """The answer an action came from: the words of the model's message, once, and the call."""
    response = mapping(meta, "model_response")
    first = bool(response) and string(response, "id") not in reported
    reported.add(string(response, "id"))
    thought = string(args, "thought")
    words = (Text(thought),) if thought and (first or not response) else ()
    name = string(meta, "tool_call_id")
    given = _arguments(response, name) if name else None
    call = Call(name or f"call-{raw.get('id')}", string(meta, "function_name") or kind,
                *arguments(args if given is None else given))  # fmt: skip
    usage = _usage(mapping(response, "usage")) if first else None
    return Assistant((*words, call), string(response, "model") or None, usage)


def _arguments(response: dict[str, Any], call: str) -> Any:
    """The arguments as the model wrote them."""
    for choice in objects(response, "choices"):
        for made in objects(mapping(choice, "message"), "tool_calls"):
            if made.get("id") == call:
                return mapping(made, "function").get("arguments")
    return None


def _result(kind: str, raw: dict[str, Any], meta: dict[str, Any]) -> Message:
    text = string(raw, "content") or string(raw, "message")
    name = string(meta, "tool_call_id") or (f"call-{raw['cause']}" if "cause" in raw else "")
    if not name:
        return User((Text(text),), synthetic=True)
    failed = kind == "error" or mapping(mapping(raw, "extras"), "metadata").get("exit_code") not in (None, 0)
    return ToolResult(name, string(meta, "function_name") or kind, (Text(text),), failed)


def _usage(raw: dict[str, Any]) -> Usage | None:
    usage = Usage(whole(raw, "prompt_tokens"), whole(raw, "completion_tokens"))
    return usage if usage.context else None
