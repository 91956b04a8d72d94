"""Channels over HTTP, and the life of all channels: they start after the sessions and stop before them.

The door lets these paths through without the gateway's token: each checks a signature of its own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from clew.gateway.channels.channel import Channel
from clew.gateway.channels.irc import IrcChannel
from clew.gateway.channels.signature import SIGNATURE, TIMESTAMP
from clew.gateway.channels.webhook import MOST_BYTES, WebhookChannel
from clew.gateway.hub import Hub
from clew.logs import log

PROBLEMS = {
    "unsigned": "The request is not signed. Nothing was taken in.",
    "wrong_signature": "The signature does not fit. Nothing was taken in.",
    "stale": "The request was signed too long ago, or in the future. Nothing was taken in; sign it again.",
}
"""What is said to who signed nothing, or not well."""


def routes(hub: Hub) -> APIRouter:
    """All of it over a hub. Raises BadSettings where a channel is on and cannot be."""
    channels: list[Channel] = []
    settings = hub.clew.config.channels

    @asynccontextmanager
    async def living(_: Any) -> AsyncIterator[None]:
        for channel in channels:
            await channel.start()
        try:
            yield
        finally:
            patience = hub.settings.drain_seconds
            await asyncio.gather(*(channel.stop(patience) for channel in channels))

    router = APIRouter(tags=["channels"], lifespan=living)
    if settings.webhook.enabled:
        webhook = WebhookChannel(hub, settings.webhook)
        channels.append(webhook)
        _webhook(router, webhook)
    if settings.irc.enabled:
        channels.append(IrcChannel(hub, settings.irc))
    return router


def _webhook(router: APIRouter, channel: WebhookChannel) -> None:
    @router.post("/channels/webhook", responses={202: {"description": "Taken in; the answer is not there yet."}})
    async def webhook(request: Request) -> JSONResponse:
        """A signed message from a person. The same `id` is the same message: it is answered again, and not done
        again."""
        body = await _body(request)
        if body is None:
            return _refused(413, "too_large", f"A message has at most {MOST_BYTES:,} bytes. Nothing was taken in.")
        problem = channel.problem(request.headers.get(TIMESTAMP), request.headers.get(SIGNATURE), body)
        if problem is not None:
            log.warning("refused", channel=channel.name, reason=problem)
            return _refused(401, problem, PROBLEMS[problem])
        status, told = await channel.take(body)
        return JSONResponse(told, status)


async def _body(request: Request) -> bytes | None:
    """A request's body, read no further than it may be long; None for a longer one."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)


def _refused(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message}}, status)
