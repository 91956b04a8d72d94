"""A request's body, read whole before anything looks at it: bounded in bytes, in time, and in depth."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

Refusal = tuple[int, str, str]
"""Status, code and words for a request that does not come in."""

BODY_S = 60.0
"""Seconds a client has for its body."""

DEPTH = 100
"""Levels a body may nest. What reads it later goes down a call a level."""

HELD = 8
"""Bodies of the largest size that may be in memory at once."""

LOOK_APART = 65_536
"""Bytes from which on a body's depth is looked at in a thread."""

SLOW: Refusal = (408, "too_slow", f"The body did not come within {BODY_S:g} s; nothing was taken in.")
DEEP: Refusal = (400, "too_deep", f"A body nests {DEPTH} levels at most; nothing was taken in.")
FULL: Refusal = (503, "too_busy", "Too many large requests are being read. Ask again in a while.")
GONE: Refusal = (400, "cut_off", "The body ended before its end; nothing was taken in.")

_STEP = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)


class Bodies:
    """Reads the bodies of a gateway's requests."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0

    @property
    def large(self) -> Refusal:
        """What is answered to a body that is too large."""
        return 413, "too_large", f"A request has at most {self._most:,} bytes; nothing was taken in."

    @contextmanager
    def counted(self) -> Iterator["Body"]:
        """A body to be read, counted among those that are in memory until its request is over."""
        body = Body(self)
        try:
            yield body
        finally:
            self._held -= body.taken

    def hold(self, more: int, taken: int) -> Refusal | None:
        """Count so many more bytes of a body."""
        self._held += more
        if taken > self._most:
            return self.large
        return FULL if self._held > HELD * self._most else None


class Body:
    """One request's."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies, self.taken = bodies, 0
        self.bytes = b""

    async def read(self, receive: Receive) -> Refusal | None:
        """Read all of it; why it is refused, if it is."""
        try:
            async with asyncio.timeout(BODY_S):
                refusal = await self._whole(receive)
        except TimeoutError:
            return SLOW
        if refusal is not None:
            return refusal
        shallow = await asyncio.to_thread(flat, self.bytes) if len(self.bytes) > LOOK_APART else flat(self.bytes)
        return None if shallow else DEEP

    async def _whole(self, receive: Receive) -> Refusal | None:
        pieces: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return GONE
            piece = message.get("body") or b""
            self.taken += len(piece)
            if (refusal := self._bodies.hold(len(piece), self.taken)) is not None:
                return refusal
            pieces.append(piece)
            more = bool(message.get("more_body"))
        self.bytes = b"".join(pieces)
        return None

    def again(self, receive: Receive) -> Receive:
        """A channel that gives the body, and then what else comes."""
        given = False

        async def replay() -> MutableMapping[str, Any]:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": self.bytes, "more_body": False}

        return replay


def flat(body: bytes, most: int = DEPTH) -> bool:
    """Whether JSON nests no deeper than so many levels. Strings do not count; what is no JSON is for others to say."""
    if body.count(b"[") + body.count(b"{") <= most:
        return True
    here = 0
    for step in _STEP.finditer(body):
        if (first := step[0][:1]) in (b"[", b"{"):
            here += 1
            if here > most:
                return False
        elif first in (b"]", b"}"):
            here -= 1
    return True
