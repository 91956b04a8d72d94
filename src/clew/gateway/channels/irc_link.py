"""One connection to an IRC server, over the library `irc`: lines in as events, lines out, and when it is over.

What a server sends is not trusted: a line the library cannot read is left out, and one without an end ends it all.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from clew.config.gateway import Irc
from clew.logs import log

LONGEST = 16_384
"""Bytes without a line's end that are kept; more is no server of this protocol."""

CONNECT_S = 20.0

Take = Callable[[Any], None]
"""Takes an event of the library: `type`, `source`, `target`, `arguments`."""


class Link:
    """A connection, from `open` to `gone`."""

    def __init__(self, settings: Irc, take: Take, *, password: str = "") -> None:
        self._settings, self._take, self._password = settings, take, password
        self._wire: Any = None
        self.gone = asyncio.Event()
        """Set once the connection is over."""
        self.heard = 0.0
        """When the server said something last, on the loop's clock."""

    @property
    def nick(self) -> str:
        """Our name, as the server has it."""
        return str(self._wire.get_nickname()) if self._wire else self._settings.nick

    async def open(self, nick: str) -> None:
        """Connect and say who we are. Raises OSError, TimeoutError."""
        from irc.client_aio import AioReactor  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
        from irc.connection import AioFactory  # type: ignore[import-untyped]  # noqa: PLC0415

        settings, loop = self._settings, asyncio.get_running_loop()
        self._wire = AioReactor(loop=loop).server()
        self._wire.protocol_class = lambda wire, loop: Lines(self, wire, loop)
        self._wire.add_global_handler("all_events", lambda _, event: self._take(event))
        self.heard = loop.time()
        secure = {"ssl": ssl.create_default_context()} if settings.tls else {}
        password = f":{self._password}" if self._password else None  # it may hold blanks
        connecting = self._wire.connect(
            settings.host, settings.port, nick, password=password, connect_factory=AioFactory(**secure)
        )
        await asyncio.wait_for(connecting, CONNECT_S)

    def say(self, target: str, text: str, *, notice: bool = False) -> None:
        """One line to a person or a room."""
        self._send(f"{'NOTICE' if notice else 'PRIVMSG'} {target} :{text}")

    def join(self, room: str) -> None:
        """Enter a room."""
        self._send(f"JOIN {room}")

    def call(self, nick: str) -> None:
        """Take another name."""
        self._send(f"NICK {nick}")

    def ping(self) -> None:
        """Ask for a sign of life."""
        self._send("PING :clew")

    def close(self, words: str = "") -> None:
        """End it."""
        if self._wire is not None and self._wire.connected:
            self._wire.disconnect(words)
        self.gone.set()

    def _send(self, line: str) -> None:
        if self._wire is None or not self._wire.connected:
            return
        try:
            self._wire.send_raw(line)
        except ValueError as error:  # the library's words for a line that is too long or holds a line's end
            log.warning("irc line was not sent", reason=type(error).__name__)


class Lines(asyncio.Protocol):
    """Hands bytes to the library line by line."""

    def __init__(self, link: Link, wire: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        """Where the library looks for it."""
        self._link, self._wire, self._rest = link, wire, b""

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._link.heard = self.loop.time()
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._line(line)
        if len(self._rest) > LONGEST:
            log.warning("irc line without an end; the connection is dropped")
            self._link.close()

    def _line(self, line: bytes) -> None:
        text = line.strip(b"\r").decode("utf-8", "replace")
        if not text.strip():
            return
        try:
            self._wire.process_data(f"{text}\r\n".encode())
        except Exception as error:  # noqa: BLE001 - whatever a server sends, one line must not end the connection
            log.warning("irc line cannot be read", error=type(error).__name__)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._wire.disconnect()
        self._link.gone.set()
