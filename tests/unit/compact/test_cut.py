"""Where the kept tail begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compact.cut import Cut, Skip, plan, sizes_of
from clew.transcript import ToolResult, assistant, calls_of, groups, result, user
from tests.unit.making import broken, call, entries, sizes, turns


def planned(messages, keep, measured=None, **more):
    made = entries(*messages)
    return plan(made, measured or sizes(made), keep=keep, **more)


@given(st.one_of(turns(), broken()), st.integers(0, 400))
def test_a_cut_parts_no_call_from_its_result_and_loses_nothing(messages, keep):
    made = entries(*messages)
    cut = plan(made, sizes(made), keep=keep)
    if isinstance(cut, Skip):
        return
    assert [*cut.history, *cut.prefix, *cut.tail] == made
    at = len(cut.dropped)
    assert not isinstance(made[at].body.message, ToolResult)
    assert all(at <= run.start or at >= run.stop for run in groups(messages))


@given(turns(), st.integers(0, 400))
def test_the_newest_message_is_always_kept_and_something_always_goes(messages, keep):
    cut = planned(messages, keep)
    if isinstance(cut, Cut):
        assert cut.tail[-1].id == f"e{len(messages) - 1}"
        assert cut.dropped_tokens > 0


@given(turns(), st.integers(0, 400))
def test_a_tail_exceeds_its_budget_only_for_one_group_that_must_stay_whole(messages, keep):
    made = entries(*messages)
    cut = plan(made, sizes(made), keep=keep)
    if isinstance(cut, Cut) and cut.tail_tokens > max(2 * keep, keep):
        spoken = [entry.body.message for entry in cut.tail]
        assert len(groups(spoken)) == 1


def turn(number, asked, answered):
    return [(f"u{number}", asked), (f"a{number}", answered)]


def test_ten_turns_of_5000_tokens_keep_the_last_four_of_20000():
    messages = [m for n in range(10) for m in (user(f"u{n}"), assistant(f"a{n}"))]
    measured = {f"e{at}": 1000 if at % 2 == 0 else 4000 for at in range(20)}
    cut = planned(messages, 20_000, measured)
    assert cut.first_kept == "e12"
    assert (len(cut.history), len(cut.prefix)) == (12, 0)


def batch(*after):
    calls = [call("read", 1), call("read", 2)]
    head = [user("one"), assistant("two"), user("three"), assistant("", *calls)]
    return [*head, *(result(one, "x") for one in calls), *after]


def test_a_batch_at_the_boundary_does_not_leave_a_stub_of_a_tail():
    messages = batch(assistant("done"), user("next"), assistant("ok"))
    measured = {f"e{at}": 15_000 if at in (4, 5) else 1 for at in range(9)}
    cut = planned(messages, 20_000, measured)
    assert cut.first_kept == "e3"
    assert [entry.id for entry in cut.prefix] == ["e2"]


def test_a_session_that_ends_on_results_keeps_them_with_their_calls():
    measured = {f"e{at}": 15_000 if at in (4, 5) else 1 for at in range(6)}
    assert planned(batch(), 20_000, measured).first_kept == "e3"


def test_one_long_turn_is_split_and_its_beginning_set_apart():
    calls = [call("read", n) for n in range(3)]
    messages = [user("go"), *(m for one in calls for m in (assistant("", one), result(one, "x")))]
    measured = {f"e{at}": 12_500 if at in (2, 4, 6) else 1 for at in range(7)}
    cut = planned(messages, 20_000, measured)
    assert cut.first_kept == "e5"
    assert (len(cut.history), len(cut.prefix)) == (0, 5)


@pytest.mark.parametrize(
    ("messages", "kept", "code"),
    [
        pytest.param([], 0, "empty", id="nothing was said"),
        pytest.param([user("a"), assistant("b")], 2, "already_compacted", id="nothing is newer than the boundary"),
        pytest.param([user("a")], 0, "too_small", id="a single small message"),
        pytest.param([user("a " * 500)], 0, "one_exchange", id="a single large message"),
        pytest.param([user("a"), assistant("b")], 0, "too_small", id="nothing to gain"),
    ],
)
def test_nothing_to_compact_says_why(messages, kept, code):
    skipped = planned(messages, 100, kept=kept, floor=50)
    assert isinstance(skipped, Skip)
    assert skipped.code == code
    assert skipped.reason


def test_hidden_entries_travel_with_what_follows_them():
    made = entries(*(user("x " * 200) for _ in range(3)))
    cut = plan(made, sizes(made), keep=250)
    assert sizes_of(cut.dropped, sizes(made)) == cut.dropped_tokens
    assert list(calls_of(made[0].body.message)) == []
