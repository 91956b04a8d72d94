"""Calls and their results stay together, and a list about to be sent has every pair whole."""

from hypothesis import given

from clew.transcript import Assistant, ToolResult, User, assistant, calls_of, dangling, groups, mend, result, user
from tests.unit.making import broken, call, orphan, turns


@given(broken())
def test_a_mended_list_answers_every_call_right_behind_it(messages):
    mended = mend(messages)
    expected = [one.id for message in mended for one in calls_of(message)]
    assert [message.call_id for message in mended if isinstance(message, ToolResult)] == expected
    for at, message in enumerate(mended):
        made = list(calls_of(message))
        behind = mended[at + 1 : at + 1 + len(made)]
        assert [m.call_id for m in behind if isinstance(m, ToolResult)] == [c.id for c in made]


@given(broken())
def test_mending_twice_is_mending_once(messages):
    assert mend(mend(messages)) == mend(messages)


@given(broken())
def test_mending_never_touches_the_words_of_the_conversation(messages):
    def spoken(listed):
        return [message for message in listed if isinstance(message, User | Assistant)]

    assert spoken(mend(messages)) == spoken(messages)


@given(turns())
def test_a_whole_conversation_is_left_as_it_is_but_for_the_order_of_results(messages):
    assert sorted(map(repr, mend(messages))) == sorted(map(repr, messages))
    assert not list(dangling(messages))


@given(broken())
def test_groups_cover_every_message_once_and_in_order(messages):
    assert [at for run in groups(messages) for at in run] == list(range(len(messages)))


def test_six_parallel_results_stay_with_their_calls():
    calls = [call("read", n) for n in range(6)]
    messages = [user("go"), assistant("", *calls), *(result(one, "x") for one in calls), user("next")]
    assert groups(messages) == [range(1), range(1, 8), range(8, 9)]


def test_an_id_used_twice_pairs_by_occurrence():
    one = call("read", 1)
    messages = [assistant("", one), result(one, "first"), assistant("", one), result(one, "second")]
    assert mend(messages) == messages
    assert groups(messages) == [range(2), range(2, 4)]


def test_an_orphan_is_dropped_and_a_dangling_call_is_closed_with_an_error():
    one = call("read", 1)
    mended = mend([orphan(), user("hi"), assistant("", one), user("still there?")])
    assert [type(message).__name__ for message in mended] == ["User", "Assistant", "ToolResult", "User"]
    assert mended[2].error
    assert mended[2].call_id == one.id
