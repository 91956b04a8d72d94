"""A request for a chat completion, read and checked before anything is stored or sent."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.gateway.openai_errors import Refused
from clew.models.port import Tool
from clew.runtime.relay import Wishes
from clew.store.archive.field import loads
from clew.store.archive.openai import SETUP, message_in
from clew.transcript import Assistant, Media, Message, Sender, ToolResult, User, calls_of

ROLES = ("system", "developer", "user", "assistant", "tool")

PARTS = ("text", "image_url", "input_audio", "file", "refusal")

ADDRESSES = ("http://", "https://")

PASSED = (
    "top_p", "stop", "seed", "presence_penalty", "frequency_penalty", "logit_bias", "response_format", "tool_choice",
    "parallel_tool_calls", "reasoning_effort", "verbosity",
)  # fmt: skip
"""Fields that go to the provider as they came."""

NOT_DONE = {
    "functions": "send `tools`",
    "function_call": "send `tool_choice`",
    "logprobs": "leave it out",
    "top_logprobs": "leave it out",
    "audio": "leave it out; answers are text and tool calls",
    "web_search_options": "leave it out; the client lends the tools",
}
"""Fields that change what comes back and that are not supported, with what to do instead."""

NAME = r"^[A-Za-z0-9_.-]{1,128}$"


class StreamOptions(BaseModel):
    """How an answer is streamed."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool | None = None


class Function(BaseModel):
    """A tool of the client's."""

    model_config = ConfigDict(extra="ignore")

    name: Annotated[str, Field(pattern=NAME)]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class ToolIn(BaseModel):
    """A tool as it is sent. Only functions are known."""

    model_config = ConfigDict(extra="ignore")

    type: str
    function: Function | None = None


