"""What people and models type, as queries."""

import pytest

from clew.errors import BadInput
from clew.recall.query import Query, loose, parse, pattern


@pytest.mark.parametrize(
    ("words", "phrases", "without"),
    [
        ("retry budget", [("retry",), ("budget",)], []),
        ('"retry budget" x', [("retry", "budget"), ("x",)], []),
        ("“retry budget”", [("retry", "budget")], []),
        ('"never closed', [("never", "closed")], []),
        ("AUTH-731 src/app.py", [("auth", "731"), ("src", "app", "py")], []),
        ("cache -payments", [("cache",)], [("payments",)]),
        ('cache -"old cache"', [("cache",)], [("old", "cache")]),
        ("--no-verify x-y", [("no", "verify"), ("x", "y")], []),
        ("迁移", [("迁", "移")], []),
        ("迁移失败", [("迁", "移", "失", "败"), ("迁", "移"), ("移", "失"), ("失", "败")], []),
        ("same same", [("same",)], []),
        ("-only", [], [("only",)]),
    ],
)
def test_words_become_phrases(words, phrases, without):
    assert parse(words) == Query(tuple(phrases), without=tuple(without))


def test_every_word_as_it_is_written_may_be_asked_for():
    assert parse("数据库迁移 x", every=True) == Query((tuple("数据库迁移"), ("x",)), every=True)


def test_a_sentence_without_blanks_is_asked_for_in_pairs_that_cross_no_comma():
    phrases = parse("数据库的迁移昨天失败了，请查看").phrases
    assert ("了", "请") not in phrases
    assert ("失", "败") in phrases
    assert max(map(len, phrases)) < 8


@pytest.mark.parametrize("words", ["", "  ", "😀", "-", '""', "..."])
def test_a_query_that_asks_for_nothing_is_said_so(words):
    with pytest.raises(BadInput, match="Give a word"):
        parse(words)


def test_filters_alone_are_a_query():
    assert parse("", roles=["user"]).roles == ("user",)
    assert parse(" ", since=1, until=1).since == 1
    with pytest.raises(BadInput, match="before"):
        parse("x", since=2, until=1)
    with pytest.raises(BadInput, match="Give a word"):
        parse("😀", roles=["user"])


@pytest.mark.parametrize("broken", ["(", "[a", "a{2,1}", "", "x" * 2000, "(?P<n>a)(?P=m)"])
def test_a_broken_pattern_is_said_so(broken):
    with pytest.raises(BadInput):
        parse("", regex=broken)


def test_a_pattern_finds_its_place():
    assert pattern(r"AUTH-\d+").find("see AUTH-731 now") == (4, 12)
    assert pattern("nothing").find("see") is None


def test_a_hostile_pattern_is_stopped(monkeypatch):
    monkeypatch.setattr("clew.recall.query.MATCH_SECONDS", 0.05)
    with pytest.raises(BadInput, match="too long"):
        pattern(r"(?:(?:a|b|ab)+c?)*$").find("ab" * 3000 + "!")


def test_a_long_message_is_asked_for_by_its_longest_words():
    text = "please look at the retryBudget in src/app/login.py and 数据库 again and again"
    assert loose(text, 3) == (("please",), ("retrybudget",), ("src", "app", "login", "py"))
    assert len(loose("word " * 5000)) == 1
