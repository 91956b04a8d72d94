"""The application: the door, the routes, and every error of Clew's as an answer that says what to do."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from clew.errors import (
    BadInput,
    BadSettings,
    CallerError,
    ClewError,
    Conflict,
    Draining,
    GatewayError,
    ModelError,
    NotAllowed,
    ProviderError,
    SessionExists,
    StoreBusy,
    TooBusy,
    UnknownEntry,
    UnknownSession,
)
from clew.gateway import admin_routes, channel_routes, events_routes, openai_routes, page_routes, session_routes
from clew.gateway.door import Door, hosts_of
from clew.gateway.hub import Hub
from clew.gateway.schema import described
from clew.gateway.tokens import Tokens
from clew.transcript.codec import scrub

STATUS: tuple[tuple[type[ClewError], int, str], ...] = (
    (UnknownSession, 404, "unknown_session"), (UnknownEntry, 404, "unknown_entry"),
    (SessionExists, 409, "session_exists"), (Conflict, 409, "conflict"), (BadInput, 400, "bad_input"),
    (BadSettings, 400, "bad_settings"), (CallerError, 400, "bad_request"), (TooBusy, 429, "too_busy"),
    (Draining, 503, "draining"), (NotAllowed, 403, "not_allowed"), (GatewayError, 503, "gateway"),
    (StoreBusy, 503, "store_busy"), (ProviderError, 502, "provider"), (ModelError, 502, "model"),
    (ClewError, 500, "failed"),
)  # fmt: skip
"""The status and code of each error; the first that fits counts."""

PROBLEMS = 20
"""Mistakes of a request that are told at once."""

Routes = Callable[[Hub], APIRouter]


def application(hub: Hub, tokens: Tokens, *, more: Sequence[Routes] = ()) -> Door:
    """The gateway as an ASGI application. `more` are further routes over the same hub."""

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        await hub.start()
        try:
            yield
        finally:
            await hub.close()

    api = FastAPI(
        title="Clew gateway", version=version("clew"), lifespan=living, docs_url=None, redoc_url=None,
        openapi_url="/api/openapi.json",
        description="Sessions of a context runtime: messages, events, compactions, and the way back to all of it.",
    )  # fmt: skip
    api.add_exception_handler(ClewError, _told)
    api.add_exception_handler(RequestValidationError, _wrong)
    api.add_exception_handler(HTTPException, _plain)
    api.state.hub = hub
    shipped = (session_routes, admin_routes, events_routes, openai_routes, channel_routes, page_routes)
    for routes in (_health, *(one.routes for one in shipped), *more):
        api.include_router(routes(hub))
    described(api)
    settings = hub.settings
    door = Door(
        api, tokens, hosts=hosts_of(settings.host, settings.allowed_hosts), origins=settings.allowed_origins,
        most_bytes=settings.max_body_bytes,
    )  # fmt: skip
    api.state.door, api.state.tokens = door, tokens
    return door


def _health(hub: Hub) -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.get("/healthz")
    async def healthz() -> dict[str, bool]:
        """Whether the process answers."""
        return {"ok": True}

    @router.get("/readyz", responses={503: {"description": "It is starting or ending."}})
    async def readyz() -> JSONResponse:
        """Whether it takes work in."""
        return JSONResponse({"ready": hub.ready}, 200 if hub.ready else 503)

    return router


def failure(status: int, code: str, message: str, **more: Any) -> JSONResponse:
    """An error as it is answered."""
    return JSONResponse(scrub({"error": {"code": code, "message": message, **more}}), status)


async def _told(_: Request, error: Exception) -> JSONResponse:
    status, code = next((status, code) for kind, status, code in STATUS if isinstance(error, kind))
    answer = failure(status, code, str(error))
    retry = getattr(error, "retry_after_s", None)
    if status in (429, 503):
        answer.headers["retry-after"] = str(retry or 5)
    return answer


async def _wrong(_: Request, error: Exception) -> JSONResponse:
    """A request that is not what the schema says: the places and what is wrong there, never what was sent."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    where = [{"at": ".".join(map(str, one["loc"]))[:100], "problem": one["msg"][:300]} for one in found[:PROBLEMS]]
    words = "; ".join(f"{one['at']}: {one['problem']}" for one in where[:3])
    return failure(422, "invalid", f"Nothing was changed. {words}", problems=where)


async def _plain(_: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else 500
    code = {404: "no_such_page", 405: "no_such_method"}.get(status, "http")
    return failure(status, code, str(getattr(error, "detail", "")))
