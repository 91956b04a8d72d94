"""Excerpts: where in a text the words stand, and a line around them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.recall.excerpt import WIDTH, excerpt, matches
from clew.recall.terms import terms

FOUND = [
    pytest.param("the retry budget is spent", "budget", ["budget"], id="a word"),
    pytest.param("the retry  budget", "retry budget", ["retry  budget"], id="words in a row"),
    pytest.param("see AUTH-731.", "auth-731", ["AUTH-731"], id="an id, its case folded"),
    pytest.param("登录超时已修复，超时了", "超时", ["超时", "超时"], id="Chinese, twice"),
    pytest.param("retryBudget = 3", "retry budget", ["retryBudget"], id="a name written in one"),
    pytest.param("retry_budget = 3", "retry budget", ["retry_budget"], id="a name with an underscore"),
    pytest.param("a café here", "cafe", ["café"], id="an accent"),
    pytest.param("ＡＢＣ here", "abc", ["ＡＢＣ"], id="full width"),
    pytest.param("cargo and go", "go", ["go"], id="a word, not its letters in another one"),
    pytest.param("nothing of it", "zebra", [], id="nothing"),
]


@pytest.mark.parametrize(("text", "words", "found"), FOUND)
def test_a_phrase_is_found_where_a_reader_sees_it(text: str, words: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in matches(text, [tuple(terms(words))])] == found


def test_the_place_of_the_longest_phrase_comes_first() -> None:
    text = "go, then the retry budget"
    spans = matches(text, [("go",), ("retry", "budget")])
    assert [text[start:end] for start, end in spans] == ["retry budget", "go"]


def test_an_excerpt_is_one_line_around_the_place_and_marks_it() -> None:
    text = "before\n" * 100 + "  the needle\n\there " + "behind\n" * 100
    at = text.index("needle")
    shown = excerpt(text, [(at, at + 6)])
    assert (shown.text[0], shown.text[-1], "\n" in shown.text, "  " in shown.text) == ("…", "…", False, False)
    assert [shown.text[start:end] for start, end in shown.marks] == ["needle"]


def test_a_short_text_is_shown_whole_and_no_character_is_parted() -> None:
    assert excerpt("all of it", []).text == "all of it"
    family = "👩‍👩‍👧"
    assert set(excerpt(family * 200, [(500, 505)]).text.strip("…").split(family)) == {""}


@given(st.text("ab \n你好é👩‍👧", max_size=900), st.data())
def test_marks_lie_in_the_excerpt_and_hold_what_was_meant(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False) if start < end]
    shown = excerpt(text, spans)
    assert len(shown.text) <= WIDTH + 80
    assert all(0 <= start <= end <= len(shown.text) for start, end in shown.marks)
    held = "".join(shown.text[start:end] for start, end in shown.marks)
    meant = "".join(text[start:end] for start, end in spans)
    assert "".join(held.replace("…", "").split()) in "".join(meant.split())
