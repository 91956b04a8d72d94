"""A real model server on loopback whose answers are a script: for tests through real SDKs, without any network.

    with ModelServer(["Hello.", Say(calls=(Call("c1", "read", {"path": "a.py"}),))], window=8192) as server:
        settings = ModelsSettings.model_validate(server.settings())
        model = build("scripted/any", settings)

It counts the tokens of every request, refuses one that is over its window in a provider's own words, reports what
was in the cache, and keeps each request as the bytes it came in.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import msgspec

from clew.testing.server_wires import Chat, Counts, Messages, Say, Wire, prompt
from clew.testing.server_words import WORDS, Refuse
from clew.tokens import estimate

__all__ = ["WORDS", "ModelServer", "Refuse", "Say", "Seen"]

REMEMBERED = 16
"""Earlier prompts whose beginnings are in the cache."""

OUTPUT = 1_024
"""Tokens of output a request is taken to ask for where it does not say."""


class Seen(msgspec.Struct):
    """One request, and what became of it."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    raw: bytes
    """The body as it came."""
    body: dict[str, Any]
    tokens: int = 0
    """The input, by the server's own count."""
    cached: int = 0
    """The part of it that some earlier prompt began with too."""
    status: int = 0
    at: float = 0.0
    """Seconds on the server's steady clock."""
    dropped: bool = False
    """Whether the client went away before the end of the answer."""


Answer = str | Say | Refuse
Script = Iterable[Answer | Callable[[Seen], Answer]] | Callable[[Seen], Answer]


class ModelServer:
    """The server; a context manager. `script` is a list of answers, one a request, or a function that makes each.

    `window` is in tokens and may be changed while it runs; None refuses nothing. `words` names a row of WORDS.
    `silent` answers a request over the window with one token and the stop reason `length`, as some servers do.
    `pages` are further paths and what they answer, such as llama.cpp's `/props`. `count` counts tokens of a text.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        window: int | None = None,
        words: str = "openai",
        silent: bool = False,
        max_bytes: int | None = None,
        pages: dict[str, Any] | None = None,
        count: Callable[[str], int] = estimate.text,
    ) -> None:
        self.window, self.words, self.silent, self.max_bytes = window, words, silent, max_bytes
        self.pages = pages or {}
        self.requests: list[Seen] = []
        self._count = cache(count)  # a conversation is counted again with every request
        self._script = _endless(script) if callable(script) else iter(script)
        self._prompts: list[list[str]] = []
        self._turn = threading.Lock()
        self._stopping = threading.Event()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.scripted = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:port`, for the Messages API; Chat Completions are under `/v1`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def settings(self, provider: str = "scripted", *, api: str = "openai-completions", **more: Any) -> dict[str, Any]:
        """The settings section `models` with a provider that leads here."""
        base = f"{self.url}/v1" if api == "openai-completions" else self.url
        return {"providers": {provider: {"baseUrl": base, "api": api, "apiKey": "test-key", **more}}}

    def decide(self, seen: Seen) -> tuple[Say | Refuse, Counts]:
        """What to answer to a request, with its tokens counted. Requests are taken one after the other."""
        with self._turn:
            self.requests.append(seen)
            parts = prompt(seen.body)
            seen.tokens, seen.cached = sum(map(self._count, parts)), self._in_cache(parts)
            answer = self._refusal(seen) or self._next(seen)
            if isinstance(answer, Say):
                self._prompts = [*self._prompts, parts][-REMEMBERED:]
            return answer, self._counts(seen, answer)

    def wait(self, seconds: float) -> None:
        """Wait, but not beyond the server's end."""
        self._stopping.wait(seconds)

    def _refusal(self, seen: Seen) -> Refuse | Say | None:
        if self.max_bytes is not None and len(seen.raw) > self.max_bytes:
            return Refuse(413, "Request exceeds the maximum size", "request_too_large")
        words, asked = WORDS[self.words], _asked(seen.body)
        if self.window is None or seen.tokens + (asked if words.counts_output else 0) <= self.window:
            return None
        return Say("…", stop="length") if self.silent else words.refuse(seen.tokens, asked, self.window)

    def _next(self, seen: Seen) -> Say | Refuse:
        made = next(self._script, None)
        if made is None:
            return Refuse(500, "the server's script is at its end: give it more answers", "api_error")
        answer = made(seen) if callable(made) else made
        return Say(answer) if isinstance(answer, str) else answer

    def _in_cache(self, parts: list[str]) -> int:
        return max((self._shared(parts, earlier) for earlier in self._prompts), default=0)

    def _shared(self, parts: list[str], earlier: list[str]) -> int:
        """Tokens of what two prompts begin with alike: whole parts, and the beginning of the first that differs."""
        alike = _alike(parts, earlier)
        tokens = sum(map(self._count, parts[:alike]))
        if alike == min(len(parts), len(earlier)):
            return tokens
        begun = parts[alike][: _alike(parts[alike], earlier[alike])]
        return tokens + (self._count(begun) if begun else 0)

    def _counts(self, seen: Seen, answer: Say | Refuse) -> Counts:
        said = answer if isinstance(answer, Say) else Say()
        output = self._count(said.thinking + said.text + "".join(f"{call.name}{call.arguments}" for call in said.calls))
        if not seen.path.endswith("/messages"):
            return Counts(seen.tokens, seen.cached, 0, output)
        # This format caches what is marked, and bills what it puts there.
        marked = b'"cache_control"' in seen.raw
        read, written = (seen.cached, seen.tokens - seen.cached) if marked else (0, 0)
        return Counts(seen.tokens, read, written, output)


