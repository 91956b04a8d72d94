"""The window as rectangles: entries lie inside their kind, and their sizes add up to it."""

import pytest

from clew.clock import new_id
from clew.gateway import window_map
from clew.prompt.report import report
from clew.runtime.session import Session
from clew.store.inmemory import InMemoryStore
from clew.transcript import Call, assistant, result, user


@pytest.fixture
def view():
    store = InMemoryStore()
    store.create("s", at=1)
    session = Session(store, "s", now=lambda: 1, new_id=new_id)
    for nth in range(60):
        call = Call(f"c{nth}", "bash", {"command": "x" * nth})
        session.append(user("say " * (1 + nth)), assistant("words", call), result(call, "row\n" * nth**2))
    return session.view()


def test_the_entries_behind_a_kind_add_up_to_it(view):
    behind = window_map.holders(view)
    for part in report(view, {}).parts:
        assert sum(one.chars for one in behind[part.name]) == part.chars
        assert sum(one.tokens for one in behind[part.name]) == part.tokens
        assert sum(one.chars > 0 for one in behind[part.name]) <= part.items


def test_entries_lie_inside_their_kind_and_areas_are_their_shares(view):
    (region,) = window_map.drawn(report(view, {}), window_map.holders(view), 900, 500)
    for piece in region["pieces"]:
        for one in piece["inner"]:
            assert piece["x"] - 0.1 <= one["x"]
            assert one["x"] + one["width"] <= piece["x"] + piece["width"] + 0.1
            assert piece["y"] - 0.1 <= one["y"]
            assert one["y"] + one["height"] <= piece["y"] + piece["height"] + 0.1
        shares = sum(one["share"] for one in piece["inner"])
        assert not piece["inner"] or shares == pytest.approx(piece["share"], rel=1e-3)


def test_what_is_too_small_to_point_at_stands_together(view):
    (region,) = window_map.drawn(report(view, {}), window_map.holders(view), 900, 500)
    results = next(piece for piece in region["pieces"] if piece["name"] == "tool results")
    named = [one for one in results["inner"] if one["id"]]
    (rest,) = [one for one in results["inner"] if not one["id"]]
    assert rest["name"] == f"{59 - len(named)} smaller"
    assert all(one["width"] * one["height"] >= window_map.LEAST * 0.9 for one in named)


def test_an_empty_view_has_no_rectangles():
    store = InMemoryStore()
    store.create("s", at=1)
    view = Session(store, "s", now=lambda: 1, new_id=new_id).view()
    assert window_map.drawn(report(view, {}), window_map.holders(view), 900, 500) == []
