"""A model that says what it was told to, for tests, documents and the demo: no network, no chance."""

import json
from collections.abc import Callable, Iterable

import msgspec

from clew.errors import ModelError, WindowOverflow
from clew.models.overflow import Complaint
from clew.models.port import Limits, Request
from clew.tokens import estimate
from clew.transcript import Assistant, Usage, assistant, calls_of, text_of

Line = str | Assistant | Exception
"""What is said: words, a whole answer, or an error that is raised."""

Answer = Line | Callable[[Request], Line]
"""A line, or what makes one of the request."""

PIECE = 24
"""Characters of each piece that `on_text` is given."""


class ScriptedModel:
    """A model with a script.

    Each request takes the next answer. With a `window` (tokens) a request that is estimated larger is refused as a
    provider refuses it, and takes none. `requests` holds every request made, refused ones too. Usage is estimated.
    """

    def __init__(
        self, answers: Iterable[Answer] = (), *, window: int | None = None, name: str = "scripted/demo"
    ) -> None:
        self._answers = iter(answers)
        self._window = window
        self._name = name
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        """`provider/model-id`."""
        return self._name

    async def limits(self) -> Limits:
        """The window it was given."""
        return Limits(window=self._window, source="settings" if self._window else "unknown")

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Assistant:
        """The next answer of the script. Raises ModelError when it is at its end."""
        self.requests.append(request)
        size = size_of(request)
        if self._window is not None and size > self._window:
            raise _overflow(self._name, size, self._window)
        answer = self._said(self._next(request), size)
        if on_text is not None:
            words = text_of(answer)
            for start in range(0, len(words), PIECE):
                on_text(words[start : start + PIECE])
        return answer

    async def close(self) -> None:
        """Nothing to let go of."""

    def _next(self, request: Request) -> Line:
        try:
            answer = next(self._answers)
        except StopIteration:
            raise ModelError(
                f"The script of {self._name} is at its end: request {len(self.requests)} has no answer. "
                "Give it more answers."
            ) from None
        return answer if isinstance(answer, str | Assistant | Exception) else answer(request)

    def _said(self, line: Line, size: int) -> Assistant:
        if isinstance(line, Exception):
            raise line
        answer = assistant(line) if isinstance(line, str) else line
        return msgspec.structs.replace(
            answer,
            model=answer.model or self._name,
            usage=answer.usage or Usage(input=size, output=estimate.message(answer)),
            stop=answer.stop or ("tools" if any(calls_of(answer)) else "stop"),
        )


def size_of(request: Request) -> int:
    """The estimated tokens of a whole request: system prompt, tools and messages."""
    tools = json.dumps([msgspec.to_builtins(tool) for tool in request.tools]) if request.tools else ""
    prompt = estimate.text(request.system) + estimate.text(request.dynamic)
    return prompt + estimate.text(tools) + sum(map(estimate.message, request.messages))


def _overflow(name: str, size: int, window: int) -> WindowOverflow:
    error = WindowOverflow(
        f"{name} refused the request: it has {size:,} tokens, the window has {window:,}. The history is as it was. "
        "Compact the session, or choose a model with a larger window.",
        limit=window,
        requested=size,
    )
    error.__dict__["complaint"] = Complaint("overflow_tokens", window, size, rule="scripted")
    return error
