"""The page at `/`: its files, the way in with the gateway's token, the reads that it needs, and a brief by rules."""

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from pydantic import Field

from clew.compact.outcome import Compacted
from clew.gateway import window_routes
from clew.gateway.door import COOKIE
from clew.gateway.hub import Hub
from clew.gateway.session_routes import Body, Key
from clew.gateway.tending import tended
from clew.render import as_json
from clew.runtime import events

STATIC = Path(__file__).with_name("static")

MEDIA = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
"""The media types of the page's files; what the machine believes of them does not count."""

FILES = frozenset(file.name for file in STATIC.iterdir() if file.suffix in MEDIA)
"""Nothing else in the folder is served."""

FRESH = {"cache-control": "no-cache"}
"""A browser asks again each time, so that page and gateway are of one version."""


class Login(Body):
    """The gateway's token, as `clew gateway` shows it."""

    token: Annotated[str, Field(min_length=1, max_length=1_000)]


def routes(hub: Hub) -> APIRouter:
    """All of it over a hub."""
    router = APIRouter()
    _files(router)
    _entrance(router)
    _acts(router, hub)
    router.include_router(window_routes.routes(hub))
    return router


def _files(router: APIRouter) -> None:
    @router.get("/", include_in_schema=False)
    async def page() -> Response:
        return _file("index.html")

    @router.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        return _file(name)

    @router.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return _file("icon.svg")


def _file(name: str) -> Response:
    if name not in FILES:
        return JSONResponse({"error": {"code": "no_such_page", "message": "There is no such file."}}, 404)
    return FileResponse(STATIC / name, media_type=MEDIA[Path(name).suffix], headers=FRESH)


def _entrance(router: APIRouter) -> None:
    @router.post("/login", tags=["page"])
    async def login(body: Login, request: Request) -> JSONResponse:
        """Show the token once; a cookie stands for it until the gateway ends."""
        if not request.app.state.tokens.fits(body.token):
            words = "That is not this gateway's token. `clew gateway --new-token` makes a new one."
            return JSONResponse({"error": {"code": "unauthorised", "message": words}}, 401)
        answer = JSONResponse({"ok": True})
        secure = request.url.scheme == "https"
        value = request.app.state.door.cookie()
        answer.set_cookie(COOKIE, value, httponly=True, samesite="strict", path="/", secure=secure)
        return answer

    @router.post("/logout", tags=["page"])
    async def logout(request: Request) -> JSONResponse:
        """End what the cookie stood for, and have the browser forget it."""
        request.app.state.door.forget(request.headers.get("cookie", ""))
        answer = JSONResponse({"ok": True})
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")
        return answer


def _acts(router: APIRouter, hub: Hub) -> None:
    @router.post("/api/session/rules", tags=["page"])
    async def by_rules(key: Key) -> dict[str, Any]:
        """Wind the old part up now and have rules write the brief: no model is asked. A session with work under way is
        refused."""

        async def ruled(*_: object) -> Any:
            return await hub.clew.compact(key, by_rules=True)

        outcome = await tended(hub, key, ruled, ruled)
        if isinstance(outcome, Compacted):
            body = outcome.body
            told = events.Compacted("compacted", body.trigger, body.tokens_before, body.tokens_after, outcome.id)
            hub.bus.tell(key, told, at=hub.now())
            sizes = {"tokensBefore": body.tokens_before, "tokensAfter": body.tokens_after, "id": outcome.id}
            return {"ok": True, "key": key, "compacted": True, "result": sizes}
        return as_json.camel(as_json.outcome(outcome, key))  # type: ignore[no-any-return]
