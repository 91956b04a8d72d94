"""The door: every request is looked at before any route is: its host, its origin, its size, its token.

A page of another site that a browser on this machine has open can reach a port of this machine. It cannot read the
token, but it could post, or reach the gateway under a name of its own that points here. So a request for another host,
or from another origin, is refused before it is understood.
"""

import asyncio
import hashlib
import hmac
import json
import re
import secrets
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from clew.gateway.body import Bodies, Receive, Refusal
from clew.gateway.tokens import Tokens
from clew.logs import log

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "clew_gateway"
"""The cookie of a browser that has shown the token."""

LOGIN = "/login"
OPEN = frozenset({"/healthz", "/readyz", "/", LOGIN, "/favicon.ico"})
"""Paths without a token: they tell nothing of any session."""

OPEN_FOLDERS = ("/static/", "/channels/")
"""…and folders: the page's files, and the channels, which check their own signatures."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

ONCE = ("host", "origin", "authorization", "content-length")
"""Headers that may not be there twice: of two, others may have looked at the other one."""

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy",
     b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
     b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"),
)  # fmt: skip
"""On every answer that has no other of that name."""

WRONG_WAIT_S = 0.1
"""Seconds a wrong token waits for its answer."""

WRONG, WRONG_WITHIN_S = 30, 60.0
"""After so many wrong tokens in so many seconds, further ones are told to come back later; a right one comes in."""

VOID_KEPT = 100_000
"""Cookies that were logged out and are kept as such: more than a person logs out in a gateway's life."""

WRONG_HOST: Refusal = (421, "wrong_host", "This gateway is not reached by that name; see gateway.allowedHosts.")
WRONG_ORIGIN: Refusal = (403, "wrong_origin", "Requests from that page are not taken; see gateway.allowedOrigins.")
NO_HTTP: Refusal = (400, "no_http", "That is no request in HTTP, or its head is too large; nothing was taken in.")
TWICE: Refusal = (400, "header_twice", "A header that says who asks, or how much, is there twice.")
NO_ORIGIN: Refusal = (403, "no_origin", "A change asked for with a cookie has to say where it comes from.")
NO_TOKEN: Refusal = (
    401, "unauthorised", "Send the gateway's token: `Authorization: Bearer …`. `clew gateway` says how."
)  # fmt: skip
TOO_OFTEN: Refusal = (429, "too_often", "Too many wrong tokens came. Ask again in a minute, with the right one.")
BROKEN: Refusal = (
    500, "failed", "The gateway failed at this request; its log says more. Nothing else was affected."
)  # fmt: skip

CROWDED: Refusal = (503, "too_busy", "Too many requests are being answered. Ask again in a while.")

REQUESTS = 1_000
"""Requests that may be answered at once; streams of events have a bound of their own."""

RETRY_S = {429: 60, 503: 5}
"""Seconds after which to come back, where nothing else was said."""

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE | re.ASCII)


