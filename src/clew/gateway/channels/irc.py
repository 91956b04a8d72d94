"""The channel on an IRC network: private messages always, lines of a room where they begin with our nick.

Connects again whenever it has to, with longer and longer pauses; speaks no faster than a server likes.
"""

import asyncio
import random
from collections import deque
from importlib.util import find_spec
from typing import Any

from clew.commands.command import parse
from clew.config.agents import entry_of
from clew.config.gateway import Irc
from clew.errors import BadSettings, ClewError, NotAllowed
from clew.gateway.channels.desk import Desk, Incoming, reply
from clew.gateway.channels.irc_link import Link
from clew.gateway.channels.irc_rooms import Rooms
from clew.gateway.channels.irc_text import addressed, lines, plain, room_for
from clew.gateway.channels.names import redacted
from clew.gateway.channels.pace import Pace, Refusals
from clew.gateway.channels.rules import IRC, fold
from clew.gateway.hub import Hub
from clew.gateway.worker import Run
from clew.logs import log
from clew.models.settings import expand
from clew.prompt import chat

FIRST_S, LONGEST_S, STEADY_S = 1.0, 300.0, 60.0
"""The pauses before connecting again: each twice the one before; after a connection of a minute the first again."""

TICK_S, QUIET_S, DEAD_S = 15.0, 90.0, 180.0
"""How often the connection is looked at; after so long without a word the server is asked, or given up."""

AT_ONCE, EVERY_S = 4, 1.0
"""Lines that go out at once, and the pause before each further one."""

MOST_WAITING = 500
"""Lines that may wait; those that come then are left out."""

NICK_BYTES = 9
"""The length every server takes for a nick."""

TAKEN = frozenset({"nicknameinuse", "nickcollision", "unavailresource", "erroneusnickname"})

NAMES_TRIED = 20


