"""The Anthropic SDK behind the port: the Messages API, with its strict turns, signed reasoning and cache marks."""

import json
from collections.abc import AsyncIterator, Callable
from types import ModuleType
from typing import Any, Literal

from clew.errors import ModelError
from clew.logs import log
from clew.models.port import Request
from clew.models.providers import anthropic_format
from clew.models.providers.anthropic_further import further
from clew.models.providers.remote import CONNECT_S, OnText, Remote
from clew.models.providers.wire import read_arguments
from clew.prune.remote import BETA, cleared
from clew.transcript import Assistant, Block, Call, Foreign, Text, Thinking, Usage

OUTPUT = 8_192
"""Tokens of output where neither the request nor the model's limits say: this API has no default."""

CACHED = ("turn", "flush")
"""Purposes whose prefix is asked for again: marking it for the cache pays. A brief's request is made once."""

STOPS: dict[str, Literal["stop", "length", "tools", "error"]] = {
    "end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "max_tokens": "length",
    "model_context_window_exceeded": "length", "tool_use": "tools", "refusal": "error",
}  # fmt: skip


class AnthropicModel(Remote):
    """A model that speaks `anthropic-messages`."""

    def _connect(self) -> tuple[ModuleType, Any]:
        # A second and 45 MB: only who asks a model pays for it.
        import anthropic  # noqa: PLC0415

        client = anthropic.AsyncAnthropic(
            api_key=self._key() or "none",
            base_url=self.endpoint.base_url.rstrip("/").removesuffix("/v1"),
            max_retries=0,
            timeout=anthropic.Timeout(None, connect=CONNECT_S),
            default_headers=self._headers(),
            # A proxy of the environment cannot lead to a server on this machine.
            http_client=anthropic.DefaultAsyncHttpxClient(trust_env=not self.endpoint.local),
        )
        return anthropic, client

    def _headers(self) -> dict[str, str]:
        # The SDK sends a bearer token; most other servers of this format read the header that came before it.
        key = {} if self.endpoint.base_url.endswith(".anthropic.com") else {"x-api-key": self._key() or "none"}
        return {**key, **{name: value.get_secret_value() for name, value in self.endpoint.headers.items()}}

    def _betas(self, request: Request) -> str:
        """The header `anthropic-beta` as the settings write it, with what the request needs; empty where it needs
        none."""
        needed = COMPACTION_BETA if request.native_compaction is not None else BETA if self._edits(request) else ""
        written = [value for name, value in self._headers().items() if name.lower() == "anthropic-beta"]
        names = [name.strip() for name in ",".join([*written, needed]).split(",") if name.strip()]
        return ",".join(dict.fromkeys(names)) if needed else ""

    def _edits(self, request: Request) -> bool:
        """Whether the provider is asked to clear: another one of this format may refuse a field it does not know."""
        return request.context_edits is not None and self.endpoint.provider.lower() == "anthropic"

    @property
    def compacts(self) -> bool:
        """Whether the provider compacts a conversation itself; see the port."""
        return self.endpoint.native_compaction

    async def _exchange(self, client: Any, request: Request, on_text: OnText) -> Assistant:
        # The SDK walks every message through its types; `extra_body` goes out as it is.
        asked = {
            "model": self.endpoint.model,
            "messages": [],
            "max_tokens": self._most(request),
            "extra_body": self.body(request),
            **({"extra_headers": {"anthropic-beta": betas}} if (betas := self._betas(request)) else {}),
        }
        if on_text is None:
            return self._answer(_whole(await client.messages.create(**asked)))
        async with await client.messages.create(**asked, stream=True) as stream:
            draft = await _streamed(stream, on_text)
        if draft.stop is None:
            raise self.cut_off()
        return self._answer(draft)

    def _most(self, request: Request) -> int:
        return request.max_output or min(OUTPUT, self.endpoint.limits.max_output or OUTPUT)

    def body(self, request: Request) -> dict[str, Any]:
        """What the request says, as it goes over the wire."""
        sent: dict[str, Any] = {"messages": anthropic_format.messages(request, images=self.endpoint.images)}
        if system := anthropic_format.system(request):
            sent["system"] = system
        if request.native_compaction is not None:
            sent["compaction"] = {"type": "summarize", "instructions": request.native_compaction}
        elif self._edits(request):
            sent["context_management"] = request.context_edits
        if request.tools:
            sent["tools"] = [anthropic_format.tool(tool) for tool in request.tools]
        if request.temperature is not None and self.endpoint.local:
            # The API of 2026-10-21 refuses a temperature, whatever it is, and its SDK has no name for it any more;
            # a small model on this machine needs one.
            sent["temperature"] = request.temperature
        if request.purpose in CACHED or request.dynamic or request.tools:
            anthropic_format.mark(sent, stable=bool(request.system.strip()))
        return sent | further(request.more, tools=bool(request.tools))

    def _answer(self, draft: "Draft | None") -> Assistant:
        if draft is None:
            raise ModelError(
                f"{self.name} answered with something that is no message. The history is as it was. "
                f"Check that {self.endpoint.base_url} is the base URL of an Anthropic-compatible API."
            )
        count, tokens = cleared(draft.management)
        if count or tokens:
            log.info(
                f"[anthropic] server-side context edit: cleared {count} tool results ({tokens} input tokens)",
                results=count,
                tokens=tokens,
            )
        return Assistant(
            tuple(_read(block) for block in draft.blocks),
            model=self.name,
            usage=_usage(draft.usage),
            stop=STOPS.get(draft.stop or "", "stop"),
        )


