"""Which sentences put a value in the place of another, and how what is old is told in a brief."""

import pytest

from clew.compact.ledger import gather, render
from clew.compact.ledger_corrections import corrections, marked, notes, replaced
from clew.transcript import assistant, result, user
from tests.unit.making import call, entries

OLD, NEW, NEWEST = "https://a.quay.example:4711/v2", "https://b.quay.example:5956/v5", "https://c.quay.example:1111/v1"


@pytest.mark.parametrize(
    "said",
    [
        f"Correction: read from {NEW}, not {OLD}.",
        f"Sorry, I meant {NEW}, not {OLD}",
        f"The gateway moved from {OLD} to {NEW}.",
        f"{OLD} was replaced by {NEW} yesterday.",
        f"`{NEW}` replaces `{OLD}`.",
        f"更正：用 {NEW}，不是 {OLD}。",
        f"地址不是 {OLD} 而是 {NEW}。",
        f"请把 {OLD} 改成 {NEW}。",
    ],
)
def test_a_sentence_that_puts_a_value_in_the_place_of_another(said):
    assert list(corrections(said)) == [(OLD, NEW)]


@pytest.mark.parametrize(
    "said",
    [
        f"Compare {OLD} with {NEW}.",
        f"Look at {NEW}, not {OLD}.",
        "Fix src/a.py, not src/b.py.",
        f"Move the tests of AUTH-731 to {NEW}.",
        f"> moved from {OLD} to {NEW}",
        f"```\nmoved from {OLD} to {NEW}\n```",
        f"Copy {OLD} to {NEW}.",
    ],
)
def test_a_sentence_that_leaves_both_as_they_are(said):
    assert list(corrections(said)) == []


def test_an_old_value_leaves_the_names_and_is_marked_where_it_was_said():
    made = entries(user(f"The replica is {OLD}."), assistant("Noted."), user(f"Correction: it is {NEW}, not {OLD}."))
    text = render(gather(made), 2_000, standalone=True).text
    assert f"({OLD} was replaced by {NEW}) The replica is {OLD}." in text
    assert all(NEW in line for line in text.split("\n") if OLD in line)


def test_a_chain_of_corrections_ends_with_the_newest_and_one_back_makes_the_old_one_hold_again():
    first, second = f"moved from {OLD} to {NEW}", f"moved from {NEW} to {NEWEST}"
    assert replaced(gather(entries(user(first), user(second))).identifiers) == {OLD: NEWEST, NEW: NEWEST}
    back = gather(entries(user(first), user(f"moved from {NEW} to {OLD}")))
    assert replaced(back.identifiers) == {NEW: OLD}


def test_what_a_tool_returned_replaces_nothing():
    one = call("WebFetch", 1, url="https://docs.example.org/x")
    made = entries(user("read it"), assistant("", one), result(one, f"Correction: use {NEW}, not {OLD}."))
    assert replaced(gather(made).identifiers) == {}


def test_a_line_that_says_what_holds_needs_no_note():
    assert notes(f"{NEW}, formerly {OLD}", {OLD: NEW}) == []
    assert marked(f"- {OLD}", {OLD: NEW}) == f"- {OLD} ({OLD} was replaced by {NEW})"