class IrcChannel:
    """The channel."""

    name = IRC

    def __init__(self, hub: Hub, settings: Irc, *, pace: Pace | None = None, first_s: float = FIRST_S) -> None:
        """`first_s` is the first pause before connecting again. Raises BadSettings."""
        if find_spec("irc") is None:
            raise BadSettings(
                "channels.irc is on, and the package it needs is not installed. Nothing was started. "
                "Install it with: pip install 'clew[irc]'"
            )
        entry_of(hub.clew.config, settings.agent)
        written = settings.password.get_secret_value() if settings.password else ""
        self._password = expand(written, hub.clew.env, "channels.irc.password")
        self._hub, self._settings, self._first = hub, settings, first_s
        self._desk = Desk(hub, IRC, settings.agent)
        self._rooms = Rooms(settings.channels)
        self._pace = pace or Pace(AT_ONCE, EVERY_S)
        self._no, self._no_command = Refusals(1, 600.0), Refusals(5, 20.0)
        self._link: Link | None = None
        self._welcome = asyncio.Event()
        self._tried, self._ending = 0, False
        self._lines: deque[tuple[str, str, bool]] = deque()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._answers: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to connect, and have those answered whose messages a process before this one took in."""
        self._tasks = [
            asyncio.create_task(work(), name=f"irc {work.__name__}") for work in (self._stay, self._speak, self._look)
        ]
        for run in self._desk.left():
            if run.message is not None:
                self._later(self._left(run, run.message.sender.partition("!")[0]))

    async def stop(self, patience_s: float) -> None:
        """Take nothing more in, have what is under way answered for so many seconds, and go."""
        self._ending = True
        loop = asyncio.get_running_loop()
        ends = loop.time() + patience_s
        if self._answers:
            await asyncio.wait(self._answers, timeout=patience_s)
        while self._lines and self._welcome.is_set() and loop.time() < ends:
            await asyncio.sleep(0.02)
        if self._link is not None:
            self._link.close("The gateway ends.")
        for task in [*self._tasks, *self._answers]:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    # The connection ---------------------------------------------------------------------------------------------------

    async def _stay(self) -> None:
        """Be connected, again and again."""
        pause, loop = self._first, asyncio.get_running_loop()
        while not self._ending:
            began = loop.time()
            link = self._link = Link(self._settings, self._heard, password=self._password)
            self._tried = 0
            try:
                await link.open(self._settings.nick)
                await link.gone.wait()
                log.warning("irc connection lost", after_s=round(loop.time() - began))
            except (OSError, TimeoutError, ValueError) as error:
                link.close()
                log.warning("irc server cannot be reached", error=type(error).__name__, again_s=round(pause))
            self._welcome.clear()
            self._rooms.lost()
            if loop.time() - began > STEADY_S:
                pause = self._first
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))
            pause = min(2 * pause, LONGEST_S)

    async def _look(self) -> None:
        """Look after the connection: is the server there, are we in our rooms, is our name free again."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(TICK_S)
            link = self._link
            if link is None or link.gone.is_set():
                continue
            silent = loop.time() - link.heard
            if silent > DEAD_S:
                log.warning("irc server is silent; the connection is dropped")
                link.close()
            elif silent > QUIET_S:
                link.ping()
            if self._welcome.is_set():
                for room in self._rooms.outside():
                    link.join(room)
                if fold(link.nick) != fold(self._settings.nick):
                    link.call(self._settings.nick)

    async def _speak(self) -> None:
        """What is to be said, line after line, while there is somebody to say it to."""
        loop = asyncio.get_running_loop()
        while True:
            await self._welcome.wait()
            while self._lines and self._welcome.is_set() and self._link is not None:
                if pause := self._pace.wait(loop.time()):
                    await asyncio.sleep(pause)
                    continue
                self._link.say(*self._lines[0][:2], notice=self._lines[0][2])
                self._lines.popleft()
            if self._welcome.is_set():
                self._wake.clear()
                await self._wake.wait()

    # What is heard ----------------------------------------------------------------------------------------------------

    def _heard(self, event: Any) -> None:
        link = self._link
        if link is None:
            return
        kind = str(event.type)
        if kind == "welcome":
            self._welcome.set()
            log.info("irc connected", server=self._settings.host, as_wanted=link.nick == self._settings.nick)
            for room in self._rooms.outside():
                link.join(room)
        elif kind in TAKEN and not self._welcome.is_set():
            self._another_name(link)
        elif kind == "passwdmismatch":
            log.warning("irc server refuses the password")
        elif kind in ("privmsg", "pubmsg"):
            self._said(event, link)
        else:
            self._rooms.hear(event, link.nick)

    def _another_name(self, link: Link) -> None:
        self._tried += 1
        if self._tried > NAMES_TRIED:
            log.warning("irc server takes no name of ours")
            return link.close()
        end = "_" * self._tried if self._tried < 3 else str(self._tried)
        return link.call(f"{self._settings.nick[: NICK_BYTES - len(end)]}{end}")

    def _said(self, event: Any, link: Link) -> None:
        """A line to a room or to us. Lines of servers, of ourselves, and what is meant for others are left alone."""
        source, target, text = str(event.source or ""), str(event.target or ""), plain(str(event.arguments[0]))
        nick, _, rest = source.partition("!")
        if self._ending or not rest or not nick or fold(nick) == fold(link.nick):
            return
        room = self._rooms.find(target)
        if room is not None:
            text = addressed(text, (link.nick, self._settings.nick)) or ""
            said = Incoming(
                source, text, nick, room.name, home=fold(nick), topic=room.topic, people=len(room.people) or None
            )
        elif fold(target) == fold(link.nick):
            said = Incoming(source, text, nick, home=fold(nick))
        else:
            return
        if text:
            self._later(self._answer(said, nick))

    def _later(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    # What is said -----------------------------------------------------------------------------------------------------

    async def _answer(self, said: Incoming, nick: str) -> None:
        try:
            run = await self._desk.take(said)
        except NotAllowed as error:
            log.warning("refused", channel=IRC, sender=redacted(said.sender), room=bool(said.room))
            self._refuse(nick, str(error), self._no if parse(said.text) is None else self._no_command)
        except ClewError as error:
            self._refuse(nick, str(error), self._no_command)
        else:
            await self._tell(run, said.room, nick)

    async def _left(self, run: Run, nick: str) -> None:
        """Answer what was taken in before a restart."""
        row = await asyncio.to_thread(self._hub.clew.store.session, run.key)
        await self._tell(run, chat.place(row.meta).room, nick)

    async def _tell(self, run: Run, room: str, nick: str) -> None:
        await run.wait()
        told = reply(run)
        target, to = (room, f"{nick}: ") if room else (nick, "")
        if told.text.strip():
            self._put(target, f"{to}{told.text.lstrip()}", notice=False)

    def _refuse(self, nick: str, words: str, refusals: Refusals) -> None:
        """Tell one person no, in private, where a room reads along too; a notice, which no machine answers."""
        if refusals.may(fold(nick), asyncio.get_running_loop().time()):
            self._put(nick, words, notice=True)

    def _put(self, target: str, text: str, *, notice: bool) -> None:
        nick = self._link.nick if self._link else self._settings.nick
        found = lines(text, room_for(nick, target, "NOTICE" if notice else "PRIVMSG"))
        room = MOST_WAITING - len(self._lines)
        if len(found) > room:
            log.warning("irc lines are left out: too many wait", count=len(found) - max(0, room))
        self._lines.extend((target, line, notice) for line in found[: max(0, room)])
        self._wake.set()