class Body(BaseModel):
    """The fields that are read; any other is left alone."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[ToolIn] | None = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    max_completion_tokens: Annotated[int | None, Field(ge=1)] = None
    n: int | None = None
    user: Annotated[str | None, Field(max_length=512)] = None


class Asked(msgspec.Struct, frozen=True):
    """What a client asks for."""

    model: str
    system: str
    """What the messages of the system's say before the first of the conversation's."""
    dynamic: str
    """…and what they say after it."""
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    wishes: Wishes
    max_output: int | None
    stream: bool
    usage: bool
    """Whether the last piece of a stream tells what was used."""
    user: str


def read(raw: bytes) -> Asked:
    """The request in a body. Raises Refused, which names the field."""
    try:
        sent = loads(raw)
    except ValueError as error:
        raise Refused(f"The body is no JSON ({error}); nothing was stored and nothing sent.") from error
    try:
        body = Body.model_validate(sent)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        words = f"{where or 'The body'}: {first['msg']}. Nothing was stored and nothing sent."
        raise Refused(words, param=where or None) from None
    _supported(body)
    setup, rest = [], []  # type: list[tuple[bool, str]], list[Message]
    tools: dict[str, str] = {}
    for nth, one in enumerate(body.messages):
        role = _checked(one, nth)
        if role in SETUP:
            setup.append((not rest, _words(one)))
        elif (message := message_in(one, tools)) is not None:
            rest.append(_fitting(message, one, nth))
    if not rest:
        raise Refused("There is no message but the system's; nothing was sent.", param="messages")
    return Asked(
        model=body.model,
        system="\n\n".join(text for first, text in setup if first),
        dynamic="\n\n".join(text for first, text in setup if not first),
        messages=tuple(rest),
        tools=_tools(body),
        wishes=Wishes(body.temperature, _passed(body)),
        max_output=body.max_completion_tokens or body.max_tokens,
        stream=bool(body.stream),
        usage=bool(body.stream_options and body.stream_options.include_usage),
        user=body.user or "",
    )  # fmt: skip


def pairs(messages: Sequence[Message], before: Message | None = None) -> None:
    """Each call is answered once, right behind it, and nothing else is. Raises Refused, as OpenAI does.

    `before` is the message that these follow.
    """
    waiting = [call.id for call in calls_of(before)] if before else []
    for nth, message in enumerate(messages):
        where = f"messages[{nth}]"
        if isinstance(message, ToolResult):
            if message.call_id not in waiting:
                raise Refused(
                    f"{where} has role 'tool' and tool_call_id {message.call_id!r}, which answers no call of the "
                    "assistant's message before it. Nothing was stored and nothing sent.",
                    param=f"{where}.tool_call_id",
                )
            waiting.remove(message.call_id)
            continue
        _answered(waiting, where)
        waiting = [call.id for call in calls_of(message)]
    _answered(waiting, "the end")


def _answered(waiting: list[str], where: str) -> None:
    if waiting:
        raise Refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. At {where} these had no response: {', '.join(waiting)}. Nothing was stored and nothing "
            "sent.",
            param="messages",
        )


def _supported(body: Body) -> None:
    if body.n not in (None, 1):
        raise Refused(f"n is {body.n}; one answer is given to a request. Ask again for another.", param="n")
    more = body.model_extra or {}
    for field, instead in NOT_DONE.items():
        if more.get(field) not in (None, False, 0, [], "none"):
            raise Refused(f"`{field}` is not supported: {instead}. Nothing was sent.", param=field)
    if more.get("modalities") not in (None, ["text"]):
        raise Refused("Answers are text and tool calls; leave `modalities` out. Nothing was sent.", param="modalities")


def _passed(body: Body) -> dict[str, Any]:
    more = body.model_extra or {}
    passed = {name: more[name] for name in PASSED if more.get(name) is not None}
    if not body.tools:  # providers refuse to choose among none
        passed = {name: value for name, value in passed.items() if name not in ("tool_choice", "parallel_tool_calls")}
    return passed


def _tools(body: Body) -> tuple[Tool, ...]:
    tools = []
    for nth, one in enumerate(body.tools or ()):
        if one.type != "function" or one.function is None:
            raise Refused(
                f"tools[{nth}] is a {one.type!r}; tools are functions. Nothing was sent.", param=f"tools[{nth}].type"
            )
        schema = one.function.parameters or {"type": "object", "properties": {}}
        tools.append(Tool(one.function.name, one.function.description or "", schema))
    if len({tool.name for tool in tools}) < len(tools):
        raise Refused("Two tools have the same name. Nothing was sent.", param="tools")
    return tuple(tools)


def _checked(raw: dict[str, Any], nth: int) -> str:
    """The role of a message whose fields are what they should be."""
    where, role, content = f"messages[{nth}]", raw.get("role"), raw.get("content")
    if role not in ROLES:
        raise Refused(f"{where}.role is {role!r}; it is one of {', '.join(ROLES)}.", param=f"{where}.role")
    if not isinstance(content, str | list) and not (content is None and role == "assistant"):
        raise Refused(f"{where}.content is neither text nor a list of parts.", param=f"{where}.content")
    for place, part in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(part, dict) or part.get("type") not in PARTS:
            kind = part.get("type") if isinstance(part, dict) else part
            raise Refused(
                f"{where}.content[{place}] is a {kind!r}; parts are {', '.join(PARTS)}.",
                param=f"{where}.content[{place}].type",
            )
    for place, call in enumerate(raw.get("tool_calls") or ()):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not call.get("id") or not isinstance(function.get("name"), str):
            raise Refused(
                f"{where}.tool_calls[{place}] has no id, or no function with a name.",
                param=f"{where}.tool_calls[{place}]",
            )
    return str(role)


def _fitting(message: Message, raw: dict[str, Any], nth: int) -> Message:
    """The message, with who said it; images have to be whole."""
    for block in message.blocks if isinstance(message, User) else ():
        if isinstance(block, Media) and block.data is None and not (block.url or "").startswith(ADDRESSES):
            raise Refused(
                f"messages[{nth}] has an image that is neither a data URL in base64 nor an address.",
                param=f"messages[{nth}].content",
            )
    if isinstance(message, User) and isinstance(name := raw.get("name"), str) and name:
        return msgspec.structs.replace(message, sender=Sender(name))
    return message if not isinstance(message, Assistant) else msgspec.structs.replace(message, model=None)


def _words(raw: dict[str, Any]) -> str:
    content = raw["content"]
    return content if isinstance(content, str) else "\n".join(str(part.get("text") or "") for part in content)
