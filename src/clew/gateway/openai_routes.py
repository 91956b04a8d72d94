"""The OpenAI-compatible endpoint: any client of Chat Completions, with its window kept for it.

The client goes on as it does with any provider: it sends its system prompt, its tools and its whole history, and runs
its tools. Its session is found by what it sends; what the model gets is that session's window.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from clew.errors import ClewError
from clew.gateway import openai_agents, openai_answer, openai_errors
from clew.gateway.hub import Hub
from clew.gateway.openai_answer import Head
from clew.gateway.openai_errors import OpenAIRoute, Refused
from clew.gateway.openai_exchange import Exchanges, Placed
from clew.gateway.openai_request import Asked, read
from clew.logs import log
from clew.transcript import Assistant

PATIENCE_S = 20.0
"""Seconds for which a stream waits for its first words with its status open, so that a failure is a status; then it
begins, and says so often that it is there."""

ALIVE = ": waiting\n\n"
"""A comment: clients pass over it, and proxies see that the stream lives."""

Item = Placed | str | Assistant | BaseException
"""What comes of an exchange: where it went, words, the answer or what went wrong."""

SESSION, HOW = "x-clew-session", "x-clew-history"


def routes(hub: Hub) -> APIRouter:
    """All of it over a hub."""
    exchanges = Exchanges(hub)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        yield
        await exchanges.close()

    router = APIRouter(prefix="/v1", tags=["openai"], route_class=OpenAIRoute, lifespan=living)
    _models(router, hub)
    _completions(router, hub, exchanges)
    return router


def _models(router: APIRouter, hub: Hub) -> None:
    @router.get("/models")
    async def models() -> dict[str, Any]:
        """The agents, and the models that the settings name."""
        return {"object": "list", "data": list(openai_agents.listed(hub.clew))}

    @router.get("/models/{name:path}")
    async def model(name: str) -> dict[str, Any]:
        """One of them."""
        for one in openai_agents.listed(hub.clew):
            if one["id"] == name:
                return one
        raise Refused(f"The model `{name}` does not exist.", param="model", code="model_not_found", status=404)


def _completions(router: APIRouter, hub: Hub, exchanges: Exchanges) -> None:
    @router.post("/chat/completions", response_model=None)
    async def completions(
        request: Request, x_clew_session: Annotated[str | None, Header(max_length=200)] = None
    ) -> Response:
        """The next answer of a conversation, in one body or streamed. The body is OpenAI's; the answer's header
        `X-Clew-Session` names the session it was kept in, and the request's may name the one to keep it in."""
        asked = await asyncio.to_thread(read, await request.body())
        head = Head(f"chatcmpl-{hub.fresh_id()}", hub.now() // 1_000, asked.model)
        exchange = Exchange(exchanges, head.id, asked, x_clew_session)
        if asked.stream:
            return await _streamed(exchange, head, asked)
        return await _whole(exchange, head, request)


class Exchange:
    """One that is under way: a task of its own, and what comes of it in order."""

    def __init__(self, exchanges: Exchanges, id: str, asked: Asked, named: str | None) -> None:
        self.items: asyncio.Queue[Item] = asyncio.Queue()
        put = self.items.put_nowait
        words: Callable[[str], None] | None = put if asked.stream else None
        self.task = asyncio.create_task(exchanges.answer(id, asked, named, put, words), name=f"exchange {id}")
        self.task.add_done_callback(self._over)
        self.placed: Placed | None = None

    def _over(self, task: asyncio.Task[Assistant]) -> None:
        if not task.cancelled():
            self.items.put_nowait(task.exception() or task.result())

    async def next(self, patience_s: float | None = None) -> Item | None:
        """What comes next; None where nothing came for so long."""
        try:
            async with asyncio.timeout(patience_s):
                item = await self.items.get()
        except TimeoutError:
            return None
        if isinstance(item, Placed):
            self.placed = item
            return await self.next(patience_s)
        return item

    def headers(self) -> dict[str, str]:
        """Where it went."""
        if self.placed is None:
            return {}
        key = self.placed.key
        return {HOW: self.placed.how, **({SESSION: key} if key.isascii() else {})}


async def _whole(exchange: Exchange, head: Head, request: Request) -> Response:
    """The answer in one body. A client that goes away ends the exchange."""
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait([exchange.task, gone], return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not exchange.task.done():
            exchange.task.cancel()
    if exchange.task.cancelled() or not exchange.task.done():
        with suppress(asyncio.CancelledError, ClewError):
            await exchange.task
        return Response(status_code=499)  # nobody reads it
    item = await exchange.next()
    if isinstance(item, Assistant):
        return JSONResponse(openai_answer.whole(head, item), headers=exchange.headers())
    return _failed(item, exchange)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _streamed(exchange: Exchange, head: Head, asked: Asked) -> Response:
    """The answer in pieces; what fails before the first of them fails with its status."""
    try:
        first = await exchange.next(PATIENCE_S)
    except asyncio.CancelledError:
        exchange.task.cancel()
        raise
    if isinstance(first, BaseException):
        return _failed(first, exchange)
    headers = {"cache-control": "no-cache", "x-accel-buffering": "no", **exchange.headers()}
    pieces = _pieces(exchange, first, head, usage=asked.usage)
    return StreamingResponse(pieces, media_type="text/event-stream", headers=headers)


async def _pieces(exchange: Exchange, item: Item | None, head: Head, *, usage: bool) -> AsyncIterator[str]:
    try:
        yield openai_answer.piece(head, {"role": "assistant", "content": ""})
        while True:
            if item is None:
                yield ALIVE
            elif isinstance(item, str):
                yield openai_answer.piece(head, {"content": item})
            elif isinstance(item, Assistant):
                for piece in openai_answer.ending(head, item, usage=usage):
                    yield piece
                return
            elif isinstance(item, BaseException):
                _log(item)
                yield openai_answer.event(openai_errors.described(item)[1])
                return
            item = await exchange.next(PATIENCE_S)
    finally:
        exchange.task.cancel()


def _failed(error: Any, exchange: Exchange) -> Response:
    if not isinstance(error, ClewError):
        _log(error)
        status, body = openai_errors.described(error)
        return JSONResponse(body, status)
    answer = openai_errors.answer(error)
    answer.headers.update(exchange.headers())
    return answer


def _log(error: BaseException) -> None:
    if not isinstance(error, ClewError):
        log.warning("request failed", path="/v1/chat/completions", error=type(error).__name__)
