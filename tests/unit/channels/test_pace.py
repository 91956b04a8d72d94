"""How fast lines go out, how often somebody is told no, and what is known of a room."""

from types import SimpleNamespace

from clew.gateway.channels.irc_rooms import Rooms
from clew.gateway.channels.pace import MOST_REMEMBERED, Pace, Refusals


def test_a_few_at_once_and_then_one_a_second() -> None:
    pace = Pace(3, 1.0)
    assert [pace.wait(10.0) for _ in range(3)] == [0, 0, 0]
    assert pace.wait(10.0) == 1.0
    assert pace.wait(11.0) == 0
    assert pace.wait(11.0) > 0
    assert [pace.wait(100.0) for _ in range(3)] == [0, 0, 0]


def test_each_person_is_told_no_once_a_while() -> None:
    refusals = Refusals(1, 600)
    assert refusals.may("eve", 1_000)
    assert not refusals.may("eve", 1_010)
    assert refusals.may("mallory", 1_010)
    assert refusals.may("eve", 1_601)


def test_nobody_fills_the_memory_with_names() -> None:
    refusals = Refusals(1, 600)
    for nth in range(MOST_REMEMBERED + 50):
        refusals.may(f"eve{nth}", 1.0)
    assert len(refusals._paces) == MOST_REMEMBERED


def event(type, source="", target=None, *arguments):
    return SimpleNamespace(type=type, source=source, target=target, arguments=list(arguments))


def test_a_room_is_known_by_what_the_server_tells() -> None:
    rooms = Rooms(["#Clew"])
    room = rooms.find("#clew")
    assert room is not None
    for one in (
        event("join", "clew!c@h", "#clew"), event("currenttopic", "server", "clew", "#clew", "\x02Plans\x02"),
        event("namreply", "server", "clew", "=", "#clew", "@ann +bob clew"), event("join", "eve!e@h", "#clew"),
        event("nick", "ann!a@h", "anna"), event("part", "eve!e@h", "#clew"), event("quit", "bob!b@h"),
        event("join", "x!x@h", "#elsewhere"),
    ):  # fmt: skip
        rooms.hear(one, "clew")
    assert (room.inside, room.topic, room.people) == (True, "Plans", {"clew", "anna"})
    rooms.hear(event("kick", "op!o@h", "#clew", "clew", "out"), "clew")
    assert rooms.outside() == ["#Clew"]
