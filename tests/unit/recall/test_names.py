"""Which names of old messages are told again, and in which order."""

import pytest

from clew.compact.identifiers import find
from clew.recall.hit import Hit
from clew.recall.names import names, stands, telling

OLD = "The budget is read\nin src/app/retry.py by loadBudget\n" + "hay\n" * 5 + "far away: otherName"


def hit(text: str, id: str = "e1", score: float = 1.0) -> Hit:
    return Hit(id, "tool", 0, text, score)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see /srv/app/src/db/pool.py:12: error", ["db/pool.py"]),
        ("strategy.go-62-func x", ["strategy.go"]),
        ("result.UserLines grew", ["UserLines"]),
        ("float64 and python3", ["float64", "python3"]),
        ("it took 3.25s, 24.6KB, 10/15 on 2026-01-02T10, mode 0o644", []),
        ("order 9876543210 in 10.0.3.7", ["9876543210", "10.0.3.7"]),
        ('"line\\nnextName"', ["nextName"]),
        ("git log --name-only", ["--name-only"]),
        ("plain words, nothing else.", []),
        ("在retryBudget里", ["retryBudget"]),
    ],
)
def test_a_name_is_told_as_short_as_it_tells(text, found):
    assert names(text, find) == found


def test_what_stands_near_the_words_goes_first_and_what_is_seen_not_at_all():
    hits = [hit(OLD), hit("nothing of note"), hit("nor here")]
    assert telling("where is the budget?", hits, "", find)[:2] == ["loadBudget", "app/retry.py"]
    assert telling("where is the budget?", hits, "loadBudget", find) == ["app/retry.py", "otherName"]


def test_a_name_that_is_asked_for_goes_before_all():
    assert telling("the budget and otherName", [hit(OLD)], "", find)[0] == "otherName"


def test_of_a_numbered_row_one_is_told():
    assert telling("x", [hit("line1 line2 line3 agent7")], "", find) == ["line1", "agent7"]


def test_nothing_found_is_nothing_told():
    assert telling("x", [], "", find) == telling("", [hit("plain")], "", find) == []


def test_the_same_is_told_of_the_same():
    hits = [hit(f"name_{n} aName{n}", f"e{n}") for n in range(30)]
    assert telling("name", hits, "", find) == telling("name", hits, "", find)


def test_a_name_stands_whole():
    assert stands("app.py", "in src/app.py.")
    assert stands("表_1", "的表_1里")
    assert not stands("app.py", "myapp.py app.pyc")
