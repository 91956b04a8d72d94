"""What is searched of messages."""

from clew.recall.message import role, searchable
from clew.transcript import Assistant, Call, Foreign, Media, Shell, Text, Thinking, ToolResult, user

CALL = Call("c", "Edit", {"path": "a.py", "deep": {"key": ["x", 7, 1.5, True, None]}})


def test_words_calls_and_names_are_searched_and_nothing_else():
    blocks = (Text("words"), Thinking("hidden"), CALL, Media("image/png", data="QUJD", name="shot.png"), Foreign("z"))
    assert searchable(Assistant(blocks)).split() == ["words", "Edit", "a.py", "key", "x", "7", "1.5", "shot.png"]


def test_arguments_that_were_cut_off_are_searched_as_they_came():
    cut = Call("c", "Write", {}, raw='{"text": "one\\ntwo')
    assert "one\ntwo" in searchable(Assistant((cut,)))


def test_arguments_nested_beyond_all_measure_are_read():
    deep: object = "needle"
    for _ in range(50_000):
        deep = [deep]
    assert "needle" in searchable(Assistant((Call("c", "x", {"a": deep}),)))


def test_a_message_stands_on_a_side():
    sides = [user("x"), Shell("ls", ""), Assistant(()), ToolResult("c", "x", ())]
    assert [role(one) for one in sides] == ["user", "user", "assistant", "tool"]
