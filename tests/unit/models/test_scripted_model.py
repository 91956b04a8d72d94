"""The model that says what it was told to."""

import asyncio

import pytest

from clew.errors import ModelError, RateLimited, WindowOverflow
from clew.models.port import Request
from clew.models.scripted import ScriptedModel
from clew.transcript import Call, assistant, text_of, user

ASK = Request((user("hi there"),), system="be kind")


def ask(model, request=ASK, **more):
    return asyncio.run(model.complete(request, **more))


def test_a_script_may_hold_words_answers_errors_and_functions_of_the_request():
    script = ["one", assistant("", Call("c", "t")), RateLimited(), lambda request: request.system]
    model = ScriptedModel(script)
    assert text_of(ask(model)) == "one"
    assert ask(model).stop == "tools"
    with pytest.raises(RateLimited):
        ask(model)
    assert text_of(ask(model)) == "be kind"
    assert model.requests == [ASK] * 4


def test_a_script_at_its_end_says_so():
    with pytest.raises(ModelError, match="request 1 has no answer"):
        ask(ScriptedModel())


def test_a_request_over_the_window_is_refused_with_both_sizes_and_takes_no_answer():
    model = ScriptedModel(["fits"], window=50)
    with pytest.raises(WindowOverflow) as refusal:
        ask(model, Request((user("word " * 200),)))
    assert (refusal.value.limit, refusal.value.requested > 50) == (50, True)
    assert text_of(ask(model)) == "fits"


def test_words_arrive_in_pieces():
    pieces = []
    ask(ScriptedModel(["word " * 20]), on_text=pieces.append)
    assert len(pieces) > 1
    assert "".join(pieces) == "word " * 20


def test_usage_grows_with_what_is_sent():
    model = ScriptedModel(["a", "a"])
    sizes = [ask(model, Request((user("w" * size),))).usage.input for size in (40, 400)]
    assert sizes[0] < sizes[1]
