"""What is known of the rooms we are in: who is there, and the topic. Kept from what the server tells."""

from collections.abc import Iterable
from typing import Any

from clew.gateway.channels.irc_text import plain
from clew.gateway.channels.rules import fold

MOST_PEOPLE = 100_000
"""Of a room; no more are remembered."""

_MARKS = "~&@%+!"
"""Before a name in a list: what its bearer may do in the room."""


class Room:
    """A room."""

    def __init__(self, name: str) -> None:
        self.name, self.topic, self.inside = name, "", False
        self.people: set[str] = set()

    def add(self, names: Iterable[str]) -> None:
        """People are there."""
        for name in names:
            if name and len(self.people) < MOST_PEOPLE:
                self.people.add(fold(name))


class Rooms:
    """The rooms of the settings; of others nothing is kept."""

    def __init__(self, names: Iterable[str]) -> None:
        self._rooms = {fold(name): Room(name) for name in names}

    def find(self, name: str) -> Room | None:
        """A room by its name."""
        return self._rooms.get(fold(name))

    def outside(self) -> list[str]:
        """Rooms we should be in and are not."""
        return [room.name for room in self._rooms.values() if not room.inside]

    def lost(self) -> None:
        """The connection is gone."""
        for room in self._rooms.values():
            room.inside = False
            room.people.clear()

    def hear(self, event: Any, own: str) -> None:
        """Something happened in a room; `own` is our nick."""
        kind, given = str(event.type), [str(one) for one in event.arguments]
        who = str(event.source or "").partition("!")[0]
        if kind == "quit":
            self._gone(who)
        elif kind == "nick" and event.target:
            self._renamed(who, str(event.target))
        elif kind == "namreply" and len(given) >= 3 and (room := self.find(given[-2])):
            room.add(name.lstrip(_MARKS) for name in given[-1].split())
        elif kind == "currenttopic" and len(given) >= 2 and (room := self.find(given[0])):
            room.topic = plain(given[1])
        elif event.target and (room := self.find(str(event.target))):
            self._inside(kind, room, who, given, own)

    def _inside(self, kind: str, room: Room, who: str, given: list[str], own: str) -> None:
        if kind == "topic":
            room.topic = plain(given[0]) if given else ""
        elif kind == "join":
            if fold(who) == fold(own):
                room.inside = True
                room.people.clear()
            room.add([who])
        elif kind in ("part", "kick"):
            left = given[0] if kind == "kick" and given else who
            room.people.discard(fold(left))
            if fold(left) == fold(own):
                room.inside = False
                room.people.clear()

    def _gone(self, who: str) -> None:
        for room in self._rooms.values():
            room.people.discard(fold(who))

    def _renamed(self, who: str, now: str) -> None:
        for room in self._rooms.values():
            if fold(who) in room.people:
                room.people.discard(fold(who))
                room.people.add(fold(now))
