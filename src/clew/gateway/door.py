"""The door: every request is looked at before any route is: its host, its origin, its size, its token.

A page of another site that a browser on this machine has open can reach a port of this machine. It cannot read the
token, but it could post, or reach the gateway under a name of its own that points here. So a request for another host,
or from another origin, is refused before it is understood.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from clew.errors import BadInput
from clew.gateway.tokens import Tokens

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "clew_gateway"
"""The cookie of a browser that has shown the token."""

OPEN = frozenset({"/healthz", "/readyz", "/", "/login", "/favicon.ico"})
"""Paths without a token: they tell nothing of any session."""

OPEN_FOLDERS = ("/static/", "/channels/")
"""…and folders: the page's files, and the channels, which check their own signatures."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy",
     b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
     b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"),
)  # fmt: skip
"""On every answer."""


class Door:
    """The middleware around the whole application."""

    def __init__(
        self, app: App, tokens: Tokens, *, hosts: Iterable[str], origins: Iterable[str], most_bytes: int
    ) -> None:
        self._app, self._tokens, self._most = app, tokens, most_bytes
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)
        self._secret = secrets.token_bytes(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the module."""
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        heads = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if (refusal := self._refusal(scope, heads)) is not None:
            return await _refuse(scope, receive, send, *refusal)
        if scope["type"] == "websocket":
            return await self._app(scope, receive, send)
        return await self._app(scope, self._bounded(receive), _dressed(send))

    def cookie(self) -> str:
        """The value of a cookie for a browser that has shown the token; worth nothing after a restart."""
        name = secrets.token_urlsafe(16)
        return f"{name}.{self._sign(name)}"

    def _sign(self, name: str) -> str:
        return hmac.new(self._secret, name.encode(), hashlib.sha256).hexdigest()

    def _refusal(self, scope: Scope, heads: dict[str, str]) -> tuple[int, str, str] | None:
        """Status, code and words for a request that does not come in."""
        host = _name(heads.get("host", ""))
        if host not in self._hosts:
            return 421, "wrong_host", "This gateway is not reached by that name; see gateway.allowedHosts."
        own = {f"http://{heads.get('host', '')}", f"https://{heads.get('host', '')}"}
        origin = heads.get("origin")
        if origin is not None and origin not in own | self._origins:
            return 403, "wrong_origin", "Requests from that page are not taken; see gateway.allowedOrigins."
        if (length := heads.get("content-length", "0")).isdigit() and int(length) > self._most:
            return 413, "too_large", f"A request has at most {self._most:,} bytes; nothing was taken in."
        path = scope["path"]
        if path in OPEN or path.startswith(OPEN_FOLDERS):
            return None
        kind, _, token = heads.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._tokens.fits(token.strip()):
            return None
        if self._remembered(heads.get("cookie", "")):
            if scope.get("method", "GET") in SAFE and scope["type"] == "http":
                return None
            if origin is not None:  # a browser says where a change comes from, and that is this page, as seen above
                return None
            return 403, "no_origin", "A change asked for with a cookie has to say where it comes from."
        return 401, "unauthorised", "Send the gateway's token: `Authorization: Bearer …`. `clew gateway` says how."

    def _remembered(self, header: str) -> bool:
        try:
            jar = SimpleCookie(header)
        except CookieError:
            return False
        value = jar[COOKIE].value if COOKIE in jar else ""
        name, _, seal = value.partition(".")
        return bool(name) and hmac.compare_digest(self._sign(name), seal)

    def _bounded(self, receive: Receive) -> Receive:
        """A body without a length is counted as it comes; what is beyond the bound ends it."""
        taken = 0

        async def bounded() -> MutableMapping[str, Any]:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body") or b"")
            if taken > self._most:
                raise TooLarge
            return message

        return bounded


class TooLarge(BadInput):
    """A body went beyond the bound while it was read."""


def hosts_of(host: str, more: Iterable[str]) -> set[str]:
    """The names a gateway that listens on `host` is reached by."""
    return {"localhost", "127.0.0.1", "::1", _name(host), *more} - {"", "0.0.0.0", "::"}


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _dressed(send: Send) -> Send:
    async def dressed(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            have = {name.lower() for name, _ in message.get("headers", ())}
            message["headers"] = [*message.get("headers", ()), *(one for one in HEADERS if one[0] not in have)]
        await send(message)

    return dressed


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, code: str, words: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4000 + status % 1000, "reason": code})
        return
    body = json.dumps({"error": {"code": code, "message": words}}).encode()
    heads = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *HEADERS]
    if status == 401:
        heads.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": heads})
    await send({"type": "http.response.body", "body": body})
