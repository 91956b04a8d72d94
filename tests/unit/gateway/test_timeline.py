"""A session's past in pages: no item is told twice, none is left out, no turn is parted."""

import pytest

from clew.clock import new_id
from clew.gateway import timeline
from clew.runtime.session import Session
from clew.store.inmemory import InMemoryStore
from clew.transcript import Call, PruneMark, assistant, result, user


def session(turns: int, steps: int) -> Session:
    """Turns of so many calls each, with a mark in the middle of every seventh."""
    store = InMemoryStore()
    store.create("s", at=1)
    made = Session(store, "s", now=lambda: 1, new_id=new_id)
    for nth in range(turns):
        made.append(user(f"turn {nth}"))
        for step in range(steps):
            call = Call(f"c{nth}.{step}", "bash", {})
            made.append(assistant("", call), result(call, "out " * 2_000, error=step == 1))
            if nth % 7 == 3 and step == 0:
                made.mark(PruneMark("anthropic", {made.store.session("s").leaf: "clear"}))
        made.append(assistant(f"done {nth}"))
    return made


def read(made: Session, limit: int) -> list[dict]:
    """All pages."""
    items, before = [], None
    while True:
        told = timeline.page(made, before, limit)
        items += told["items"]
        if (before := told["next"]) is None:
            return items


@pytest.mark.parametrize(("turns", "steps", "limit"), [(0, 0, 5), (1, 0, 1), (40, 3, 7), (15, 120, 4), (9, 1, 200)])
def test_pages_tell_everything_once_newest_first(turns, steps, limit):
    made = session(turns, steps)
    items = read(made, limit)
    said = [item for item in items if item["kind"] == "turn"]
    assert [item["text"] for item in said] == [f"turn {nth}" for nth in reversed(range(turns))]
    assert [item["answer"] for item in said] == [f"done {nth}" for nth in reversed(range(turns))]
    assert sum(item["entries"] for item in said) == turns * (2 + 2 * steps)
    assert sum(item["kind"] == "prune" for item in items) == (sum(nth % 7 == 3 for nth in range(turns)) if steps else 0)
    assert not any(item["partial"] for item in said)


def test_a_turn_longer_than_a_page_may_read_is_told_in_parts():
    items = read(session(1, 1_200), 5)
    assert len(items) == 3
    assert [item["partial"] for item in items] == [True, True, False]
    assert sum(item["entries"] for item in items) == 2_402


def test_a_turn_tells_its_calls_errors_and_tokens():
    (turn,) = read(session(1, 3), 5)
    assert turn["calls"] == [{"tool": "bash", "count": 3}]
    assert (turn["errors"], turn["seq"], turn["last"]) == (1, 1, 8)
    assert turn["tokens"] > 3 * 1_000


def test_a_mark_tells_what_it_shortened():
    (mark,) = [item for item in read(session(4, 1), 20) if item["kind"] == "prune"]
    assert (mark["cleared"], mark["trimmed"], mark["images"]) == (1, 0, 0)
    assert mark["before"] > 1_000 > 100 > mark["after"] > 0