COMPACTION_BETA = "compact-2026-01-12"
"""The header a request needs that asks the provider to compact."""


class Draft:
    """An answer as it comes together: content blocks as the API sends them, with the words of calls unread."""

    def __init__(self, usage: Any, stop: str | None = None) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.stop = stop
        self.usage: dict[str, int] = {}
        self.management: object = None
        """What the provider says it cleared of the request."""
        self.count(usage)

    def count(self, usage: Any) -> None:
        """Take in usage: a later report is of the whole, and may leave out what an earlier one said."""
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            value = getattr(usage, name, None)
            if value is not None:
                self.usage[name] = max(value, self.usage.get(name, 0))

    def extend(self, delta: Any) -> str:
        """Take in a piece of the newest block; its words, if it is of words."""
        block = self.blocks[-1]
        match delta.type:
            case "text_delta":
                block["text"] += delta.text
                return str(delta.text)
            case "thinking_delta":
                block["thinking"] += delta.thinking
            case "signature_delta":
                block["signature"] = delta.signature
            case "input_json_delta":
                block["raw"] = block.get("raw", "") + delta.partial_json
        return ""


def _whole(message: Any) -> Draft | None:
    if not isinstance(getattr(message, "content", None), list):
        return None
    draft = Draft(message.usage, message.stop_reason)
    draft.blocks = [block.to_dict() for block in message.content]
    draft.management = getattr(message, "context_management", None)
    return draft


async def _streamed(stream: AsyncIterator[Any], on_text: Callable[[str], None]) -> Draft:
    draft = Draft(None)
    async for event in stream:
        match event.type:
            case "message_start":
                draft.count(event.message.usage)
            case "content_block_start":
                draft.blocks.append(event.content_block.to_dict())
            case "content_block_delta":
                if piece := draft.extend(event.delta):
                    on_text(piece)
            case "message_delta":
                draft.stop = event.delta.stop_reason
                draft.management = getattr(event, "context_management", None)
                draft.count(event.usage)
    return draft


def _read(block: dict[str, Any]) -> Block:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "thinking", "thinking": str(thinking)}:
            return Thinking(thinking, signature=block.get("signature") or None)
        case {"type": "redacted_thinking", "data": str(data)}:
            return Thinking("", redacted=data)
        case {"type": "compaction", "content": str(summary)}:
            return Text(summary)
        case {"type": "tool_use", "id": str(name), "name": str(tool)}:
            return Call(name, tool, *_arguments(block))
    return Foreign(str(block.get("type")), block)


def _arguments(block: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    if raw := block.get("raw"):
        return read_arguments(raw)
    given = block.get("input")
    return (given, None) if isinstance(given, dict) else ({}, json.dumps(given))


def _usage(reported: dict[str, int]) -> Usage | None:
    """Tokens as reported; all zeros is a server that does not count."""
    if not any(reported.values()):
        return None
    return Usage(
        input=reported.get("input_tokens"),
        output=reported.get("output_tokens"),
        cache_read=reported.get("cache_read_input_tokens"),
        cache_write=reported.get("cache_creation_input_tokens"),
    )
