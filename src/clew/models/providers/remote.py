"""What the adapters of both SDKs share: the endpoint, bounds in time, refusals as errors, limits that are learnt."""

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import msgspec
from pydantic import SecretStr

from clew.errors import AuthFailed, ProviderError, ProviderTimeout, Unreachable, WindowOverflow
from clew.models import catalog, local
from clew.models.overflow import classify, read_body
from clew.models.port import Limits, Request
from clew.models.refusal import complaint_of, refused
from clew.transcript import Assistant

CONNECT_S = 10.0
"""Seconds to reach a server; how long an answer may take is the request's own bound."""

ASKED = 3
"""Times a local server is asked for its window: some know it only once the first request has loaded the model."""

NO_RESPONSE = "without sending a response"
"""How the HTTP library says that a connection was closed before any of an answer came."""

LEAST_WINDOW = 512
"""Tokens; a refusal that seems to name a smaller window has been misread."""

OnText = Callable[[str], None] | None

SECRET = 8
"""Characters from which a key is taken out of an error: a shorter one is a stand-in, and would take words apart."""


class Endpoint(msgspec.Struct, frozen=True):
    """Where a model is and what is known of it."""

    provider: str
    model: str
    base_url: str
    key: SecretStr | None = None
    key_names: tuple[str, ...] = ()
    """Environment variables a missing key is looked for in; empty where none is asked for."""
    headers: dict[str, SecretStr] = {}
    limits: Limits = Limits()
    reasoning: bool = False
    images: bool = True
    native_compaction: bool = False
    """Whether the settings say that the provider compacts a conversation itself."""

    @property
    def name(self) -> str:
        """`provider/model-id`."""
        return f"{self.provider}/{self.model}"

    @property
    def local(self) -> bool:
        """Whether the server is on this machine or this network."""
        return local.is_local(self.base_url)


class Remote(ABC):
    """A model behind an SDK, which is loaded when the first request is made: it is large and slow to import."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._sdk: ModuleType | None = None
        self._client: Any = None
        self._failures: tuple[type[Exception], ...] = ()
        self._unreached: tuple[type[Exception], ...] = ()
        self._served: int | None = None
        self._asked = 0
        self._learnt: int | None = None

    @property
    def name(self) -> str:
        """`provider/model-id`."""
        return self.endpoint.name

    async def limits(self) -> Limits:
        """What is declared or catalogued, bounded by what the server says and by what a refusal gave away."""
        if self._served is None and self._asked < ASKED and self.endpoint.local:
            self._asked += 1
            self._served = await local.window(self.endpoint.base_url, self.endpoint.model, key=self._key())
        known = self.endpoint.limits
        for window, source in ((self._served, "server"), (self._learnt, "error")):
            known = catalog.lower(known, window, source) if window else known
        return known

    async def complete(self, request: Request, *, on_text: OnText = None) -> Assistant:
        """The answer. See the port."""
        self._check_key()
        try:
            async with asyncio.timeout(request.timeout_s):
                client = await self._connected()
                return await self._insisted(client, request, on_text)
        except TimeoutError as late:
            raise ProviderTimeout(
                f"{self.name} did not answer within {request.timeout_s:g} s. The history is as it was. "
                "Try again, or choose another model."
            ) from late
        except self._failures as failure:
            raise self._translated(failure) from failure

    async def close(self) -> None:
        """Let go of connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _insisted(self, client: Any, request: Request, on_text: OnText) -> Assistant:
        """The answer, asked for once more where a kept connection was closed before any of it came: servers close them
        after so many requests or seconds, which says nothing of the server."""
        try:
            return await self._exchange(client, request, on_text)
        except self._failures as failure:
            if NO_RESPONSE not in str(failure.__cause__):
                raise
        return await self._exchange(client, request, on_text)

    @abstractmethod
    def _connect(self) -> tuple[ModuleType, Any]:
        """The SDK and a client of it. Runs in a thread."""

    @abstractmethod
    async def _exchange(self, client: Any, request: Request, on_text: OnText) -> Assistant:
        """One request and its answer; the SDK's errors are let through."""

    def cut_off(self) -> Unreachable:
        """The error for an answer that ended before it was complete."""
        return Unreachable(f"{self.name} broke off in the middle of its answer. The history is as it was. Try again.")

    def _key(self) -> str | None:
        return self.endpoint.key.get_secret_value() if self.endpoint.key else None

    def _check_key(self) -> None:
        if self.endpoint.key_names and not self.endpoint.key and not self.endpoint.headers:
            raise AuthFailed(
                f"There is no API key for {self.endpoint.provider}; nothing was sent. Set "
                f"{' or '.join(self.endpoint.key_names)}, or `models.providers.{self.endpoint.provider}.apiKey`."
            )

    async def _connected(self) -> Any:
        if self._client is None:
            sdk, client = await asyncio.to_thread(self._connect)
            self._sdk, self._client = sdk, self._client or client
            # Once an answer is streaming, the SDKs let the errors of their HTTP library through as they are.
            http = import_module("httpx2")  # what both SDKs stand on, loaded by them
            self._failures = (sdk.APIError, http.HTTPError, json.JSONDecodeError)
            self._unreached = (http.ConnectError, http.UnsupportedProtocol, http.ProxyError)
        return self._client

    def _translated(self, failure: Exception) -> ProviderError:
        sdk = self._sdk
        if sdk is None or isinstance(failure, sdk.APITimeoutError):
            return ProviderTimeout(f"{self.name} did not answer in time. The history is as it was. Try again.")
        if isinstance(failure, sdk.APIConnectionError) and isinstance(failure.__cause__, self._unreached):
            return Unreachable(
                f"{self.name} cannot be reached at {_place(self.endpoint.base_url)} ({failure.__cause__}). "
                "The history is as it was. Check the base URL and the network."
            )
        if isinstance(failure, sdk.APIError) and not isinstance(failure, sdk.APIConnectionError):
            return self._refused(failure)
        return self.cut_off()

    def _refused(self, failure: Any) -> ProviderError:
        status = getattr(failure, "status_code", None)
        # An error inside a stream has the status of the stream, which began well.
        status = status if status is not None and status >= 400 else None
        code, kind, text = read_body(failure.body)
        text = self._redacted(text or str(failure))
        waits = _retry_after(getattr(getattr(failure, "response", None), "headers", {}))
        error = refused(self.name, classify(status, code, kind, text), text, status=status, retry_after=waits)
        self._learn(error)
        return error

    def _learn(self, error: ProviderError) -> None:
        complaint = complaint_of(error)
        if isinstance(error, WindowOverflow) and complaint and not complaint.terminal and complaint.limit:
            limit = max(complaint.limit, LEAST_WINDOW)
            self._learnt = min(limit, self._learnt or limit)

    def _redacted(self, text: str) -> str:
        key = self._key()
        return text.replace(key, "[key]") if key and len(key) >= SECRET else text


def _place(base_url: str) -> str:
    """The URL without a user's name and password."""
    return re.sub(r"//[^/@]*@", "//", base_url)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from the header in milliseconds or in seconds; a date is left to our own waits."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(float(headers[name]) / unit, 0.0)
        except (KeyError, ValueError):
            continue
    return None
