"""The process: listens, says where, ends in order."""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from clew.app import Clew
from clew.errors import BadSettings
from clew.gateway.app import Routes, application
from clew.gateway.door import NO_HTTP, refused
from clew.gateway.hub import Hub
from clew.gateway.lock import sole
from clew.gateway.tokens import Tokens
from clew.models.settings import expand

if sys.platform != "win32":
    import resource

CONNECTIONS = 4_000
"""Connections at once. The door's own bounds come first, with an answer that says more."""

GOODBYE_S = 5
"""Seconds a connection has for its last answer once no turn runs any more."""

IDLE_S = 75
"""Seconds an idle connection is kept: longer than clients keep theirs, so that none asks on one just closed."""

HEAD_BYTES = 65_536
"""Bytes of a request's line and headers."""

SOCKET_BYTES = 65_536
"""Bytes of a message over a WebSocket; nothing is asked that way."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(
    clew: Clew, store: Path, folder: Path, workspace: Path, *, anew: bool = False,
    say: Callable[[str, str | None], None], more: Sequence[Routes] = (),
) -> None:  # fmt: skip
    """Serve until told to end. `store` is the store's file, `folder` the data directory. `say` is told the URL once it
    listens, and the token if one was made just now.

    Raises BadSettings where it may not or cannot listen, StoreBusy where another gateway has the store.
    """
    settings = clew.config.gateway
    token = settings.auth.token
    written = expand(token.get_secret_value(), clew.env, "gateway.auth.token") if token else None
    if written is None and not is_loopback(settings.host):
        raise BadSettings(
            f"gateway.host is {settings.host}, which others can reach, and no gateway.auth.token is set. Nothing was "
            "started. Set a token, or listen on 127.0.0.1."
        )
    with sole(store):
        _more_files()
        listening = _listen(settings.host, settings.port)
        with listening:
            tokens, made = Tokens.of(written, folder, anew=anew)
            host, port = listening.getsockname()[:2]
            url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
            asyncio.run(_served(clew, workspace, tokens, listening, lambda: say(url, made), more))


async def _served(
    clew: Clew, workspace: Path, tokens: Tokens, listening: socket.socket, say: Callable[[], None],
    more: Sequence[Routes],
) -> None:  # fmt: skip
    hub = Hub(clew, workspace=workspace)
    config = uvicorn.Config(
        application(hub, tokens, more=more), log_config=None, access_log=False, lifespan="on", server_header=False,
        timeout_graceful_shutdown=GOODBYE_S, timeout_keep_alive=IDLE_S,
        limit_concurrency=CONNECTIONS, ws_max_size=SOCKET_BYTES, ws_max_queue=4,
        ws_per_message_deflate=False, http=Line, h11_max_incomplete_event_size=HEAD_BYTES,
    )  # fmt: skip
    server = Server(config, hub)
    with server.heeding():
        await hub.start()
        say()
        await server.serve(sockets=[listening])


class Line(H11Protocol):
    """A connection. What is no HTTP gets the same kind of answer as everything else."""

    def send_400_response(self, msg: str) -> None:
        """Say so, and hang up."""
        status, heads, body = refused(NO_HTTP)
        for event in (h11.Response(status_code=status, headers=heads), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Server(uvicorn.Server):
    """A server that goes on answering while the hub drains, and closes only then. Told to end twice, it waits no
    longer for the turns that run."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub
        self._draining: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to `heeding`; the library's own way would end with the signal, not with 0."""
        yield

    @contextmanager
    def heeding(self) -> Iterator[None]:
        """Drain when a signal says so."""
        loop = asyncio.get_running_loop()

        def heed(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._told_to_end)

        before = {number: signal.signal(number, heed) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _told_to_end(self) -> None:
        if self._draining is not None:
            self._hub.hurry()
            return
        self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        try:
            await self._hub.drain()
        finally:
            self.should_exit = True


def _more_files() -> None:
    """Each connection is an open file: as many as the system lets this process have."""
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 2 * CONNECTIONS if hard == resource.RLIM_INFINITY else min(2 * CONNECTIONS, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio lets packets wait
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        raise BadSettings(
            f"The gateway cannot listen on {host}:{port} ({error.strerror}). Nothing was started. Another program may "
            "listen there; choose another port with gateway.port, or --port."
        ) from error
    return listening
