"""Calls that a small model wrote into its words are read where they name a known tool, and words stay words."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.models.fenced import Curtain, fenced_calls
from clew.transcript import Call, assistant, calls_of, text_of

TOOLS = ("read", "run")
READ = '{"name": "read", "arguments": {"path": "src/main.py"}}'
RUN = '{"name": "run", "arguments": {"command": "ls"}}'
GIVEN = {"read": {"path": "src/main.py"}, "run": {"command": "ls"}}


def parsed(text, tools=TOOLS, **more):
    ids = map(str, itertools.count(1))
    return fenced_calls(assistant(text, **more), tools, lambda: next(ids))


CALLS = {
    "a fence": (f"```json\n{READ}\n```", "", ["read"]),
    "a fence after words": (f"I will read it.\n\n```json\n{READ}\n```", "I will read it.", ["read"]),
    "words on both sides": (f"First\n```json\n{READ}\n```\nthen I see.", "First\n\nthen I see.", ["read"]),
    "a fence without a language": (f"```\n{READ}\n```", "", ["read"]),
    "a fence that is not closed": (f"```json\n{READ}", "", ["read"]),
    "marks": (f"<tool_call>\n{READ}\n</tool_call>", "", ["read"]),
    "marks that are not closed": (f"ok <tool_call>{READ}", "ok", ["read"]),
    "bare": (f"\n{READ}\n", "", ["read"]),
    "two fences": (f"```json\n{READ}\n```\n```json\n{RUN}\n```", "", ["read", "run"]),
    "two in one fence": (f"```json\n{READ}\n{RUN}\n```", "", ["read", "run"]),
    "a list": (f"```json\n[{READ}, {RUN}]\n```", "", ["read", "run"]),
    "the shape of the API": (f'{{"tool_calls": [{{"function": {READ}}}]}}', "", ["read"]),
    "arguments as a text": (
        f'```json\n{json.dumps({"name": "read", "arguments": json.dumps(GIVEN["read"])})}\n```', "", ["read"]),
    "another word for arguments": (f"```json\n{READ.replace('arguments', 'parameters')}\n```", "", ["read"]),
    "a comma too many": ('```json\n{"name": "run", "arguments": {"command": "ls",},}\n```', "", ["run"]),
    "doubled braces": ('<tool_call>\n{{"name": "run", "arguments": {"command": "ls"}}}\n</tool_call>', "", ["run"]),
    "an example, then a call": (f'```json\n{{"name": "bob"}}\n```\n{"x"}\n```json\n{RUN}\n```',
                                '```json\n{"name": "bob"}\n```\nx', ["run"]),
}  # fmt: skip

WORDS = {
    "no such tool": '```json\n{"name": "delete", "arguments": {}}\n```',
    "no arguments": '```json\n{"name": "read"}\n```',
    "arguments that are no object": '```json\n{"name": "read", "arguments": [1]}\n```',
    "one of a list is no call": f'```json\n[{READ}, {{"name": "other", "arguments": {{}}}}]\n```',
    "cut off": f"```json\n{READ[:-9]}",
    "another language": f"```python\ncall = {READ}\n```",
    "in a sentence": f"I would call {READ} now.",
    "bare, with words behind": f"{READ} is what I would send.",
    "plain": "The file has 3 lines.",
    "nothing": "",
    "deep": "```json\n" + "[" * 100_000,
}


@pytest.mark.parametrize(("text", "words", "names"), CALLS.values(), ids=CALLS)
def test_a_call_in_words_is_a_call(text, words, names):
    answer = parsed(text, stop="stop")
    assert [(call.name, call.arguments) for call in calls_of(answer)] == [(name, GIVEN[name]) for name in names]
    assert [call.id for call in calls_of(answer)] == [f"call_{n}" for n in range(1, len(names) + 1)]
    assert (text_of(answer), answer.stop) == (words, "tools")


@pytest.mark.parametrize("text", WORDS.values(), ids=WORDS)
def test_what_is_no_call_stays_words(text):
    assert parsed(text, stop="stop") == assistant(text, stop="stop")


def test_line_breaks_in_a_text_are_forgiven():
    answer = parsed('```json\n{"name": "run", "arguments": {"command": "cat <<E\nline\nE"}}\n```')
    assert [call.arguments for call in calls_of(answer)] == [{"command": "cat <<E\nline\nE"}]


def test_a_fence_in_an_argument_is_part_of_it():
    written = {"name": "run", "arguments": {"command": "```json\n{}\n```"}}
    assert [call.arguments for call in calls_of(parsed(f"```json\n{json.dumps(written)}\n```"))] == [
        written["arguments"]
    ]


def test_an_answer_with_calls_of_its_own_is_left_alone():
    answer = assistant(f"```json\n{READ}\n```", Call("c1", "run"))
    assert fenced_calls(answer, TOOLS, lambda: "x") is answer


def test_without_tools_there_are_no_calls():
    assert parsed(READ, ()) == assistant(READ)


def test_an_answer_that_was_cut_off_after_a_call_says_so():
    assert parsed(f"```json\n{READ}\n```\nand th", stop="length").stop == "length"


PIECES = st.sampled_from(
    [READ, RUN, "```json\n", "```", "\n", "<tool_call>", "</tool_call>", "words", "{", "```python\n", " "]
)


@settings(max_examples=200)
@given(st.lists(PIECES, max_size=8).map("".join), st.integers(1, 9))
def test_streamed_words_are_the_answers_words_and_no_call_is_shown(text, size):
    curtain, answer = Curtain(), parsed(text)
    shown = [curtain.take(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join([*shown, curtain.rest(text_of(answer))]) == text_of(answer)


def test_words_are_shown_as_they_come_and_a_fence_is_held_back():
    curtain = Curtain()
    pieces = ["I look", " at it.", "\n`", "``js", "on\n", READ, "\n```"]
    assert [curtain.take(piece) for piece in pieces] == ["I look", " at it.", "", "", "", "", ""]


def test_another_fence_is_shown_as_soon_as_it_is_known():
    curtain = Curtain()
    assert [curtain.take(piece) for piece in ["So:\n```py", "thon\n", "x = 1\n"]] == ["So:", "", "\n```python\nx = 1"]


@given(st.text(alphabet='`json{}[],:" \\<tool_cal>', max_size=60))
@settings(max_examples=100)
def test_noise_stays_as_it_is(text):
    assert parsed(text) == assistant(text)
