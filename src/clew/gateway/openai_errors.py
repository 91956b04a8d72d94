"""Errors as OpenAI's API words them, so that its clients raise what their users know."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from clew.errors import (
    AuthFailed,
    BadInput,
    BadRequest,
    BadSettings,
    CallerError,
    ClewError,
    Conflict,
    Exhausted,
    GatewayError,
    PromptTooLarge,
    ProviderError,
    ProviderTimeout,
    RateLimited,
    StoreBusy,
    TooBusy,
    UnknownSession,
    WindowOverflow,
)
from clew.models.refusal import retry_after

INVALID, RATE, SERVER = "invalid_request_error", "rate_limit_error", "server_error"

RETRY_S = 5
"""Seconds after which to come back where nobody says."""


class Refused(BadInput):
    """The request cannot be taken as it is; nothing was stored and nothing sent."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.param, self.code, self.status = param, code, status


TABLE: tuple[tuple[type[ClewError], int, str, str | None], ...] = (
    (PromptTooLarge, 400, INVALID, "context_length_exceeded"),
    (Exhausted, 400, INVALID, "context_length_exceeded"),
    (UnknownSession, 404, INVALID, "session_not_found"),
    (Conflict, 409, INVALID, "conflict"),
    (BadSettings, 400, INVALID, "bad_settings"),
    (CallerError, 400, INVALID, None),
    (TooBusy, 429, RATE, "too_busy"),
    (GatewayError, 503, SERVER, "draining"),
    (StoreBusy, 503, SERVER, "session_busy"),
    (RateLimited, 429, RATE, "rate_limit_exceeded"),
    (WindowOverflow, 400, INVALID, "context_length_exceeded"),
    (BadRequest, 400, INVALID, "refused_upstream"),
    (AuthFailed, 502, SERVER, "upstream_credentials"),
    (ProviderTimeout, 504, SERVER, "upstream_timeout"),
    (ProviderError, 502, SERVER, "upstream_failed"),
    (ClewError, 500, SERVER, None),
)
"""Status, type and code of each error; the first that fits counts."""


def described(error: BaseException) -> tuple[int, dict[str, Any]]:
    """The status of an error, and the body that tells of it."""
    if isinstance(error, Refused):
        return error.status, _body(str(error), INVALID, error.code, error.param)
    for kind, status, sort, code in TABLE:
        if isinstance(error, kind):
            return status, _body(str(error), sort, code, None)
    words = "The gateway failed at this request; its log says more. Nothing else was affected."
    return 500, _body(words, SERVER, None, None)


def answer(error: ClewError) -> JSONResponse:
    """An error as an answer."""
    status, body = described(error)
    waits = retry_after(error) if isinstance(error, ProviderError) else getattr(error, "retry_after_s", None)
    headers = {"retry-after": f"{waits or RETRY_S:g}"} if status in (429, 503) else None
    return JSONResponse(body, status, headers)


class OpenAIRoute(APIRoute):
    """A route whose errors are worded as OpenAI's."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See the class."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except ClewError as error:
                return answer(error)

        return handled


def _body(message: str, sort: str, code: str | None, param: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": sort, "param": param, "code": code}}
