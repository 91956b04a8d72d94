"""One exchange after another in sessions that clients resend: whose it is, what is new in it, the answer."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable

import msgspec

from clew.errors import Draining, TooBusy
from clew.gateway.bus import Bus
from clew.gateway.hub import Hub
from clew.gateway.openai_agents import built, target
from clew.gateway.openai_chain import Given, Place, place, seed
from clew.gateway.openai_known import Choice, Known
from clew.gateway.openai_request import Asked, pairs
from clew.runtime.books import Books
from clew.runtime.events import Ended, Event
from clew.runtime.logbook import Logbook
from clew.runtime.relay import OnWords, Relay
from clew.transcript import Assistant

RELAYS = 128
"""Sessions that are kept open for their next request."""


class Placed(msgspec.Struct, frozen=True):
    """Where a request went."""

    key: str
    how: str
    """`new`, `extended`, `again`, `branched` or `afresh`."""


class Voice:
    """Tells what happens in one session: to its account, to the log, to whoever listens."""

    def __init__(self, hub: Hub, key: str) -> None:
        self._bus, self._key, self._now = hub.bus, key, hub.now
        self._books, self._log = Books(hub.clew.store, key, hub.clew.price), Logbook(key)
        self.run = ""
        """The exchange that is under way."""

    def __call__(self, event: Event) -> None:
        """Something happened."""
        bus: Bus = self._bus
        self._books(event)
        self._log(event)
        bus.tell(self._key, event, at=self._now(), run=self.run)
        if isinstance(event, Ended):
            self._books.save()


class Exchanges:
    """All of them, over a hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub, self.clew = hub, hub.clew
        self._known = Known(hub.clew.store, now=hub.now, new_id=hub.fresh_id)
        self._claim = asyncio.Lock()
        self._slots = asyncio.Semaphore(hub.settings.max_running)
        self._relays: OrderedDict[str, tuple[Relay, Voice]] = OrderedDict()
        self._busy: Counter[str] = Counter()

    async def answer(
        self, id: str, asked: Asked, named: str | None, placed: Callable[[Placed], None], on_words: OnWords | None
    ) -> Assistant:
        """The answer to a request, in the session that is `named`, or in the one that the history belongs to.

        `placed` is told once what is new is stored; `on_words` gets the words as they come. Raises Refused, Draining,
        TooBusy and what `Relay.answer` raises.
        """
        if self._hub.draining:
            raise Draining(retry_after_s=10)
        who = await target(self.clew, asked.model, named)
        agent = built(who, asked)
        if named is None:
            pairs(asked.messages)
        choice = await self._chosen(who.agent, asked, named)
        try:
            relay, voice = await self._relay(choice.key)
            async with relay.lane.hold(), self._slots:
                voice.run = id
                how = await self._admitted(relay, asked, named)
                placed(Placed(choice.key, choice.how or how))
                answer = await relay.answer(agent, asked.wishes, on_words)
                await asyncio.to_thread(self._known.learn, choice.key)
                return answer
        finally:
            self._busy[choice.key] -= 1
            self._busy += Counter()  # those that nothing is left of go

    async def _chosen(self, agent: str, asked: Asked, named: str | None) -> Choice:
        """The session, which is from here on at work."""
        async with self._claim:
            if named is not None:
                if self._busy[named] > self._hub.settings.max_queued:
                    raise TooBusy(
                        f"{self._busy[named]} requests wait for session {named} already; this one was not taken in. "
                        "Send it again in a while.",
                        retry_after_s=5,
                    )
                choice = Choice(named)
            else:
                given = Given.of(asked.messages, seed(agent, asked.user))
                choice = await asyncio.to_thread(self._known.choose, agent, given, +self._busy)
            self._busy[choice.key] += 1
            return choice

    async def _admitted(self, relay: Relay, asked: Asked, named: str | None) -> str:
        """Store what is new; how it follows what was there."""
        key = relay.session.key
        where = await asyncio.to_thread(self._placed, key, asked, named)
        if where.how == "afresh":
            relay.afresh()
        relay.admit(asked.messages[where.fresh :], back_to=where.back_to)
        await asyncio.to_thread(self._known.learn, key)
        return where.how

    def _placed(self, key: str, asked: Asked, named: str | None) -> Place:
        chain = self._known.chain(key)
        where = place(chain, Given.of(asked.messages, chain.seed))
        if named is not None:
            before = where.back_to is msgspec.UNSET and where.how == "extended" and chain.links
            pairs(asked.messages[where.fresh :], chain.links[-1].message if before else None)
        return where

    async def _relay(self, key: str) -> tuple[Relay, Voice]:
        if key not in self._relays:
            await self._hub.ensure(key)
            session, voice = self.clew.session(key), Voice(self._hub, key)
            relay = Relay(
                session, voice, now=self._hub.now, new_id=self._hub.fresh_id, engine=self.clew.engine(session)
            )  # fmt: skip
            self._relays[key] = relay, voice
        self._relays.move_to_end(key)
        for old in [one for one in self._relays if one not in self._busy][: max(0, len(self._relays) - RELAYS)]:
            relay, _ = self._relays.pop(old)
            await relay.close()
        return self._relays[key]

    async def close(self) -> None:
        """Let go of the sessions."""
        while self._relays:
            _, (relay, _) = self._relays.popitem()
            await relay.close()
