"""What whoever looks after a gateway asks of it: cutting a history short for good, and its log."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field

from clew.config import data_dir
from clew.errors import BadInput
from clew.gateway.hub import Hub
from clew.gateway.session_routes import Body, Key
from clew.gateway.tending import tended
from clew.logs import FILE, Following, last, log

POLL_S = 0.5
"""Seconds between two looks at a log that is followed."""


class TrimBody(Body):
    """How much of a history is left, and the session's key once more, so that none is cut by mistake."""

    max_lines: Annotated[int, Field(alias="maxLines", ge=1, le=2**53)]
    confirm: str


def routes(hub: Hub) -> APIRouter:
    """All of these over a hub."""
    router = APIRouter(prefix="/api", tags=["admin"])

    @router.post("/session/trim")
    async def trim(key: Key, body: TrimBody) -> dict[str, Any]:
        """Cut all but the newest lines of a session off for good; calls stay with their results. There is no way back.
        A session with work under way is refused."""
        return await cut(hub, key, body.max_lines, body.confirm)

    @router.get("/log")
    async def lines(lines: Annotated[int, Query(ge=0, le=10_000)] = 50) -> dict[str, list[str]]:
        """The last lines of the log, each one a JSON object."""
        return {"lines": await asyncio.to_thread(last, _path(hub), lines)}

    @router.get("/log/follow", response_class=EventSourceResponse)
    async def following() -> AsyncIterator[ServerSentEvent]:
        """The lines that come to the log."""
        come = Following(_path(hub))
        try:
            while not hub.draining:
                for line in await asyncio.to_thread(come.read):
                    yield ServerSentEvent(raw_data=line, event="line")
                await asyncio.sleep(POLL_S)
        finally:
            come.close()

    return router


async def cut(hub: Hub, key: str, keep: int, confirm: str) -> dict[str, Any]:
    """Cut a session short, and say what is left. Raises BadInput, UnknownSession, Conflict."""
    if confirm != key:
        raise BadInput(f"Nothing was cut: `confirm` has to be the key, {key}.")
    before = await asyncio.to_thread(hub.clew.store.session, key)
    removed = await tended(
        hub, key, lambda conversation: conversation.trim(keep), lambda: asyncio.to_thread(hub.session(key).trim, keep)
    )
    after = await asyncio.to_thread(hub.clew.store.session, key)
    log.info("history cut", key=key, lines=keep, removed=removed, kept=after.entries)
    told: dict[str, Any] = {"ok": True, "key": key, "compacted": bool(removed), "kept": after.entries}
    if not removed:
        told["reason"] = f"it has {after.entries} lines"
    sizes = {"tokensBefore": before.window_tokens, "tokensAfter": after.window_tokens}
    return {**told, "removed": removed, "result": sizes}


def _path(hub: Hub) -> Path:
    return data_dir(hub.clew.env) / FILE
