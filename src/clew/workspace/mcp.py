"""Tools that servers lend over the Model Context Protocol: started together, kept for the session, ended with it.

The list of tools is taken once, at the start, so that it keeps its bytes; a server that changes its list is asked again
in the next session. Needs the extra `mcp`, which is loaded only where a server is set.
"""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import IO, Any, Literal, TextIO, cast

import msgspec

from clew.errors import BadSettings, ClewError, Unreachable
from clew.models.settings import expand
from clew.workspace.mcp_content import output_of, tool_name
from clew.workspace.permission import name_gate
from clew.workspace.place import Workspace
from clew.workspace.port import Offer, Output
from clew.workspace.settings import McpSettings, ServerSettings

CLOSED = -32_000
"""The protocol's code for a connection that has ended."""
STOP_S = 10.0
"""Seconds a server has to end before its connection is cut; the library asks it, and kills it after 2 and 4."""
MOST_PAGES = 50
"""Pages of a list of tools that are asked for."""

logging.getLogger("mcp").addHandler(logging.NullHandler())
# Without a handler the library's complaints about a server would be printed over the terminal's chat.


class Lent(msgspec.Struct, frozen=True):
    """What the servers that were set have to lend."""

    offers: tuple[Offer, ...] = ()
    """By server, then by tool."""
    warnings: tuple[str, ...] = ()
    """A sentence for each server or tool that is left out."""


@asynccontextmanager
async def lent(settings: McpSettings, workspace: Workspace, env: Mapping[str, str]) -> AsyncIterator[Lent]:
    """Start every server that is set, and end them all at the end. One that fails is a warning, and the others work."""
    servers = [Server(name, one, workspace, env) for name, one in sorted(settings.servers.items()) if one.enabled]
    try:
        started = await asyncio.gather(*(server.start() for server in servers), return_exceptions=True)
        yield _gathered(servers, started)
    finally:
        await asyncio.gather(*(server.stop() for server in servers))


def _gathered(servers: Sequence["Server"], started: Sequence[list[Any] | BaseException]) -> Lent:
    offers: dict[str, Offer] = {}
    warnings: list[str] = []
    for server, tools in zip(servers, started, strict=True):
        if isinstance(tools, ClewError):
            warnings.append(str(tools))
        elif isinstance(tools, BaseException):
            raise tools
        else:
            for offer in (server.offer(tool) for tool in sorted(tools, key=lambda tool: str(tool.name))):
                if offers.setdefault(offer.name, offer) is not offer:
                    warnings.append(f"Two tools would be called {offer.name}; the second is left out.")
    return Lent(tuple(offers.values()), tuple(warnings))


