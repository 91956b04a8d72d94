"""Both official SDKs against a real server on loopback: answers, streams, refusals, and every way to break off."""

import asyncio
import json
from itertools import pairwise

import msgspec
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
from clew.models.failover import complete
from clew.models.port import Limits, Request, Tool
from clew.models.providers import build
from clew.models.refusal import complaint_of, retry_after
from clew.models.settings import ModelsSettings
from clew.testing.server import WORDS, ModelServer, Refuse, Say
from clew.transcript import Call, Thinking, assistant, calls_of, result, text_of, user

CALL = Call("c1", "read", {"path": "src/a.py", "lines": [1, 2], "word": "été"})
ASK = Request((user("hi"),), system="be kind", max_output=200)
BOTH = pytest.mark.parametrize("api", ["openai-completions", "anthropic-messages"])
STREAMED = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])


def model_of(server, api, **more):
    return build("scripted/any", ModelsSettings.model_validate(server.settings(api=api, **more)), {})


def play(api, script, *requests, streamed=True, **server):
    """What each request came to, the pieces that arrived, and what the server saw."""

    async def run():
        async def one(request):
            try:
                return await model.complete(request, on_text=pieces.append if streamed else None)
            except (ProviderError, ModelError) as error:
                return error

        model = model_of(running, api)
        try:
            return [await one(request) for request in requests]
        finally:
            await model.close()

    pieces = []
    with ModelServer(script, **server) as running:
        return asyncio.run(run()), pieces, running.requests


@BOTH
@STREAMED
def test_an_answer_has_its_words_calls_stop_reason_and_usage(api, streamed):
    said = Say("Reading " * 5, calls=(CALL, Call("c2", "list", {})), thinking="let me see")
    [answer], pieces, _ = play(api, [said], ASK, streamed=streamed)
    assert text_of(answer) == "Reading " * 5 == ("".join(pieces) or text_of(answer))
    assert list(calls_of(answer)) == [CALL, Call("c2", "list", {})]
    assert isinstance(answer.blocks[0], Thinking)
    assert (answer.stop, answer.model, answer.usage.output > 0) == ("tools", "scripted/any", True)
    assert len(pieces) == (3 if streamed else 0)


@BOTH
@STREAMED
def test_usage_tells_cached_input_from_new(api, streamed):
    longer = msgspec.structs.replace(ASK, messages=(*ASK.messages, assistant("hello"), user("more " * 50)))
    answers, _, seen = play(api, ["hello", "yes"], ASK, longer, streamed=streamed)
    first, second = (answer.usage for answer in answers)
    assert (first.cache_read, second.cache_read) == (0, seen[1].cached)
    assert seen[1].cached > 0
    assert second.input + second.cache_read + (second.cache_write or 0) == seen[1].tokens


@BOTH
@STREAMED
def test_a_server_that_counts_nothing_leaves_usage_unknown(api, streamed):
    [answer], *_ = play(api, [Say("hi", counted=False)], ASK, streamed=streamed)
    assert (text_of(answer), answer.usage) == ("hi", None)


@BOTH
@STREAMED
def test_an_answer_cut_at_the_window_comes_back_as_it_is(api, streamed):
    [answer], *_ = play(api, [], ASK, streamed=streamed, window=3, silent=True)
    assert (text_of(answer), answer.stop) == ("…", "length")


