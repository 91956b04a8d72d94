"""What is tried again, what goes to the next model, and what is told at once."""

import asyncio

import pytest

from clew.errors import (
    AuthFailed,
    BadRequest,
    ModelError,
    ProviderError,
    ProviderTimeout,
    RateLimited,
    Unreachable,
    WindowOverflow,
)
from clew.models.failover import Lost, Shortened, Switched, Waiting, complete, delay_s
from clew.models.overflow import classify
from clew.models.port import Request
from clew.models.refusal import refused
from clew.models.scripted import ScriptedModel
from clew.transcript import text_of, user

ASK = Request((user("hi"),), max_output=8_000)
QUOTA = refused("m", classify(402, None, None, "pay"), "pay")


def busy(after=None):
    return refused("m", classify(429, None, None, "busy"), "busy", retry_after=after)


def run(*scripts, request=ASK):
    """The answer or the error, the waits, the events, and how often each model was asked."""
    models = [ScriptedModel(script, name=f"p/{nth}") for nth, script in enumerate(scripts)]
    waits, events = [], []

    async def sleep(seconds):
        waits.append(seconds)

    async def ask():
        try:
            return text_of(await complete(models, request, sleep=sleep, random=lambda: 0.5, on_event=events.append))
        except (ProviderError, ModelError) as error:
            return error

    return asyncio.run(ask()), waits, events, [len(model.requests) for model in models]


class Breaking(ScriptedModel):
    """Says a word, or none, and then fails, or hangs."""

    def __init__(self, word: str, error: Exception | None) -> None:
        super().__init__(name="p/m")
        self.word, self.error = word, error

    async def complete(self, request, *, on_text=None):
        if self.word:
            on_text(self.word)
        if self.error is None:
            await asyncio.sleep(60)
        raise self.error


@pytest.mark.parametrize(
    ("word", "error", "lost"),
    [
        pytest.param("well", Unreachable(), 1, id="broke off in its answer"),
        pytest.param("well", RateLimited(), 3, id="three times"),
        pytest.param("", ProviderTimeout(), 1, id="nobody knows whether it was answered"),
        pytest.param("", None, 1, id="cancelled"),
        pytest.param("", Unreachable(), 0, id="never reached"),
        pytest.param("", WindowOverflow(), 0, id="refused"),
        pytest.param("", AuthFailed(), 0, id="refused for its key"),
    ],
)
def test_a_request_that_may_cost_though_it_got_no_answer_is_told_of(word, error, lost):
    events = []

    async def ask():
        asked = complete(
            [Breaking(word, error)], ASK, on_text=lambda piece: None, on_event=events.append, sleep=no_wait
        )
        await asyncio.wait_for(asked, 0.05)

    async def no_wait(seconds):
        pass

    with pytest.raises((ProviderError, TimeoutError)):
        asyncio.run(ask())
    assert events.count(Lost("p/m")) == lost


def test_a_rate_limit_is_waited_out_with_the_same_model():
    answer, waits, events, asked = run([busy(), busy(), "at last"], ["never"])
    assert (answer, waits, asked) == ("at last", [0.5, 1.0], [3, 0])
    assert [type(event) for event in events] == [Waiting, Waiting]


def test_after_three_attempts_the_next_model_is_asked():
    answer, waits, events, asked = run([busy()] * 3, ["other"])
    assert (answer, len(waits), asked) == ("other", 2, [3, 1])
    assert isinstance(events[-1], Switched)


def test_the_provider_says_how_long_to_wait():
    assert run([busy(7.0), "thanks"])[1] == [7.0]


def test_a_provider_that_asks_for_more_patience_than_we_have_is_passed_over():
    assert run([busy(3600.0)], ["other"])[:2] == ("other", [])


@pytest.mark.parametrize(
    "error", [ProviderTimeout(), Unreachable(), AuthFailed(), QUOTA], ids=lambda e: type(e).__name__
)
def test_what_would_fail_again_goes_straight_to_the_next(error):
    answer, waits, _, asked = run([error], ["other"])
    assert (answer, waits, asked) == ("other", [], [1, 1])


@pytest.mark.parametrize("error", [WindowOverflow(), BadRequest(), ModelError()], ids=lambda e: type(e).__name__)
def test_what_the_request_is_to_blame_for_is_told_at_once(error):
    assert run([error], ["never"]) == (error, [], [], [1, 0])


def test_a_server_error_is_tried_again():
    assert run([ProviderError("500"), "up again"])[0] == "up again"


def test_the_last_models_error_is_raised_with_the_others_as_notes():
    error, *_ = run([Unreachable("first")], [AuthFailed("second")])
    assert isinstance(error, AuthFailed)
    assert error.__notes__ == ["before it, p/0: first"]


def test_too_long_an_answer_is_asked_for_again_shorter_and_not_compacted():
    text = (
        "maximum context length is 8192 tokens. However, you requested about 9192 tokens (1192 of text input, "
        "8000 in the output)"
    )
    greedy = refused("m", classify(400, None, None, text), text)
    answer, waits, events, asked = run([greedy, "short"], request=ASK)
    assert (answer, waits, asked) == ("short", [], [2])
    assert events == [Shortened("p/0", 7_000, greedy)]


def test_no_model_is_an_error_that_says_how_to_name_one():
    assert "--model" in str(run()[0])


@pytest.mark.parametrize(("attempt", "low", "high"), [(1, 0.4, 0.6), (2, 0.8, 1.2), (4, 3.2, 4.8), (9, 4.0, 6.0)])
def test_waits_double_up_to_five_seconds_give_or_take_a_fifth(attempt, low, high):
    assert [delay_s(RateLimited(), attempt, draw) for draw in (0.0, 1.0)] == pytest.approx([low, high])


def test_nothing_is_remembered_from_call_to_call():
    first, second = ScriptedModel([AuthFailed(), "back"], name="p/0"), ScriptedModel(["other"], name="p/1")

    async def twice():
        return [text_of(await complete([first, second], ASK)) for _ in range(2)]

    assert asyncio.run(twice()) == ["other", "back"]
