"""Where a channel hands in what somebody said: looked at, placed in its session, and taken in once.

What was refused leaves nothing behind: no session, no entry, no fact.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec

from clew.commands.command import parse
from clew.errors import ClewError, Draining, UnknownEntry, UnknownSession
from clew.gateway.answers import failed, words
from clew.gateway.channels.names import key_of, message_id
from clew.gateway.hub import Hub
from clew.gateway.worker import Run
from clew.logs import log
from clew.memory.flush import strip_silent
from clew.prompt import chat
from clew.runtime.events import Ended
from clew.store.port import Store
from clew.transcript import Assistant, Said, User, calls_of, text_of

HANDLED = "handled"
"""Under which a session's row keeps the ids of messages that left no entry of their own: commands."""

MOST_HANDLED = 100
"""So many of them."""

BEFORE = "This was carried out before; its answer is not kept."


class Incoming(msgspec.Struct, frozen=True):
    """Something somebody said on a channel."""

    sender: str
    """Who, as the channel knows them; what the lists are about."""
    text: str
    name: str = ""
    """What people call them."""
    room: str = ""
    """Where, if others read along."""
    id: str = ""
    """The channel's own id of the message; empty where it has none."""
    home: str = ""
    """Whose session it is where that is not `sender` itself: on IRC the nick."""
    topic: str = ""
    people: int | None = None


class Reply(msgspec.Struct, frozen=True):
    """What a person is told of a run. Nothing of what a provider or the machine said."""

    ok: bool
    outcome: str
    text: str


class Desk:
    """The desk of one channel."""

    def __init__(self, hub: Hub, channel: str, agent: str) -> None:
        self.hub, self.channel, self._agent = hub, channel, agent
        self._coming: dict[str, asyncio.Task[Run]] = {}
        self._watches: set[asyncio.Task[None]] = set()

    async def take(self, said: Incoming) -> Run:
        """Take it in: its run, which is the same one however often the same message comes.

        Raises NotAllowed, TooBusy, Draining, BadInput, BadSettings.
        """
        key = key_of(self._agent, self.channel, said.home or said.sender, said.room)
        self.hub.rules.check(key, said.text, said.sender)
        if not said.id:
            return await self._say(key, said, None)
        id = message_id(self.channel, key, said.sender, said.id)
        task = self._coming.get(id)
        if task is None:
            task = self._coming[id] = asyncio.create_task(self._once(key, said, id))
            task.add_done_callback(lambda _: self._coming.pop(id, None))
        return await asyncio.shield(task)

    def left(self) -> Iterator[Run]:
        """Runs of this channel that a process before this one took in, and that nobody waits for."""
        for run in self.hub.runs():
            if run.message is not None and run.state != "ended" and run.key.split(":")[2:3] == [self.channel]:
                yield run

    async def _once(self, key: str, said: Incoming, id: str) -> Run:
        try:
            return self.hub.run(id)
        except UnknownEntry:
            pass
        if (run := await asyncio.to_thread(past, self.hub.clew.store, key, id)) is not None:
            return run
        if parse(said.text) is not None:
            return await self._command(key, said, id)
        run = await self._say(key, said, id)
        watch = asyncio.create_task(self._entered(run))
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)
        return run

    async def _entered(self, run: Run) -> None:
        """What was said once more after a turn that failed has the entry of the first time: its own id is noted."""
        await run.wait()
        store = self.hub.clew.store
        if run.ended is not None and not await asyncio.to_thread(store.entry_many, run.key, [run.id]):
            await asyncio.to_thread(self._note, run.key, run.id, True)

    async def _command(self, key: str, said: Incoming, id: str) -> Run:
        """A command leaves no entry: its id is noted before it is taken in, so that it is never carried out twice."""
        await self._placed(key, said)
        await asyncio.to_thread(self._note, key, id, True)
        try:
            return await self._say(key, said, id)
        except ClewError:
            await asyncio.to_thread(self._note, key, id, False)
            raise

    async def _say(self, key: str, said: Incoming, id: str | None) -> Run:
        await self._placed(key, said)
        name = said.name or said.home if said.room else ""
        return await self.hub.say(key, said.text, sender=said.sender, name=name, id=id)

    async def _placed(self, key: str, said: Incoming) -> None:
        """The session, with what is known of where its people are: that is written only when it has changed."""
        commanders = self.hub.rules.commanders(self.channel) if said.room else ()
        place = chat.Place(self.channel, said.room, said.topic, said.people, commanders)
        if not said.room:
            place = chat.Place(self.channel)
        known: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(place))  # as a store gives it back
        row = await self.hub.ensure(key, chat=known)
        if row.meta.get(chat.FACT) != known:
            await asyncio.to_thread(self.hub.clew.store.describe, key, {chat.FACT: known})

    def _note(self, key: str, id: str, on: bool) -> None:
        store = self.hub.clew.store
        ids = [one for one in store.session(key).meta.get(HANDLED, ()) if one != id]
        store.describe(key, {HANDLED: [*ids, id][-MOST_HANDLED:] if on else ids or None})


def past(store: Store, key: str, id: str) -> Run | None:
    """The run of a message that a process before this one took in and finished, or lost; None for a new message."""
    try:
        row = store.session(key)
    except UnknownSession:
        return None
    record = store.entry_many(key, [id]).get(id)
    if record is None and id not in row.meta.get(HANDLED, ()):
        return None
    run = Run(id, key)
    run.ended = _answer(store, key, record.seq) if record else Ended("done", BEFORE)
    run.state = "ended"
    run.done.set()
    return run


def _answer(store: Store, key: str, seq: int) -> Ended:
    """How the turn ended that began with an entry: the model's last words before the next person's."""
    last: Assistant | None = None
    for record in store.entries(key, after=seq):
        body = record.entry.body
        if isinstance(body, Said) and isinstance(body.message, User) and not body.message.synthetic:
            break
        if isinstance(body, Said) and isinstance(body.message, Assistant):
            last = body.message
    if last is None or any(calls_of(last)):
        return Ended("failed", code="interrupted")
    return Ended("done", strip_silent(text_of(last)))


def reply(run: Run) -> Reply:
    """What to tell the one who spoke. An empty text is an answer that says nothing."""
    if isinstance(run.error, Draining):
        return Reply(False, "draining", "")  # it waits for the next gateway, and is answered there
    if run.error is not None:
        log.warning("run failed", run=run.id, error=type(run.error).__name__)
        return Reply(False, "failed", "That could not be carried out; whoever runs me finds the reason in the log.")
    if run.ended is None:
        return Reply(False, "cancelled", "That was cancelled.") if run.answer is None else _told(run)
    if run.ended.outcome == "done":
        return Reply(True, "done", run.ended.text)
    code = run.ended.code or run.ended.outcome
    log.warning("run without an answer", run=run.id, outcome=run.ended.outcome, code=code)
    return Reply(False, run.ended.outcome, f"I have no answer to that ({code}). Your message is kept; say it again.")


def _told(run: Run) -> Reply:
    assert run.answer is not None
    return Reply(not failed(run.answer), "command", words(run.answer))
