"""The OpenAI SDK behind the port: Chat Completions, as OpenAI, OpenRouter, Groq and every local server speak it."""

import re
from collections.abc import AsyncIterator
from types import ModuleType
from typing import Any, Literal
from urllib.parse import urlsplit

from clew.clock import new_id
from clew.errors import ModelError
from clew.models.fenced import Curtain, fenced_calls
from clew.models.overflow import read_body
from clew.models.port import Request
from clew.models.providers import openai_format
from clew.models.providers.remote import CONNECT_S, Endpoint, OnText, Remote
from clew.models.providers.wire import read_arguments
from clew.transcript import Assistant, Block, Call, Text, Thinking, Usage, text_of

STOPS: dict[str, Literal["stop", "length", "tools", "error"]] = {
    "stop": "stop", "length": "length", "tool_calls": "tools", "function_call": "tools", "content_filter": "error",
}  # fmt: skip


OPTIONAL = re.compile(r"\b(stream_options|temperature|max_tokens)\b")
"""Fields that some models refuse and that a request can do without, or can spell in another way."""

REFUSES_FIELD = re.compile(
    r"unsupported|not supported|does not support|unrecognized|unknown|not permitted|extra field", re.I
)


class OpenAIModel(Remote):
    """A model that speaks `openai-completions`."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._unwanted: set[str] = set()

    def _connect(self) -> tuple[ModuleType, Any]:
        # Half a second and 20 MB: only who asks a model pays for it.
        import openai  # noqa: PLC0415

        client = openai.AsyncOpenAI(
            api_key=self._key() or "none",
            base_url=self.endpoint.base_url,
            max_retries=0,
            timeout=openai.Timeout(None, connect=CONNECT_S),
            default_headers={name: value.get_secret_value() for name, value in self.endpoint.headers.items()},
            # A proxy of the environment cannot lead to a server on this machine.
            http_client=openai.DefaultAsyncHttpxClient(trust_env=not self.endpoint.local),
        )
        return openai, client

    async def _exchange(self, client: Any, request: Request, on_text: OnText) -> Assistant:
        while True:
            try:
                return await self._answered(client, request, on_text)
            except client_errors(self._sdk) as refusal:
                field = unwanted(read_body(refusal.body)[2])
                if field is None or field in self._unwanted:
                    raise
                # Nothing was answered yet; the field is left out as long as this model lives.
                self._unwanted.add(field)

    async def _answered(self, client: Any, request: Request, on_text: OnText) -> Assistant:
        if not (self.endpoint.local and request.tools):
            return self._answer(await self._drafted(client, request, on_text))
        # Small models write calls into their words; those are not shown as words first.
        curtain, show = Curtain(), on_text
        hidden = show and (lambda piece: show(words) if (words := curtain.take(piece)) else None)
        answer = self._answer(await self._drafted(client, request, hidden))
        answer = fenced_calls(answer, {tool.name for tool in request.tools}, new_id)
        if show and (rest := curtain.rest(text_of(answer))):
            show(rest)
        return answer

    async def _drafted(self, client: Any, request: Request, on_text: OnText) -> "Draft | None":
        # The SDK walks every message through its types, 180 ms for a long history; `extra_body` goes out as it is.
        create = client.chat.completions.create
        asked = {"model": self.endpoint.model, "messages": [], "extra_body": self.body(request)}
        if on_text is None:
            return _whole(await create(**asked))
        counted = {} if "stream_options" in self._unwanted else {"stream_options": {"include_usage": True}}
        async with await create(**asked, stream=True, **counted) as stream:
            draft = await _streamed(stream, on_text)
        if draft.finish is None:
            raise self.cut_off()
        return draft

    def body(self, request: Request) -> dict[str, Any]:
        """What the request says, as it goes over the wire."""
        sent: dict[str, Any] = {"messages": openai_format.messages(request, images=self.endpoint.images)}
        if request.tools:
            sent["tools"] = [openai_format.tool(tool) for tool in request.tools]
        if request.max_output is not None:
            sent[self._output_field()] = request.max_output
        takes_temperature = not self.endpoint.reasoning and "temperature" not in self._unwanted
        if request.temperature is not None and takes_temperature:
            sent["temperature"] = request.temperature
        return sent | request.more

    def _output_field(self) -> str:
        # OpenAI's own reasoning models refuse the older name; most other servers know only that one.
        host = urlsplit(self.endpoint.base_url).hostname or ""
        newer = host.endswith(("openai.com", "openai.azure.com")) or "max_tokens" in self._unwanted
        return "max_completion_tokens" if newer else "max_tokens"

    def _answer(self, draft: "Draft | None") -> Assistant:
        if draft is None:
            raise ModelError(
                f"{self.name} answered with something that is no completion. The history is as it was. "
                f"Check that {self.endpoint.base_url} is the base URL of an OpenAI-compatible API."
            )
        calls = draft.read_calls()
        stop = STOPS.get(draft.finish or "", "stop")
        return Assistant(
            (*draft.words(), *calls),
            model=self.name,
            usage=_usage(draft.usage),
            stop="tools" if calls and stop == "stop" else stop,
        )


def client_errors(sdk: Any) -> tuple[type[Any], ...]:
    """The SDK's errors for a request that is not as the server wants it."""
    return (sdk.BadRequestError, sdk.UnprocessableEntityError)