class Server:
    """One server. It lives in a task of its own, since a connection has to end where it began."""

    def __init__(self, name: str, settings: ServerSettings, workspace: Workspace, env: Mapping[str, str]) -> None:
        self.name, self._settings, self._workspace, self._env = name, settings, workspace, env
        self._life: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._client: Any = None
        self._starting = asyncio.Lock()

    async def start(self) -> list[Any]:
        """Connect to it and list its tools. Raises Unreachable or BadSettings where it cannot be used."""
        self._over = asyncio.Event()
        ready: asyncio.Future[tuple[Any, list[Any]]] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live(ready, self._over))
        seconds = self._settings.start_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                self._client, tools = await ready
        except TimeoutError:
            await self.stop()
            raise Unreachable(
                f"The server {self.name} named no tools within {seconds} s; its tools are left out. Check "
                f"`mcp.servers.{self.name}`, or raise its `startTimeoutSeconds`."
            ) from None
        return tools

    async def stop(self) -> None:
        """End it: asked first, killed if it stays."""
        listening, self._client = self._client is not None, None
        self._over.set()
        if self._life is not None:
            await asyncio.wait({self._life}, timeout=STOP_S if listening else 0)
            self._life.cancel()
            await asyncio.wait({self._life})

    async def call(self, tool: str, arguments: dict[str, Any]) -> Output:
        """Have it run a tool. A server that has ended is started again first. Raises Unreachable where it ends."""
        from mcp import MCPError  # noqa: PLC0415 - an extra, and half a second to load

        async with self._starting:
            if self._client is None:
                await self.start()
        client, seconds = self._client, self._settings.timeout_seconds
        try:
            return output_of(await client.call_tool(tool, arguments, read_timeout_seconds=seconds))
        except MCPError as error:
            if error.code != CLOSED:
                raise
            if self._client is client:
                await self.stop()
            raise Unreachable(
                f"The server {self.name} ended during the call; whether it did what was asked is not known. It is "
                "started again with the next call."
            ) from None

    def offer(self, tool: Any) -> Offer:
        """One of its tools, as a model is offered it."""

        async def run(**arguments: Any) -> Output:
            return await self.call(tool.name, arguments)

        allowed = f"mcp.servers.{self.name}.allow"
        gate = name_gate(self._settings.ask, tool.name, self._settings.allow, allowed)
        return Offer(run, tool_name(self.name, tool.name), tool.description or "", tool.input_schema, gate)

    async def _live(self, ready: "asyncio.Future[tuple[Any, list[Any]]]", over: asyncio.Event) -> None:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            try:
                async with self._connected(said) as client:
                    ready.set_result((client, await _tools(client)))
                    await over.wait()
            except ClewError as error:
                _give_up(ready, error)
            except Exception as error:  # noqa: BLE001 - a server may fail in any way; the others go on
                _give_up(ready, self._failure(error, said))

    @asynccontextmanager
    async def _connected(self, said: IO[str]) -> AsyncIterator[Any]:
        """A client of the server; what the server writes to its standard error goes to `said`."""
        try:
            from mcp import Client, StdioServerParameters, stdio_client  # noqa: PLC0415 - an extra, and slow to load
            from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415
        except ImportError as error:
            raise BadSettings(
                f"The server {self.name} needs a package that is not installed; its tools are left out. Run: "
                "pip install 'clew[mcp]'"
            ) from error
        settings = self._settings
        async with AsyncExitStack() as stack:
            if settings.url is None:
                cwd = settings.cwd or str(self._workspace.root)
                command = StdioServerParameters(
                    command=settings.command or "", args=list(settings.args), env=self._secrets("env"), cwd=cwd
                )
                transport = stdio_client(command, errlog=cast(TextIO, said))
            else:
                web = await stack.enter_async_context(self._web())
                transport = streamable_http_client(settings.url, http_client=web)
            yield await stack.enter_async_context(Client(transport))

    def _web(self) -> Any:
        import httpx2  # noqa: PLC0415 - slow to load, and needed for servers with a URL alone

        seconds = self._settings.timeout_seconds
        return httpx2.AsyncClient(headers=self._secrets("headers"), timeout=httpx2.Timeout(30.0, read=seconds))

    def _secrets(self, group: Literal["env", "headers"]) -> dict[str, str]:
        """Variables or headers with what they refer to. Raises BadSettings for a reference that leads nowhere."""
        where = f"mcp.servers.{self.name}.{group}"
        held = self._settings.env if group == "env" else self._settings.headers
        return {name: expand(one.get_secret_value(), self._env, f"{where}.{name}") for name, one in held.items()}

    def _failure(self, error: BaseException, said: IO[str]) -> Unreachable:
        """Why it could not be used, with the last thing it said."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        said.seek(0)
        lines = [line.strip() for line in said.read()[-2_000:].splitlines() if line.strip()]
        last = f" It said: {lines[-1][:300]}" if lines else ""
        return Unreachable(f"The server {self.name} did not start ({error}); its tools are left out.{last}")


def _give_up(ready: "asyncio.Future[tuple[Any, list[Any]]]", error: ClewError) -> None:
    """Tell whoever waits for the start; after it, nobody does, and the next call starts the server again."""
    if not ready.done():
        ready.set_exception(error)


async def _tools(client: Any) -> list[Any]:
    """All of a server's tools; none where it lends none."""
    if client.server_capabilities.tools is None:
        return []
    found, cursor = [], None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        if (cursor := page.next_cursor) is None:
            break
    return found
