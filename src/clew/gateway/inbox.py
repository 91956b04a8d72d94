"""The messages a session has accepted and not begun, stored before they are accepted.

Writes come from threads and from the event loop, at once. Each writes the list as it is when its turn to write has
come, so that an older list never covers a newer one.
"""

import asyncio
import threading
from typing import Any

import msgspec

from clew.errors import TooBusy
from clew.gateway.facts import ARCHIVED, INBOX
from clew.logs import log
from clew.store.port import Store

LARGE = 16_384
"""Characters of a message that is taken out of the row as soon as it is an entry; the row is read often."""

MOST_CHARS = 8_000_000
"""Characters that may wait for one session."""


class Waiting(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that was accepted and has not begun."""

    id: str
    text: str
    at: int
    sender: str = ""
    name: str = ""


class Inbox:
    """The inbox of one session."""

    def __init__(self, store: Store, key: str) -> None:
        self._store, self._key = store, key
        self._messages: list[Waiting] = []
        self._writing = threading.Lock()
        self._changed = self._written = 0

    def __contains__(self, message: object) -> bool:
        return message in self._messages

    def found(self, messages: list[Waiting]) -> None:
        """What a process before this one left here; it is stored already."""
        self._messages = [*messages, *self._messages]

    async def put(self, message: Waiting) -> bool:
        """Store a message; False where it is an entry already. Messages stand in the order of the calls.

        A session that was put away is taken out again. Raises TooBusy, and what the store does.
        """
        if sum(len(one.text) for one in self._messages) + len(message.text) > MOST_CHARS:
            raise TooBusy(
                f"Too much text waits for session {self._key}; this message was not taken in. Send it in a while.",
                retry_after_s=5,
            )
        self._messages.append(message)
        self._changed += 1
        try:
            if await asyncio.to_thread(self._stored, message):
                return True
        except BaseException:
            self.take(message)
            raise
        self.take(message)
        return False

    def _stored(self, message: Waiting) -> bool:
        if message.id in self._store.entry_many(self._key, [message.id]):
            return False
        self._write({})
        return True

    def take(self, message: Waiting) -> None:
        """A message waits no longer; `write` makes that last."""
        if message in self._messages:
            self._messages.remove(message)
            self._changed += 1

    def write(self, facts: dict[str, Any] | None = None) -> None:
        """Store the inbox as it is, and facts beside it. A store that fails is told: nothing depends on it, since an
        entry with a message's id says as much as its absence here."""
        try:
            self._write(facts or {})
        except Exception as error:  # noqa: BLE001 - a door: a turn must not fail for the sake of this note
            log.warning("inbox was not stored", key=self._key, error=type(error).__name__)

    def _write(self, facts: dict[str, Any]) -> None:
        mine = self._changed
        with self._writing:
            if self._written >= mine and not facts:
                return  # somebody who wrote meanwhile wrote this too
            changed, kept = self._changed, [msgspec.to_builtins(one) for one in list(self._messages)]
            taken_out = {ARCHIVED: None} if kept else {}
            self._store.describe(self._key, {INBOX: kept or None, **taken_out, **facts})
            self._written = changed
