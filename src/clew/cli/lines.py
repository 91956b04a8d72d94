"""Standard input line by line, without holding up the event loop, and without holding up the end of the program."""

import asyncio
import os
import sys
import threading
from collections import deque
from io import UnsupportedOperation

CHUNK = 65_536
"""Bytes read at once."""


class Lines:
    """The lines of standard input. A line that ends in a backslash goes on with the next one."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready: deque[str | None] = deque()
        self._arrived = asyncio.Event()
        self._ended = False
        threading.Thread(target=self._read, daemon=True, name="clew-stdin").start()

    async def next(self) -> str | None:
        """The next line, also one that came earlier; None at the end of the input."""
        parts: list[str] = []
        while (line := await self._one()) is not None:
            if not line.endswith("\\"):
                return "\n".join([*parts, line])
            parts.append(line[:-1])
        return "\n".join(parts) if parts else None

    async def fresh(self) -> str | None:
        """The next line that comes from now on; lines that came earlier stay for `next`."""
        earlier, self._ready = self._ready, deque()
        line = await self._one()
        self._ready = deque([*earlier, *self._ready])
        return line

    async def _one(self) -> str | None:
        while not self._ready:
            if self._ended:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        return self._ready.popleft()

    def _read(self) -> None:
        """On a thread of its own, past Python's buffer: a thread that waits in there could not be left behind."""
        try:
            number = sys.stdin.fileno()
        except (UnsupportedOperation, AttributeError):
            for line in sys.stdin:
                self._hand(line.rstrip("\r\n"))
            self._hand(None)
            return
        rest = b""
        while chunk := os.read(number, CHUNK):
            *whole, rest = (rest + chunk).split(b"\n")
            for one in whole:
                self._hand(one.decode("utf-8", "replace").rstrip("\r"))
        if rest:
            self._hand(rest.decode("utf-8", "replace"))
        self._hand(None)

    def _hand(self, line: str | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, line)

    def _take(self, line: str | None) -> None:
        if line is None:
            self._ended = True
        else:
            self._ready.append(line)
        self._arrived.set()
