"""Answers posted to a receiver: in order, signed, tried again for a while, and never more than a few wait.

What could not be delivered is still in its session: the same message, sent again, has its answer posted again.
"""

import asyncio
from collections import deque
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec

from clew.clock import Now
from clew.gateway.channels.signature import SIGNATURE, TIMESTAMP, sign
from clew.logs import log

MOST_WAITING = 1_000
"""Answers that may wait; then the oldest is given up."""

ATTEMPTS, FIRST_S, LONGEST_S = 8, 1.0, 60.0
"""How often an answer is posted, and the pauses in between: each twice the one before."""

TIMEOUT_S = 15.0

AGAIN = frozenset({408, 409, 425, 429})
"""Refusals that may not last. Any other from 400 to 499 does: it is no use to post that again."""


class Replies:
    """The way to one receiver."""

    def __init__(self, url: str, secret: str, *, now: Now, first_s: float = FIRST_S, most: int = MOST_WAITING) -> None:
        """`first_s` is the first pause, in seconds."""
        self._url, self._secret, self._now, self._first = url, secret, now, first_s
        self._most = most
        self._waiting: deque[dict[str, Any]] = deque()
        self._wake, self._task = asyncio.Event(), None  # type: tuple[asyncio.Event, asyncio.Task[None] | None]

    def start(self) -> None:
        """Begin to deliver."""
        self._task = asyncio.create_task(self._work(), name="replies")

    async def stop(self, patience_s: float) -> None:
        """Deliver what waits, for so many seconds at most."""
        if self._task is None:
            return
        ends = asyncio.get_running_loop().time() + patience_s
        while self._waiting and not self._task.done() and asyncio.get_running_loop().time() < ends:
            await asyncio.sleep(0.02)
        if self._waiting:
            log.warning("answers were not delivered", count=len(self._waiting))
        self._task.cancel()
        await asyncio.wait([self._task])

    def offer(self, answer: dict[str, Any]) -> None:
        """Have an answer delivered."""
        if len(self._waiting) >= self._most:
            log.warning("an answer was given up: too many wait", run=self._waiting[1].get("run"))
            del self._waiting[1]  # the first is on its way
        self._waiting.append(answer)
        self._wake.set()

    async def _work(self) -> None:
        local = urlsplit(self._url).hostname in ("127.0.0.1", "::1", "localhost")
        async with httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=not local) as client:
            while True:
                while self._waiting:
                    await self._deliver(client, self._waiting[0])
                    self._waiting.popleft()
                self._wake.clear()
                await self._wake.wait()

    async def _deliver(self, client: httpx2.AsyncClient, answer: dict[str, Any]) -> None:
        """One answer, until it is there or given up."""
        pause, run = self._first, answer.get("run")
        for attempt in range(1, ATTEMPTS + 1):
            failure, lasting, asked = await self._post(client, answer)
            if not failure:
                return
            if lasting or attempt == ATTEMPTS:
                log.warning("an answer was given up", run=run, attempts=attempt, reason=failure)
                return
            log.info("an answer is posted again", run=run, attempt=attempt, reason=failure)
            await asyncio.sleep(max(pause, asked))
            pause = min(2 * pause, LONGEST_S)

    async def _post(self, client: httpx2.AsyncClient, answer: dict[str, Any]) -> tuple[str, bool, float]:
        """Why it did not arrive (empty: it did), whether that will last, and the pause the receiver asks for."""
        body, at = msgspec.json.encode(answer), self._now() // 1000
        heads = {"content-type": "application/json", TIMESTAMP: str(at), SIGNATURE: sign(self._secret, at, body)}
        try:
            told = await client.post(self._url, content=body, headers=heads)
        except httpx2.HTTPError as error:
            return type(error).__name__, False, 0.0
        if told.is_success:
            return "", False, 0.0
        after = told.headers.get("retry-after", "")
        asked = min(float(after), LONGEST_S) if after.isascii() and after.isdigit() else 0.0
        return f"status {told.status_code}", 300 <= told.status_code < 500 and told.status_code not in AGAIN, asked