class Door:
    """The middleware around the whole application."""

    def __init__(
        self, app: App, tokens: Tokens, *, hosts: Iterable[str], origins: Iterable[str], most_bytes: int
    ) -> None:
        self._app, self._tokens, self._most = app, tokens, most_bytes
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)
        self._secret = secrets.token_bytes(32)
        self._void: set[str] = set()
        self._bodies = Bodies(most_bytes)
        self._wrong: deque[float] = deque(maxlen=WRONG)
        self._inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the module."""
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        refusal = self._refusal(scope)
        if refusal is not None and refusal[0] == 401:
            refusal = await self._at_fault(refusal)
        if scope["type"] == "websocket":
            return await (_shut(receive, send, refusal) if refusal else self._app(scope, receive, send))
        if refusal is None and self._inside >= REQUESTS:
            refusal = CROWDED
        if refusal is not None:
            return await _refuse(send, refusal)
        self._inside += 1
        try:
            return await self._let_in(scope, receive, send)
        finally:
            self._inside -= 1

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request that may be read, and whatever goes wrong in it told without its words."""
        reply = _Reply(send)
        with self._bodies.counted() as body:
            if (refusal := await body.read(receive)) is not None:
                return await _refuse(send, refusal)
            try:
                await self._app(scope, body.again(receive), reply)
            except Exception as error:  # noqa: BLE001 - the door: nothing an application does ends the process
                if _went_away(error):
                    return None
                log.warning("request failed", path=scope["path"], error=type(error).__name__, at=_place(error))
                if not reply.begun:
                    await _refuse(send, BROKEN)
        if reply.status == 401 and scope["path"] == LOGIN:
            self._wrong.append(time.monotonic())
        return None

    def cookie(self) -> str:
        """The value of a cookie for a browser that has shown the token; worth nothing after a restart."""
        name = secrets.token_urlsafe(16)
        return f"{name}.{self._sign(name)}"

    def forget(self, header: str) -> None:
        """The cookie in such a header is worth nothing from here on."""
        if (name := self._name_in(header)) and len(self._void) < VOID_KEPT:
            self._void.add(name)

    def _sign(self, name: str) -> str:
        return hmac.new(self._secret, name.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def _refusal(self, scope: Scope) -> Refusal | None:
        """Why a request does not come in, if it does not."""
        pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        heads = dict(pairs)
        if any(sum(name == once for name, _ in pairs) > 1 for once in ONCE):
            return TWICE
        host = heads.get("host", "").lower()
        if _name(host) not in self._hosts:
            return WRONG_HOST
        origin = heads.get("origin")
        if origin is not None and origin not in {f"http://{host}", f"https://{host}"} | self._origins:
            return WRONG_ORIGIN
        length = heads.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 20) or int(length) > self._most:
            return self._bodies.large
        return self._unknown(scope, heads)

    def _unknown(self, scope: Scope, heads: dict[str, str]) -> Refusal | None:
        """Why one does not come in that has shown neither token nor cookie, or a cookie alone."""
        path = scope["path"]
        if path in OPEN or path.startswith(OPEN_FOLDERS):
            return TOO_OFTEN if path == LOGIN and self._too_often() else None
        kind, _, token = heads.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._tokens.fits(token.strip()):
            return None
        if self._remembered(heads.get("cookie", "")):
            # A browser says where a change comes from, and that was looked at.
            safe = scope["type"] == "http" and scope["method"] in SAFE
            return None if safe or "origin" in heads else NO_ORIGIN
        return NO_TOKEN

    def _remembered(self, header: str) -> bool:
        name = self._name_in(header)
        return bool(name) and name not in self._void

    def _name_in(self, header: str) -> str:
        """The name of the cookie in a header, if it was given out here; else nothing."""
        try:
            jar = SimpleCookie(header)
        except CookieError:
            return ""
        value = jar[COOKIE].value if COOKIE in jar else ""
        name, _, seal = value.partition(".")
        ours = hmac.compare_digest(self._sign(name).encode(), seal.encode("utf-8", "surrogatepass"))
        return name if ours else ""

    async def _at_fault(self, refusal: Refusal) -> Refusal:
        """A wrong token waits a little; after many, it is told to come back later."""
        if self._too_often():
            return TOO_OFTEN
        self._wrong.append(time.monotonic())
        await asyncio.sleep(WRONG_WAIT_S)
        return refusal

    def _too_often(self) -> bool:
        return len(self._wrong) == WRONG and time.monotonic() - self._wrong[0] < WRONG_WITHIN_S


class _Reply:
    """The way back, with the headers that are on every answer."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    @property
    def begun(self) -> bool:
        return self.status != 0

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            have = {name.lower() for name, _ in message.get("headers", ())}
            message["headers"] = [*message.get("headers", ()), *(one for one in HEADERS if one[0] not in have)]
        await self._send(message)


def hosts_of(host: str, more: Iterable[str]) -> set[str]:
    """The names a gateway that listens on `host` is reached by."""
    bare = host.lower().strip("[]")
    return {"localhost", "127.0.0.1", "::1", bare, *more} - {"", "0.0.0.0", "::"}


def _name(host: str) -> str | None:
    """The name in a Host header, without its port; None for what is none."""
    found = _HOST.fullmatch(host)
    return found[1].lower().strip("[]") if found else None


def _place(error: BaseException) -> str:
    """Where in the code it failed: its words may be a user's."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    return "".join(f"{one.filename}:{one.lineno}" for one in last)


async def _shut(receive: Receive, send: Send, refusal: Refusal) -> None:
    await receive()
    await send({"type": "websocket.close", "code": 4000 + refusal[0], "reason": refusal[1]})


async def _refuse(send: Send, refusal: Refusal) -> None:
    status, heads, body = refused(refusal)
    await send({"type": "http.response.start", "status": status, "headers": heads})
    await send({"type": "http.response.body", "body": body})


def refused(refusal: Refusal) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """A refusal as it is answered: status, headers and body."""
    status, code, words = refusal
    body = json.dumps({"error": {"code": code, "message": words}}).encode()
    heads = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *HEADERS]
    if status == 401:
        heads.append((b"www-authenticate", b"Bearer"))
    if status in RETRY_S:
        heads.append((b"retry-after", str(RETRY_S[status]).encode()))
    if status in (400, 408, 413):  # the rest of the body is not read
        heads.append((b"connection", b"close"))
    return status, heads, body


def _went_away(error: BaseException) -> bool:
    """Whether all that happened is that a client broke its connection off."""
    if isinstance(error, BaseExceptionGroup):
        return all(_went_away(one) for one in error.exceptions)
    return isinstance(error, ConnectionError) or type(error).__name__ == "ClientDisconnect"
