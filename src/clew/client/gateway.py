"""Asks a gateway over HTTP, and makes its refusals the errors they are. Waits as long as the work takes."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

from clew.client.place import TOKEN, Place, is_near
from clew.errors import (
    BadInput,
    BadSettings,
    CallerError,
    ClewError,
    Conflict,
    Draining,
    GatewayError,
    ModelError,
    NoGateway,
    NotAllowed,
    ProviderError,
    SessionExists,
    StoreBusy,
    TooBusy,
    UnknownEntry,
    UnknownSession,
)

CODES: dict[str, type[ClewError]] = {
    "unknown_session": UnknownSession, "unknown_entry": UnknownEntry, "session_exists": SessionExists,
    "conflict": Conflict, "bad_input": BadInput, "invalid": BadInput, "too_large": BadInput,
    "bad_settings": BadSettings, "bad_request": CallerError, "too_busy": TooBusy, "draining": Draining,
    "not_allowed": NotAllowed, "store_busy": StoreBusy, "provider": ProviderError, "model": ModelError,
}  # fmt: skip
"""The error for each code of an answer; any other code is the gateway's own trouble."""

PROBE_S = 3.0
"""Seconds a gateway that nobody named has to say that it is there."""


class Gateway:
    """A gateway. A context manager; used by one thread."""

    def __init__(self, place: Place, *, timeout_s: float | None = None) -> None:
        """`timeout_s` is how long an answer may take; None waits for it however long the work takes."""
        import httpx2  # noqa: PLC0415 - a tenth of a second to load, for commands that ask a gateway

        self.place, self._web = place, httpx2
        self._patience = f"{timeout_s:g} s" if timeout_s else "no sign of life"
        heads = {"authorization": f"Bearer {place.token}"} if place.token else {}
        try:
            self._http = httpx2.Client(
                base_url=place.url, headers=heads, timeout=timeout_s, trust_env=not is_near(place.url)
            )
        except (UnicodeEncodeError, ValueError):
            raise BadInput(f"The token for {place.url} holds characters no token has; nothing was asked.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def there(self) -> bool:
        """Whether a gateway answers here at all; which says nothing of the token."""
        with suppress(self._web.HTTPError, ValueError):
            answer = self._http.get("/healthz", timeout=PROBE_S)
            return bool(answer.status_code == 200 and answer.json() == {"ok": True})
        return False

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """What stands at a path. `None` among the query is left out. Raises ClewError."""
        return self._ask("GET", path, query)

    def post(self, path: str, body: Mapping[str, Any] | None = None, **query: Any) -> dict[str, Any]:
        """What comes of a request to do something; without what is None in its body. Raises ClewError."""
        return self._ask("POST", path, query, body or {})

    def delete(self, path: str, body: Mapping[str, Any], **query: Any) -> dict[str, Any]:
        """What comes of a request to remove something. Raises ClewError."""
        return self._ask("DELETE", path, query, body)

    @contextmanager
    def lines(self, path: str, *, heads: Mapping[str, str], quiet_s: float, **query: Any) -> Iterator[Iterator[str]]:
        """The lines of an answer that goes on; `quiet_s` without any is a lost connection. Raises ClewError."""
        timeout = self._web.Timeout(quiet_s, connect=PROBE_S)
        with self._told(), self._http.stream("GET", path, params=_given(query), headers=heads, timeout=timeout) as got:
            if got.status_code != 200:
                got.read()
                raise self._refusal(got)
            yield _lines(got.iter_bytes())

    def _ask(self, method: str, path: str, query: Mapping[str, Any], body: Any = None) -> dict[str, Any]:
        given = {name: value for name, value in body.items() if value is not None} if body is not None else None
        with self._told():
            answer = self._http.request(method, path, params=_given(query), json=given)
            told = answer.json() if answer.status_code < 400 else None
        if not isinstance(told, dict):
            raise self._refusal(answer)
        return told

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong on the way, as the error it is."""
        url, web = self.place.url, self._web
        try:
            yield
        except web.ConnectError as error:
            raise NoGateway(
                f"No gateway answers at {url}; nothing was changed. Start one with `clew gateway`, or name another one "
                "with --url or CLEW_GATEWAY_URL."
            ) from error
        except web.TimeoutException as error:
            raise GatewayError(
                f"The gateway at {url} did not answer in time ({self._patience}). What was asked for may go on there; "
                "look with `clew sessions`, or wait longer with --timeout."
            ) from error
        except (web.HTTPError, web.InvalidURL) as error:
            raise NoGateway(
                f"The connection to the gateway at {url} broke ({type(error).__name__}). What was asked for may have "
                "been done; look with `clew sessions`."
            ) from error
        except UnicodeEncodeError as error:
            raise BadInput("What was given holds characters that are no text; nothing was asked.") from error
        except ValueError as error:
            raise GatewayError(f"What answers at {url} is no gateway of Clew's; nothing was changed.") from error

    def _refusal(self, answer: Any) -> ClewError:
        """The error an answer stands for."""
        url = self.place.url
        try:
            told = answer.json()["error"]
            code, words = str(told["code"]), str(told["message"])
        except (ValueError, KeyError, TypeError):
            return GatewayError(f"What answers at {url} ({answer.status_code}) is no gateway of Clew's.")
        if answer.status_code == 401:
            what = "The token that was shown is not its token" if self.place.token else "It wants its token"
            return NotAllowed(
                f"The gateway at {url} let nobody in; nothing was changed. {what}: give it as {TOKEN}, with --token, "
                "or as gateway.auth.token in the settings. `clew gateway --new-token` makes a new one."
            )
        kind = CODES.get(code, GatewayError)
        return kind(words) if kind is not NotAllowed else NotAllowed(f"{words} ({url})")


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """The lines of an answer, parted where the format parts them: a text may hold what else counts as a line's end."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.removesuffix(b"\r").decode("utf-8", "replace") for line in whole)


def _given(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}
