"""A local server that answers with a call in words: a call comes out of the adapter, and no piece of it is shown."""

import asyncio

import pytest

from clew.models.port import Request, Tool
from clew.models.providers import build
from clew.models.settings import ModelsSettings
from clew.testing.server import ModelServer, Say
from clew.transcript import Call, calls_of, text_of, user

WORDS = 'I read it.\n```json\n{"name": "read", "arguments": {"path": "a.py"}}\n```'
TOOLS = (Tool("read", "Read a file.", {"type": "object"}),)


def answered(say, *, tools=TOOLS, stream=True):
    pieces = []

    async def whole(server):
        model = build("scripted/m", ModelsSettings.model_validate(server.settings()), {})
        try:
            on_text = pieces.append if stream else None
            return await model.complete(Request((user("go"),), tools=tools), on_text=on_text)
        finally:
            await model.close()

    with ModelServer([say]) as server:
        return asyncio.run(whole(server)), "".join(pieces)


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_in_words_is_a_call_and_only_the_other_words_are_shown(stream):
    answer, shown = answered(Say(WORDS), stream=stream)
    assert [(call.name, call.arguments) for call in calls_of(answer)] == [("read", {"path": "a.py"})]
    assert (text_of(answer), answer.stop) == ("I read it.", "tools")
    assert shown == ("I read it." if stream else "")


def test_a_fence_that_is_no_call_is_shown_in_the_end():
    words = 'The settings:\n```json\n{"name": "demo"}\n```\nThat is all.'
    answer, shown = answered(Say(words))
    assert (shown, text_of(answer), list(calls_of(answer))) == (words, words, [])


def test_a_call_of_its_own_goes_before_one_in_words():
    answer, shown = answered(Say(WORDS, calls=(Call("c1", "read", {"path": "b.py"}),)))
    assert [call.arguments for call in calls_of(answer)] == [{"path": "b.py"}]
    assert shown == text_of(answer) == WORDS


def test_without_tools_words_are_words():
    answer, shown = answered(Say(WORDS), tools=())
    assert (shown, text_of(answer), list(calls_of(answer))) == (WORDS, WORDS, [])