@BOTH
def test_tools_limits_and_results_arrive_at_the_server(api):
    tool = Tool("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
    history = (user("go"), assistant("", CALL), result(CALL, "x = 1"))
    _, _, [seen] = play(api, ["ok"], Request(history, tools=(tool,), max_output=77, temperature=0.0))
    assert (seen.body["max_tokens"], seen.body["temperature"], len(seen.body["tools"])) == (77, 0.0, 1)
    assert b"x = 1" in seen.raw
    assert seen.headers["authorization" if "openai" in api else "x-api-key"].endswith("test-key")


@BOTH
@pytest.mark.parametrize("words", sorted(set(WORDS) - {"groq"}))
def test_an_overflow_is_known_in_every_providers_words(api, words):
    big = Request((user("word " * 2_000),), max_output=100)
    [error], *_ = play(api, ["never"], big, window=500, words=words)
    assert isinstance(error, WindowOverflow)
    assert "Compact the session" in str(error)
    assert error.limit in (500, None)


@BOTH
def test_a_request_above_the_ceiling_of_a_minute_is_terminal(api):
    [error], *_ = play(api, ["never"], Request((user("word " * 2_000),)), window=500, words="groq")
    assert isinstance(error, WindowOverflow)
    assert complaint_of(error).terminal
    assert "waiting and retrying cannot help" in str(error)


@BOTH
@pytest.mark.parametrize(
    ("refuse", "kind"),
    [
        (Refuse(401, "invalid key test-key", "authentication_error"), AuthFailed),
        (Refuse(429, "slow down", "rate_limit_error"), RateLimited),
        (Refuse(529, "Overloaded", "overloaded_error"), RateLimited),
        (Refuse(404, "no such model", "not_found_error"), BadRequest),
        (Refuse(400, "messages.1: `tool_use` ids were found without `tool_result` blocks"), BadRequest),
        (Refuse(500, "boom", "api_error"), ProviderError),
        (Refuse(502, "", raw="<html>Bad Gateway</html>"), ProviderError),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value.status),
)
def test_a_refusal_is_the_branch_that_says_whose_fault_it_is(api, refuse, kind):
    [error], *_ = play(api, [refuse], ASK)
    assert type(error) is kind
    assert "The history is as it was." in str(error)
    assert "test-key" not in str(error)


@BOTH
def test_the_wait_a_provider_asks_for_is_kept(api):
    [error], *_ = play(api, [Refuse(429, "slow down", "rate_limit_error", retry_after=7)], ASK)
    assert retry_after(error) == 7.0


@BOTH
def test_an_error_inside_a_stream_is_classed_like_any_other(api):
    [error], pieces, _ = play(api, [Say("so far", fails=Refuse(529, "Overloaded", "overloaded_error"))], ASK)
    assert (type(error), "".join(pieces)) == (RateLimited, "so far")


@BOTH
@STREAMED
def test_a_connection_that_breaks_off_is_no_answer(api, streamed):
    [error], *_ = play(api, [Say("half an answer", hang_up=True)], ASK, streamed=streamed)
    assert isinstance(error, Unreachable)
    assert "broke off" in str(error)


@BOTH
def test_a_whole_request_is_bounded_in_time_even_while_words_arrive(api):
    slow = Say("word " * 400, pace_s=0.05)
    [error], pieces, _ = play(api, [slow], msgspec.structs.replace(ASK, timeout_s=1.2))
    assert isinstance(error, ProviderTimeout)
    assert pieces


@BOTH
def test_something_that_is_no_answer_names_the_base_url(api):
    [error], *_ = play(api, ["never"], ASK, streamed=False, pages={"/v1/chat/completions": {}, "/v1/messages": {}})
    assert isinstance(error, ModelError)
    assert "base URL" in str(error)


@BOTH
def test_arguments_that_break_off_are_kept_as_they_came(api):
    cut = Call("c1", "write", raw='{"path": "a')
    [answer], *_ = play(api, [Say(calls=(cut,), stop="length")], ASK)
    assert (list(calls_of(answer)), answer.stop) == ([cut], "length")


@BOTH
def test_cancelling_the_task_ends_the_request(api):
    async def run(server):
        model = model_of(server, api)
        arrived = asyncio.Event()
        task = asyncio.create_task(model.complete(ASK, on_text=lambda piece: arrived.set()))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()
        for _ in range(100):
            if server.requests[0].dropped:
                return True
            await asyncio.sleep(0.05)
        return False

    with ModelServer([Say("word " * 2_000, pace_s=0.02)]) as server:
        assert asyncio.run(run(server))


@BOTH
def test_a_missing_key_is_told_before_anything_is_sent(api):
    name = "openai/gpt-5" if "openai" in api else "anthropic/claude-opus-5-5"
    with pytest.raises(AuthFailed, match=r"_API_KEY"):
        asyncio.run(build(name, env={}).complete(ASK))


@BOTH
def test_a_server_that_is_not_there_is_unreachable(api):
    with ModelServer() as gone:
        model = model_of(gone, api)
    with pytest.raises(Unreachable, match="cannot be reached"):
        asyncio.run(model.complete(ASK))


@BOTH
def test_a_refusal_teaches_the_window(api):
    async def run(server):
        model = model_of(server, api, models=[{"id": "any", "contextWindow": 100_000}])
        before = await model.limits()
        with pytest.raises(WindowOverflow):
            await model.complete(Request((user("word " * 9_000),)))
        after = await model.limits()
        await model.close()
        return before, after

    with ModelServer(window=5_000, words="anthropic") as server:
        assert asyncio.run(run(server)) == (Limits(100_000, source="settings"), Limits(5_000, source="error"))


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        ("Unsupported value: 'temperature' does not support 0.0 with this model.", "temperature"),
        ("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "max_tokens"),
        ("stream_options: Extra inputs are not permitted", "stream_options"),
    ],
)
def test_a_field_a_model_does_not_want_is_left_out_from_then_on(words, left_out):
    ask = msgspec.structs.replace(ASK, temperature=0.0)
    answers, _, seen = play("openai-completions", [Refuse(400, words), "fine", "again"], ask, ask)
    assert [text_of(answer) for answer in answers] == ["fine", "again"]
    assert [left_out in request.body for request in seen] == [True, False, False]


def test_a_field_that_is_refused_twice_is_told():
    refuse = Refuse(400, "temperature: Extra inputs are not permitted")
    [error], _, seen = play("openai-completions", [refuse, refuse, "never"], ASK)
    assert (type(error), len(seen)) == (BadRequest, 2)


def test_the_chain_goes_from_a_dead_server_to_a_living_one():
    async def run(living, dead):
        models = [model_of(dead, "openai-completions"), model_of(living, "anthropic-messages")]
        answer = await complete(models, ASK)
        for model in models:
            await model.close()
        return text_of(answer)

    with ModelServer() as dead:
        pass
    with ModelServer(["here"]) as living:
        assert asyncio.run(run(living, dead)) == "here"


@BOTH
def test_each_request_of_a_long_conversation_extends_the_bytes_of_the_one_before(api):
    async def run(server):
        model, history = model_of(server, api), (user("start"),)
        for nth in range(12):
            answer = await model.complete(Request(history, system="s", purpose="compaction"))
            call = next(calls_of(answer), None)
            history = (*history, answer, result(call, f"file {nth}") if call else user(f"go on {nth}"))
        await model.close()

    with ModelServer(lambda seen: Say(f"step {len(seen.body['messages'])}", calls=(CALL,))) as server:
        asyncio.run(run(server))
        sent = [json.dumps(seen.body["messages"]) for seen in server.requests]
    assert all(later.startswith(earlier[:-1]) for earlier, later in pairwise(sent))
