"""What every model promises, whoever is behind it."""

import asyncio
from contextlib import contextmanager

import pytest

from clew.errors import RateLimited, WindowOverflow
from clew.models.port import Limits, Request
from clew.models.providers import build
from clew.models.scripted import ScriptedModel
from clew.models.settings import ModelsSettings
from clew.testing.server import ModelServer, Refuse, Say
from clew.transcript import Call, assistant, calls_of, text_of, user

CALL = Call("c1", "read", {"path": "a.py"})
ASK = Request((user("hi"),), system="be kind", max_output=50)
WINDOW = 500


@contextmanager
def scripted():
    yield ScriptedModel(["hello there", assistant("", CALL), RateLimited()], window=WINDOW)


@contextmanager
def served(api):
    script = ["hello there", Say(calls=(CALL,)), Refuse(429, "slow down", "rate_limit_error")]
    with ModelServer(script, window=WINDOW) as server:
        models = [{"id": "any", "contextWindow": WINDOW}]
        yield build("scripted/any", ModelsSettings.model_validate(server.settings(api=api, models=models)), {})


@pytest.fixture(params=["scripted", "openai-completions", "anthropic-messages"])
def model(request):
    with scripted() if request.param == "scripted" else served(request.param) as one:
        yield one


def run(model, ask):
    async def whole():
        try:
            return await ask()
        finally:
            await model.close()

    return asyncio.run(whole())


def test_it_has_a_name_and_limits_with_their_source(model):
    assert "/" in model.name
    assert run(model, model.limits) == Limits(WINDOW, source="settings")


def test_it_answers_with_words_model_usage_and_stop_reason(model):
    answer = run(model, lambda: model.complete(ASK))
    assert (text_of(answer), answer.model, answer.stop) == ("hello there", model.name, "stop")
    assert answer.usage.context > 0


def test_the_pieces_that_arrive_are_the_words(model):
    pieces = []
    answer = run(model, lambda: model.complete(ASK, on_text=pieces.append))
    assert "".join(pieces) == text_of(answer)


def test_a_call_comes_back_whole_and_stops_for_tools(model):
    async def second():
        await model.complete(ASK)
        return await model.complete(ASK)

    answer = run(model, second)
    assert (list(calls_of(answer)), answer.stop) == ([CALL], "tools")


def test_a_refusal_is_an_error_of_the_tree_and_the_model_goes_on_answering(model):
    async def all_three():
        with pytest.raises(WindowOverflow) as refusal:
            await model.complete(Request((user("word " * 2_000),)))
        await model.complete(ASK)
        await model.complete(ASK)
        with pytest.raises(RateLimited):
            await model.complete(ASK)
        return refusal.value.limit

    assert run(model, all_three) == WINDOW


def test_it_may_be_closed_twice(model):
    run(model, model.close)