def _endless(make: Callable[[Seen], Answer]) -> Iterator[Callable[[Seen], Answer]]:
    while True:
        yield make


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items, or characters, two sequences begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((nth for nth, (left, right) in pairs if left != right), min(len(one), len(other)))


def _asked(body: dict[str, Any]) -> int:
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or OUTPUT)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1_024  # many sessions connect at once; beyond the system's five, connections are reset
    scripted: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that resets an idle connection is no fault of the server's; anything else is told."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 30
    disable_nagle_algorithm = True  # else each small event waits 40 ms for the one before to be acknowledged

    def do_GET(self) -> None:
        pages = self.server.scripted.pages
        status = 200 if self.path in pages else 404
        self._send(status, pages.get(self.path, {"error": {"message": "no such page"}}))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path in self.server.scripted.pages:
            return self._send(200, self.server.scripted.pages[self.path])
        wire = next((wire() for end, wire in WIRES.items() if self.path.endswith(end)), None)
        if wire is None:
            return self._send(404, {"error": {"message": "no such page"}})
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.path, headers, raw, json.loads(raw), at=time.monotonic())
        try:
            self._answer(wire, seen)
        except (BrokenPipeError, ConnectionResetError):
            seen.dropped = self.close_connection = True

    def _answer(self, wire: Wire, seen: Seen) -> None:
        answer, counts = self.server.scripted.decide(seen)
        if isinstance(answer, Refuse):
            seen.status = answer.status
            waits = {} if answer.retry_after is None else {"retry-after": f"{answer.retry_after:g}"}
            return self._send(answer.status, answer.raw or wire.error(answer), waits)
        seen.status = 200
        self.server.scripted.wait(answer.delay_s)
        model = str(seen.body.get("model"))
        if seen.body.get("stream"):
            return self._stream(wire, answer, counts, model)
        return self._send(200, wire.whole(answer, counts, model), cut=answer.hang_up)

    def _stream(self, wire: Wire, say: Say, counts: Counts, model: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in wire.begin(say, counts, model):
            self.server.scripted.wait(say.pace_s)
            self._chunk(event)
        if say.hang_up:
            self.close_connection = True
            return
        for event in [wire.failed(say.fails)] if say.fails else wire.end(say, counts, model):
            self._chunk(event)
        self._chunk("")

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None, *, cut: bool = False) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "text/html" if isinstance(body, str) else "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = self.close_connection or cut

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is the test's."""


WIRES: dict[str, type[Chat] | type[Messages]] = {"/chat/completions": Chat, "/messages": Messages}
