"""What happens, as it happens: server-sent events, and the same over a WebSocket."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Header, Query, WebSocket, WebSocketDisconnect
from fastapi.sse import EventSourceResponse, ServerSentEvent

from clew.errors import GatewayError
from clew.gateway.bus import Listener, Told
from clew.gateway.hub import Hub
from clew.render.as_json import camel

Key = Annotated[str | None, Query(max_length=200, description="One session; all where none is named.")]
After = Annotated[int | None, Query(ge=0, le=2**53, description="The last event that was seen before.")]
Seen = Annotated[str | None, Header(alias="last-event-id", max_length=20)]

TRY_AGAIN = 1013
"""The WebSocket's code for a server that takes nobody in just now."""


def plain(told: Told) -> dict[str, Any]:
    """An event as data; what a tool was called with is as the model wrote it."""
    made = msgspec.to_builtins(told)
    shown: dict[str, Any] = camel(made)
    if "arguments" in made["event"].get("call", {}):
        shown["event"]["call"]["arguments"] = made["event"]["call"]["arguments"]
    return shown


def routes(hub: Hub) -> APIRouter:
    """Both over a hub."""
    router = APIRouter(tags=["events"])

    async def listening(key: Key = None, after: After = None, seen: Seen = None) -> AsyncIterator[Listener]:
        known = int(seen) if seen and seen.isascii() and seen.isdigit() else after
        listener = hub.bus.listen(key, known)
        try:
            yield listener
        finally:
            listener.close()

    @router.get("/api/events", response_class=EventSourceResponse)
    async def events(listener: Annotated[Listener, Depends(listening)]) -> AsyncIterator[ServerSentEvent]:
        """Events of one session or of all. A client that comes back with `Last-Event-ID` is told what it missed."""
        async for told in listener:
            data = plain(told)
            yield ServerSentEvent(data=data, event=data["event"]["type"], id=str(told.seq))

    @router.websocket("/api/ws")
    async def socket(socket: WebSocket, key: Key = None, after: After = None) -> None:
        try:
            listener = hub.bus.listen(key, after)
        except GatewayError:
            await socket.close(TRY_AGAIN)
            return
        await socket.accept()
        telling = asyncio.create_task(_told(socket, listener))
        leaving = asyncio.create_task(_left(socket))
        try:
            await asyncio.wait([telling, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            listener.close()
            telling.cancel()
            leaving.cancel()
            await asyncio.gather(telling, leaving, return_exceptions=True)

    return router


async def _told(socket: WebSocket, listener: Listener) -> None:
    try:
        async for told in listener:
            await socket.send_json(plain(told))
        await socket.close(1001)
    except WebSocketDisconnect:
        return


async def _left(socket: WebSocket) -> None:
    """Wait until the client goes away; what it says is not looked at."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
