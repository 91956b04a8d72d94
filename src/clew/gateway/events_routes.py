"""What happens, as it happens: server-sent events, and the same over a WebSocket."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query, WebSocket, WebSocketDisconnect
from fastapi.sse import EventSourceResponse, ServerSentEvent

from clew.gateway.bus import Told
from clew.gateway.hub import Hub
from clew.render.as_json import camel


def plain(told: Told) -> dict[str, Any]:
    """An event as data."""
    return camel(msgspec.to_builtins(told))  # type: ignore[no-any-return]


def routes(hub: Hub) -> APIRouter:
    """Both over a hub."""
    router = APIRouter(tags=["events"])

    @router.get("/api/events", response_class=EventSourceResponse)
    async def events(
        key: Annotated[str | None, Query(max_length=200, description="One session; all where none is named.")] = None,
        last_event_id: Annotated[str | None, Header(max_length=20)] = None,
    ) -> AsyncIterator[ServerSentEvent]:
        """Events of one session or of all. A client that comes back with `Last-Event-ID` is told what it missed."""
        after = int(last_event_id) if last_event_id and last_event_id.isascii() and last_event_id.isdigit() else None
        async for told in hub.bus.listen(key, after):
            data = plain(told)
            yield ServerSentEvent(data=data, event=data["event"]["type"], id=str(told.seq))

    @router.websocket("/api/ws")
    async def socket(socket: WebSocket, key: str | None = None) -> None:
        await socket.accept()
        try:
            async for told in hub.bus.listen(key):
                await socket.send_json(plain(told))
            await socket.close(1001)
        except WebSocketDisconnect:
            return

    return router
