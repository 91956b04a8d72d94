"""Who listens hears everything in order, or is told that something was left out."""

import asyncio

import pytest

from clew.errors import Draining, TooBusy
from clew.gateway import bus as module
from clew.gateway.bus import WAITING, Bus, Missed
from clew.runtime.events import Admitted, Returned, Words
from clew.transcript import Text, ToolResult


def heard(listener):
    """All that waits for a listener, its gateway having ended."""
    listener.end()

    async def all_of_it():
        return [told async for told in listener]

    return asyncio.run(all_of_it())


def tell(bus, *entries, key="k"):
    for entry in entries:
        bus.tell(key, Admitted(entry), at=1)


def names(told):
    return [one.event.entry if isinstance(one.event, Admitted) else one.event for one in told]


def test_a_listener_hears_its_session_alone():
    bus = Bus()
    mine, every = bus.listen("k"), bus.listen()
    tell(bus, "a"), tell(bus, "b", key="other"), tell(bus, "c")
    assert names(heard(mine)) == ["a", "c"]
    assert names(heard(every)) == ["a", "b", "c"]


def test_one_who_comes_back_hears_what_was_missed_but_not_the_words():
    bus = Bus(since=1_000)
    tell(bus, "a"), bus.tell("k", Words("hel"), at=1), tell(bus, "b")
    assert names(heard(bus.listen("k", after=1_001))) == ["b"]
    assert names(heard(bus.listen("k", after=1_000))) == ["a", "b"]
    assert heard(bus.listen("k", after=1_003)) == []


@pytest.mark.parametrize("after", [999, 5, 5_000])
def test_one_who_comes_back_from_another_gateway_is_told_that_events_are_missing(after):
    bus = Bus(since=1_000)
    tell(bus, "a", "b")
    told = heard(bus.listen("k", after=after))
    assert names(told) == [Missed(0), "a", "b"]
    assert [one.seq for one in told] == [1_000, 1_001, 1_002]


def test_a_long_past_is_heard_whole_and_what_was_forgotten_is_told(monkeypatch):
    monkeypatch.setattr(module, "PAST", 2 * WAITING)
    bus = Bus()
    tell(bus, *map(str, range(3 * WAITING)))
    assert len(heard(bus.listen("k", after=WAITING))) == 2 * WAITING
    assert names(heard(bus.listen("k", after=WAITING - 1)))[:2] == [Missed(0), str(WAITING)]


def test_a_slow_listener_is_told_how_much_was_left_out_and_where():
    bus = Bus()
    listener = bus.listen("k")
    tell(bus, *map(str, range(WAITING + 7)))
    told = heard(listener)
    assert names(told)[-2:] == [str(WAITING - 1), Missed(7)]
    assert told[-1].seq == told[-2].seq, "who comes back from here gets what was left out"
    assert names(heard(bus.listen("k", after=told[-1].seq))) == [str(WAITING + n) for n in range(7)]


def test_large_events_fill_neither_the_past_nor_a_queue():
    bus = Bus()
    listener = bus.listen("k")
    large = Returned(ToolResult("c", "read", (Text("x" * 1_000_000),)), 1)
    for _ in range(30):
        bus.tell("k", large, at=1)
    assert len(heard(bus.listen("k", after=0))) <= 1 + module.PAST_BYTES // 1_000_000
    assert [type(one.event) for one in heard(listener)] == [Returned, Missed]


def test_an_event_larger_than_a_queue_is_heard():
    bus = Bus()
    listener = bus.listen("k")
    bus.tell("k", Returned(ToolResult("c", "read", (Text("x" * 3_000_000),)), 1), at=1)
    assert len(heard(listener)) == 1


def test_listeners_are_bounded_and_one_that_goes_away_makes_room(monkeypatch):
    monkeypatch.setattr(module, "LISTENERS", 2)
    bus = Bus()
    first, _ = bus.listen(), bus.listen()
    with pytest.raises(TooBusy):
        bus.listen()
    first.close()
    bus.listen()
    bus.close()
    with pytest.raises(Draining):
        bus.listen()