def unwanted(text: str) -> str | None:
    """The optional field that a refusal is about, or None."""
    named = OPTIONAL.search(text)
    return named[1] if named and REFUSES_FIELD.search(text) else None


class Draft:
    """An answer as it comes together."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[dict[str, str]] = []
        self.finish: str | None = None
        self.usage: Any = None
        self._places: dict[int | str, dict[str, str]] = {}

    def add(self, part: Any) -> None:
        """Take in a message or a piece of one."""
        more = part.model_extra or {}
        self.text.append(said(part))
        self.thinking.append(more.get("reasoning_content") or more.get("reasoning") or "")
        for nth, call in enumerate(part.tool_calls or ()):
            self._add_call(call, nth)

    def _add_call(self, call: Any, nth: int) -> None:
        index = getattr(call, "index", None)
        # Some servers number no call, some number all of them 0: an id that was not seen begins another call.
        place = self._places.get(index if index is not None else nth)
        if place is None or (call.id and place["id"] and call.id != place["id"]):
            place = {"id": "", "name": "", "arguments": ""}
            self.calls.append(place)
            self._places[index if index is not None else nth] = place
        place["id"] = place["id"] or call.id or ""
        function = getattr(call, "function", None)
        place["name"] = place["name"] or getattr(function, "name", None) or ""
        place["arguments"] += getattr(function, "arguments", None) or ""

    def words(self) -> list[Block]:
        """Reasoning and text, where there was any."""
        thought, said = "".join(self.thinking), "".join(self.text)
        thinking: list[Block] = [Thinking(thought)] if thought else []
        return [*thinking, Text(said)] if said else thinking

    def read_calls(self) -> list[Call]:
        """The calls, with an id of ours where the server gave none."""
        read = []
        for call in self.calls:
            given, raw = read_arguments(call["arguments"])
            read.append(Call(call["id"] or f"call_{new_id()}", call["name"], given, raw))
        return read


def said(part: Any) -> str:
    """The words of a message or a piece of one; Mistral's reasoning models send them as a list of parts."""
    content = part.content or ""
    if isinstance(content, str):
        return content
    return "".join(str(one.get("text") or "") for one in content if isinstance(one, dict))


def _whole(completion: Any) -> Draft | None:
    choices = getattr(completion, "choices", None)
    if not choices:
        return None
    draft = Draft()
    draft.add(choices[0].message)
    draft.finish, draft.usage = choices[0].finish_reason, completion.usage
    return draft


async def _streamed(stream: AsyncIterator[Any], on_text: Any) -> Draft:
    draft = Draft()
    async for chunk in stream:
        draft.usage = chunk.usage or draft.usage
        for choice in (chunk.choices or ())[:1]:
            if choice.delta is not None:
                draft.add(choice.delta)
                if piece := said(choice.delta):
                    on_text(piece)
            draft.finish = choice.finish_reason or draft.finish
    return draft


def _usage(reported: Any) -> Usage | None:
    """Tokens as reported; all zeros is a server that does not count."""
    if reported is None or not (reported.prompt_tokens or reported.completion_tokens):
        return None
    details = reported.prompt_tokens_details
    read = getattr(details, "cached_tokens", None)
    if read is None:
        read = (reported.model_extra or {}).get("prompt_cache_hit_tokens")  # DeepSeek
    written = getattr(details, "cache_write_tokens", None)  # OpenRouter
    return Usage(
        input=max(reported.prompt_tokens - (read or 0) - (written or 0), 0) if reported.prompt_tokens else None,
        output=reported.completion_tokens,
        cache_read=read,
        cache_write=written,
    )
