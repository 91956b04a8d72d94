"""The OpenAI-compatible endpoint with OpenAI's own client: recognition, windows, tools, streams, errors, restarts."""

import asyncio
import json
import random
import socket
import threading
import time
from contextlib import contextmanager
from itertools import repeat

import openai
import pytest
import uvicorn

from clew.app import Clew
from clew.config import Config
from clew.gateway.app import application
from clew.gateway.hub import Hub
from clew.gateway.openai_exchange import Exchanges
from clew.gateway.openai_request import read
from clew.gateway.tokens import Tokens, digest
from clew.models.scripted import ScriptedModel
from clew.runtime.books import account_in
from clew.store.inmemory import InMemoryStore
from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer, Refuse, Say
from clew.transcript import Call, Said, Text, path, text_of

TOKEN = "a-token-of-this-test"
WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}}  # fmt: skip


class Gateway:
    """A gateway that listens, and clients of it."""

    def __init__(self, clew, port, server):
        self.clew, self.store, self.server = clew, clew.store, server
        self.url = f"http://127.0.0.1:{port}/v1"
        self.client = openai.OpenAI(base_url=self.url, api_key=TOKEN, max_retries=0, timeout=60)

    def ask(self, messages, **more):
        if isinstance(messages, str):
            messages = [user(messages)]
        return self.client.chat.completions.create(model=more.pop("model", "clew"), messages=messages, **more)

    def raw(self, messages, **more):
        got = self.client.chat.completions.with_raw_response.create(
            model=more.pop("model", "clew"), messages=messages, **more
        )
        return got.headers["x-clew-session"], got.headers["x-clew-history"], got.parse()

    @property
    def sessions(self):
        return [row.key for row in self.store.sessions()]

    def said(self, key):
        """The session's history, from the first message on."""
        entries = [record.entry for record in self.store.entries(key)]
        branch = path(entries, self.store.session(key).leaf)
        return [text_of(one.body.message) for one in branch if isinstance(one.body, Said)]


@contextmanager
def gateway(script=(), *, store=None, window=None, told=None, settings=None, server=None, **more):
    """A gateway over a scripted model server, both on real sockets. `told` is the window it is told of."""
    held = server or ModelServer(script, window=window, **more)
    with held if server is None else contextmanager(lambda: (yield server))():
        models = [{"id": "m", "contextWindow": told or window, "maxTokens": 1024}] if told or window else [{"id": "m"}]
        tree = {
            "models": held.settings(models=models),
            "agents": {"defaults": {
                "model": "scripted/m", "compaction": {"fallback": "ledger", "memoryFlush": {"enabled": False}},
            }},
        }  # fmt: skip
        config = Config.model_validate(merged(tree, settings or {}))
        owned = store or InMemoryStore()
        clew = Clew(owned, config, env={})
        with serving(clew) as port:
            yield Gateway(clew, port, held)


def merged(tree, more):
    return {**tree, **{k: merged(tree[k], v) if isinstance(v, dict) and k in tree else v for k, v in more.items()}}


@contextmanager
def serving(clew):
    listening = socket.socket(proto=socket.IPPROTO_TCP)  # else asyncio leaves the wait for small packets on
    listening.bind(("127.0.0.1", 0))
    app = application(Hub(clew, workspace=None), Tokens(frozenset({digest(TOKEN)})))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
        assert not thread.is_alive()


def user(text, **more):
    return {"role": "user", "content": text, **more}


def bot(text):
    return {"role": "assistant", "content": text}


def sent(seen):
    return [m.get("content") for m in seen.body["messages"]]


def waited(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


def counting():
    """Answers that all differ."""
    number = 0

    def answer(seen):
        nonlocal number
        number += 1
        return f"Answer number {number}."

    return answer


# One conversation -----------------------------------------------------------------------------------------------------


def test_a_client_that_resends_its_history_is_recognised_and_only_what_is_new_is_stored():
    with gateway(counting()) as g:
        history = [{"role": "system", "content": "Be brief."}]
        for turn in range(4):
            history.append(user(f"Question {turn}"))
            answer = g.ask(history, stream=turn % 2 == 1) if turn % 2 == 0 else None
            if answer is None:
                text = "".join(c.choices[0].delta.content or "" for c in g.ask(history, stream=True) if c.choices)
            else:
                text = answer.choices[0].message.content
            history.append(bot(text))
        [key] = g.sessions
        assert g.said(key) == [m["content"] for m in history[1:]]
        assert sent(g.server.requests[-1]) == [m["content"] for m in history[:-1]]


def test_an_answer_has_what_a_client_looks_for():
    with gateway(["Hello."]) as g:
        answer = g.ask("Hi", max_tokens=77, temperature=0.5, top_p=0.9, stop=["END"], seed=7, user="u1", metadata={})
        [choice] = answer.choices
        assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", "Hello.", "stop")
        assert answer.id.startswith("chatcmpl-")
        assert answer.model == "scripted/m"
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
        body = g.server.requests[0].body
        assert (body["max_tokens"], body["temperature"], body["top_p"]) == (77, 0.5, 0.9)
        assert (body["stop"], body["seed"]) == (["END"], 7)
        assert body.keys().isdisjoint({"user", "metadata"})
        [key] = g.sessions
        assert account_in(g.store.session(key).meta).models.keys() == {"scripted/m"}


def test_a_stream_tells_words_as_they_come_then_why_it_ended_and_what_was_used():
    text = "One and two and three and four and five."
    with gateway([text]) as g:
        chunks = list(g.ask("Count", stream=True, stream_options={"include_usage": True}))
        pieces = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
        assert "".join(pieces) == text
        assert len(pieces) > 1
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
        assert chunks[-1].usage.prompt_tokens > 0
        assert chunks[-1].choices == []
        assert len({c.id for c in chunks}) == 1


def test_many_conversations_at_once_with_the_async_client_stay_apart():
    with gateway(lambda seen: Say(f"You said: {seen.body['messages'][-1]['content']}", delay_s=0.05)) as g:

        async def talk(client, name):
            history = []
            for turn in range(3):
                history.append(user(f"{name} {turn}"))
                stream = await client.chat.completions.create(model="clew", messages=history, stream=True)
                text = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
                history.append(bot(text))
            return history

        async def all_of_them():
            async with openai.AsyncOpenAI(base_url=g.url, api_key=TOKEN, max_retries=0) as client:
                return await asyncio.gather(*(talk(client, f"client {n}") for n in range(6)))

        histories = asyncio.run(all_of_them())
        assert sorted(g.said(key) for key in g.sessions) == sorted([m["content"] for m in one] for one in histories)


def test_chinese_goes_there_and_back_and_is_recognised():
    with gateway(["你好！很高兴见到你。", "今天天气晴朗。"]) as g:
        first = g.ask("你好，我叫小明。").choices[0].message.content
        g.ask([user("你好，我叫小明。"), bot(first), user("今天天气怎么样？")])
        [key] = g.sessions
        assert g.said(key) == ["你好，我叫小明。", "你好！很高兴见到你。", "今天天气怎么样？", "今天天气晴朗。"]


def test_what_a_client_writes_down_in_another_way_is_the_same():
    call = Call("call_1", "weather", {"city": "Bergen", "days": 2})
    with gateway([Say(calls=(call,)), " It rains. \n", "Yes."]) as g:
        g.ask("Weather?", tools=[WEATHER])
        asked = {"role": "assistant", "content": "", "refusal": None, "tool_calls": [{
            "id": "call_1", "type": "function",
            "function": {"name": "weather", "arguments": '{"days":2,  "city": "Bergen"}'},
        }]}  # fmt: skip
        parts = [{"type": "text", "text": "Weather?"}]
        history = [{"role": "developer", "content": "New prompt"}, user(parts), asked,
                   {"role": "tool", "tool_call_id": "call_1", "content": "rain"}]  # fmt: skip
        g.ask(history, tools=[WEATHER])
        g.ask([*history, bot("It rains."), user("Sure?")], tools=[WEATHER])
        assert len(g.sessions) == 1
        assert sent(g.server.requests[2])[0] == "New prompt"


# Tools ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
def test_the_client_runs_its_tools(stream):
    calls = (Call("c1", "weather", {"city": "Bergen"}), Call("c2", "weather", {"city": "東京"}))
    with gateway([Say("Let me look.", calls=calls), "Rain in both."]) as g:
        history = [user("Weather?")]
        if stream:
            message, finish = collected(g.ask(history, tools=[WEATHER], stream=True))
        else:
            answer = g.ask(history, tools=[WEATHER]).choices[0]
            message, finish = answer.message.model_dump(exclude_none=True), answer.finish_reason
        assert finish == "tool_calls"
        assert [json.loads(c["function"]["arguments"])["city"] for c in message["tool_calls"]] == ["Bergen", "東京"]
        history += [message, *({"role": "tool", "tool_call_id": c.id, "content": "rain"} for c in calls)]
        assert g.ask(history, tools=[WEATHER]).choices[0].message.content == "Rain in both."
        [key] = g.sessions
        assert g.said(key) == ["Weather?", "Let me look.", "rain", "rain", "Rain in both."]
        assert g.server.requests[0].body["tools"][0]["function"]["name"] == "weather"
        assert [m["role"] for m in g.server.requests[1].body["messages"]] == ["user", "assistant", "tool", "tool"]


def collected(stream):
    """A streamed message put together as clients do."""
    text, calls, finish = "", {}, None
    for chunk in stream:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or ():
                empty = {"name": part.function.name, "arguments": ""}
                made = calls.setdefault(part.index, {"id": part.id, "type": "function", "function": empty})
                made["function"]["arguments"] += part.function.arguments or ""
            finish = choice.finish_reason or finish
    return {"role": "assistant", "content": text, "tool_calls": list(calls.values())}, finish


def test_how_tools_are_chosen_and_what_shape_an_answer_has_goes_to_the_provider():
    shape = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    with gateway(["{}"]) as g:
        g.ask("Go", tools=[WEATHER], tool_choice="required", parallel_tool_calls=False, response_format=shape)
        body = g.server.requests[0].body
        assert (body["tool_choice"], body["parallel_tool_calls"], body["response_format"]) == ("required", False, shape)


def test_the_same_over_the_messages_api():
    with ModelServer([Say(calls=(Call("c1", "weather", {"city": "Bergen"}),))], window=None) as server:
        settings = {"models": server.settings(api="anthropic-messages", models=[{"id": "m"}])}
        with gateway(server=server, settings=settings) as g:
            choice = {"type": "function", "function": {"name": "weather"}}
            answer = g.ask("Go", tools=[WEATHER], tool_choice=choice, stop="END", model="scripted/m")
            assert answer.choices[0].message.tool_calls[0].function.arguments == '{"city": "Bergen"}'
            assert server.requests[0].body["tool_choice"] == {"type": "tool", "name": "weather"}
            assert server.requests[0].body["stop_sequences"] == ["END"]


def tool_history(*results, then=()):
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "weather", "arguments": "{}"}} for n in (1, 2)]
    return [user("x"), {"role": "assistant", "content": None, "tool_calls": calls},
            *({"role": "tool", "tool_call_id": one, "content": "r"} for one in results), *then]  # fmt: skip


@pytest.mark.parametrize(("messages", "words"), [
    pytest.param(tool_history("c1"), "had no response: c2", id="one result is missing"),
    pytest.param(tool_history("c1", then=[user("and?")]), "had no response: c2", id="a message before the last result"),
    pytest.param(tool_history("c1", "c2", "c2"), "answers no call", id="a result too many"),
    pytest.param([user("x"), {"role": "tool", "tool_call_id": "c9", "content": "r"}], "answers no call", id="no call"),
    pytest.param([{"role": "system", "content": "only"}], "no message but", id="a system message alone"),
    pytest.param([{"role": "robot", "content": "x"}], "role is 'robot'", id="a role that is none"),
    pytest.param([user(None)], "content is neither", id="no content"),
    pytest.param([user([{"type": "video", "url": "x"}])], "is a 'video'", id="a part that is none"),
    pytest.param([user([{"type": "image_url", "image_url": {"url": "data:oops"}}])], "an image", id="half an image"),
])  # fmt: skip
def test_what_is_not_in_order_is_refused_and_nothing_is_stored(messages, words):
    with gateway(["no"]) as g:
        with pytest.raises(openai.BadRequestError, match=words):
            g.ask(messages)
        assert g.sessions == []
        assert g.server.requests == []


@pytest.mark.parametrize(("more", "param"), [
    ({"n": 2}, "n"), ({"logprobs": True}, "logprobs"), ({"temperature": 9}, "temperature"),
    ({"extra_body": {"functions": [{"name": "f"}]}}, "functions"), ({"modalities": ["text", "audio"]}, "modalities"),
    ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"),
])  # fmt: skip
def test_what_is_not_supported_is_refused_by_name(more, param):
    with gateway(["no"]) as g:
        with pytest.raises(openai.BadRequestError) as caught:
            g.ask("x", **more)
        assert caught.value.param == param
        assert caught.value.type == "invalid_request_error"


def test_an_image_as_a_data_url_goes_to_the_model():
    url = "data:image/png;base64,iVBORw0KGgo="
    with gateway(["A dot."]) as g:
        g.ask([user([{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": url}}])])
        assert g.server.requests[0].body["messages"][0]["content"][1]["image_url"]["url"] == url


# Long conversations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("window", "turns", "least"), [(8_192, 200, 5), (16_384, 120, 1)])
def test_turns_resent_each_time_never_reach_the_window_and_nothing_is_lost(window, turns, least, tmp_path):
    filler = "The quick brown fox jumps over the lazy dog beside the river bank. " * 8
    with gateway(counting(), window=window, store=SqliteStore(tmp_path / "s.sqlite")) as g:
        history = [{"role": "system", "content": "Be brief."}]
        for turn in range(turns):
            history.append(user(f"Question {turn} about file src/part_{turn}.py: {filler}"))
            history.append(bot(g.ask(history).choices[0].message.content))
        [key] = g.sessions
        assert g.said(key) == [m["content"] for m in history[1:]]
        entries = [r.entry for r in g.store.entries(key)]
        assert len([e for e in entries if isinstance(e.body, Said)]) == 2 * turns
        assert max(seen.tokens for seen in g.server.requests) <= window
        assert {seen.status for seen in g.server.requests} == {200}
        assert g.store.session(key).compactions >= least


def test_a_history_that_is_long_when_it_first_comes_is_compacted_at_once():
    filler = "Lorem ipsum dolor sit amet consectetur. " * 20
    with gateway(counting(), window=8_192) as g:
        old = [m for n in range(60) for m in (user(f"Old question {n}. {filler}"), bot(f"Old answer {n}."))]
        key, how, _ = g.raw([*old, user("And now?")])
        assert how == "new"
        assert g.store.session(key).compactions >= 1
        assert max(seen.tokens for seen in g.server.requests) <= 8_192
        assert len(g.said(key)) == 122


def test_a_refusal_by_the_provider_is_met_by_a_compaction_and_never_shown():
    filler = "Lorem ipsum dolor sit amet consectetur. " * 40
    with gateway(counting(), window=8_192, told=65_536) as g:
        history = []
        for turn in range(30):
            history.append(user(f"Question {turn}. {filler}"))
            chunks = g.ask(history, stream=True)
            history.append(bot("".join(c.choices[0].delta.content or "" for c in chunks if c.choices)))
        [key] = g.sessions
        assert any(seen.status == 400 for seen in g.server.requests)
        assert g.store.session(key).compactions >= 1
        assert g.said(key) == [m["content"] for m in history]


@pytest.mark.parametrize("stream", [False, True])
def test_a_message_larger_than_the_window_is_an_error_that_clients_know(stream):
    with gateway(counting(), window=8_192) as g:
        with pytest.raises(openai.BadRequestError) as caught:
            g.ask("word " * 40_000, stream=stream)
        assert caught.value.code == "context_length_exceeded"
        assert g.ask("short").choices[0].message.content


def test_a_huge_tool_result_is_shown_shortened_and_kept_whole():
    with gateway([Say(calls=(Call("c1", "weather", {}),)), "Done."], window=8_192) as g:
        first = g.ask("Weather?", tools=[WEATHER]).choices[0].message.model_dump(exclude_none=True)
        result = {"role": "tool", "tool_call_id": "c1", "content": "line of rain\n" * 20_000}
        answer = g.ask([user("Weather?"), first, result], tools=[WEATHER])
        assert answer.choices[0].message.content == "Done."
        [key] = g.sessions
        assert g.said(key)[2] == result["content"]
        assert g.server.requests[-1].tokens <= 8_192


# Recognition ----------------------------------------------------------------------------------------------------------


def test_a_conversation_goes_on_after_a_restart(tmp_path):
    history = [user("First")]
    for turn in range(3):
        with gateway([f"Answer {turn}"], store=SqliteStore(tmp_path / "s.sqlite")) as g:
            _, how, answer = g.raw(history)
            assert how == ("extended" if turn else "new")
            history += [bot(answer.choices[0].message.content), user(f"Question {turn}")]
            [key] = g.sessions
            assert g.said(key) == [m["content"] for m in history[:-1]]
            g.store.close()


def test_an_answer_asked_for_again_stands_beside_the_first_one():
    with gateway(counting()) as g:
        history = [user("One"), bot(g.ask("One").choices[0].message.content), user("Two")]
        key, _, _ = g.raw(history)
        again, how, answer = g.raw(history)
        assert (again, how) == (key, "again")
        assert g.said(key) == ["One", "Answer number 1.", "Two", "Answer number 3."]
        assert sent(g.server.requests[-1]) == ["One", "Answer number 1.", "Two"]
        _, how, _ = g.raw([*history, bot(answer.choices[0].message.content), user("Three")])
        assert how == "extended"
        assert len(g.sessions) == 1


def test_an_edited_message_is_a_branch_and_both_branches_go_on():
    with gateway(counting()) as g:
        opening = [user("One"), bot(g.ask("One").choices[0].message.content)]
        here, there = [*opening, user("Left")], [*opening, user("Right")]
        left, _, answer = g.raw(here)
        here += [bot(answer.choices[0].message.content), user("Left again")]
        right, how, answer = g.raw(there)
        there += [bot(answer.choices[0].message.content), user("Right again")]
        assert how == "branched"
        assert g.store.session(right).meta["branchedFrom"] == left
        assert (g.raw(here)[:2], g.raw(there)[:2]) == ((left, "extended"), (right, "extended"))
        assert g.said(left)[:-1] == [m["content"] for m in here]
        assert g.said(right)[:-1] == [m["content"] for m in there]


def test_a_branch_takes_the_compactions_before_it_along():
    filler = "Lorem ipsum dolor sit amet consectetur. " * 40
    with gateway(counting(), window=8_192) as g:
        history = []
        for turn in range(50):
            history.append(user(f"Question {turn}. {filler}"))
            history.append(bot(g.ask(history).choices[0].message.content))
        [first] = g.sessions
        asked = len(g.server.requests)
        key, how, _ = g.raw([*history[:-4], user("Otherwise?")])
        assert (how, len(g.server.requests)) == ("branched", asked + 1)
        assert g.store.session(key).compactions == g.store.session(first).compactions >= 2
        assert g.said(key)[:-2] == [m["content"] for m in history[:-4]]
        early, how, _ = g.raw([*history[:4], user("Otherwise?")])
        assert (how, g.store.session(early).compactions) == ("branched", 0)


def test_conversations_that_begin_alike_are_kept_apart():
    with gateway(["Hello.", "Hello.", "A", "B"]) as g:
        one, other = g.raw([user("Hi")])[0], g.raw([user("Hi")])[0]
        assert one != other
        ours = [user("Hi"), bot("Hello.")]
        first, second = g.raw([*ours, user("I am Ann.")])[0], g.raw([*ours, user("I am Bob.")])[0]
        assert first != second
        texts = [[*g.said(key)] for key in (first, second)]
        assert ("I am Bob." in texts[0], "I am Ann." in texts[1]) == (False, False)


def test_users_that_a_client_names_never_share_a_session():
    with gateway(["Hello."] * 4) as g:
        keys = {g.raw([user("Hi"), bot("Hello."), user("Go")], user=name)[0] for name in ("ann", "bob")}
        assert len(keys) == 2


@pytest.mark.parametrize("seed", range(6))
def test_whatever_clients_edit_cut_and_ask_again_the_model_gets_the_history_that_was_sent(seed, tmp_path):
    chance, number = random.Random(seed), iter(range(10_000))
    model = ScriptedModel(f"Answer {next(number) if chance.random() < 0.8 else 0}." for _ in repeat(None))
    config = Config.model_validate({"agents": {"defaults": {"model": "scripted/demo"}}})
    store = SqliteStore(tmp_path / "s.sqlite") if seed % 2 else InMemoryStore()
    clew = Clew(store, config, models={"scripted/demo": model}, env={})

    def edited(history):
        cut = history[: chance.randrange(len(history) + 1)]
        return cut if cut and cut[-1]["role"] == "assistant" else cut[:-1]

    async def talk():
        exchanges, histories = Exchanges(Hub(clew, workspace=None)), [[]]
        for _ in range(60):
            history = list(chance.choice(histories))
            if chance.random() < 0.3:
                history = edited(history)
            history.append(user(f"Say {chance.randrange(3)}"))
            body = json.dumps({"model": "clew", "messages": history}).encode()
            for _ in range(chance.choice([1, 1, 2])):
                answer = await exchanges.answer("x", read(body), None, lambda placed: None, None)
                assert [text_of(m) for m in model.requests[-1].messages] == [m["content"] for m in history]
                histories.append([*history, bot(text_of(answer))])
            if chance.random() < 0.1:
                exchanges = Exchanges(Hub(clew, workspace=None))
        return histories

    asyncio.run(talk())


def test_the_same_request_twice_at_once_is_two_conversations():
    with gateway(lambda seen: Say("Slow.", delay_s=0.3)) as g:
        threads = [threading.Thread(target=g.ask, args=("Hi",)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [g.said(key) for key in g.sessions] == [["Hi", "Slow."]] * 3


# A session that is named ----------------------------------------------------------------------------------------------


def named(key):
    return {"extra_headers": {"X-Clew-Session": key}}


def test_a_named_session_takes_whole_histories_and_only_what_is_new():
    with gateway(counting()) as g:
        history = [user("One")]
        key, how, answer = g.raw(history, **named("agent:main:work"))
        assert (key, how) == ("agent:main:work", "new")
        history += [bot(answer.choices[0].message.content), user("Two")]
        assert g.raw(history, **named(key))[1] == "extended"
        assert g.raw([user("Three")], **named(key))[1] == "extended"
        assert g.raw([bot("Answer number 3."), user("Four")], **named(key))[1] == "extended"
        assert g.said(key) == ["One", "Answer number 1.", "Two", "Answer number 2.", "Three", "Answer number 3.",
                               "Four", "Answer number 4."]  # fmt: skip
        assert g.sessions == [key]


def test_a_named_session_turns_back_in_place():
    with gateway(counting()) as g:
        key = "agent:main:work"
        opening = [user("One"), bot("Answer number 1.")]
        g.raw([user("One")], **named(key))
        g.raw([*opening, user("Two")], **named(key))
        assert g.raw([*opening, user("Other")], **named(key))[1] == "again"
        assert g.said(key) == ["One", "Answer number 1.", "Other", "Answer number 3."]
        assert len(list(g.store.entries(key))) == 6


def test_requests_to_a_named_session_wait_for_each_other():
    with gateway(lambda seen: Say(f"To {seen.body['messages'][-1]['content']}", delay_s=0.2)) as g:
        threads = [threading.Thread(target=lambda n=n: g.ask(f"M{n}", **named("work"))) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        said = g.said("work")
        assert len(said) == 6
        assert all(said[n + 1] == f"To {said[n]}" for n in (0, 2, 4))


def test_results_may_be_sent_alone_to_a_named_session():
    with gateway([Say(calls=(Call("c1", "weather", {}),)), "Rain."]) as g:
        g.ask("Weather?", tools=[WEATHER], **named("work"))
        result = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
        assert g.ask([result], tools=[WEATHER], **named("work")).choices[0].message.content == "Rain."
        with pytest.raises(openai.BadRequestError, match="answers no call"):
            g.ask([result], tools=[WEATHER], **named("work"))


# Models and errors ----------------------------------------------------------------------------------------------------


def test_models_are_the_agents_and_those_of_the_settings():
    more = {"agents": {"list": [{"id": "work", "model": "scripted/other"}]}}
    with gateway(["As work."], settings=more) as g:
        assert [one.id for one in g.client.models.list()] == ["clew", "main", "work", "scripted/m", "scripted/other"]
        assert g.client.models.retrieve("scripted/m").owned_by == "scripted"
        key, _, answer = g.raw([user("Hi")], model="work")
        assert (key.split(":")[1], answer.model) == ("work", "scripted/other")
        with pytest.raises(openai.BadRequestError, match="belongs to the agent"):
            g.ask("Hi", model="work", **named("agent:main:x"))


def test_a_conversation_goes_on_with_another_model():
    with gateway(["One.", "Two."]) as g:
        g.ask("Hi")
        _, how, answer = g.raw([user("Hi"), bot("One."), user("More")], model="scripted/larger")
        assert (how, answer.model) == ("extended", "scripted/larger")


@pytest.mark.parametrize("name", ["gpt-4o", "nowhere/x"])
def test_a_model_that_is_not_there_is_not_found(name):
    with gateway() as g:
        with pytest.raises(openai.NotFoundError, match="does not exist") as caught:
            g.ask("Hi", model=name)
        assert caught.value.code == "model_not_found"
        with pytest.raises(openai.NotFoundError):
            g.client.models.retrieve(name)


def test_a_wrong_token_is_told_apart():
    with gateway() as g:
        client = openai.OpenAI(base_url=g.url, api_key="wrong", max_retries=0)
        with pytest.raises(openai.AuthenticationError, match="token"):
            client.models.list()


@pytest.mark.parametrize(("refuse", "kind"), [
    (Refuse(401, "bad key", "authentication_error"), openai.InternalServerError),
    (Refuse(400, "image too small"), openai.BadRequestError),
    (Refuse(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"), openai.RateLimitError),
])  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_what_the_provider_refuses_has_a_status_of_its_own(refuse, kind, stream):
    with gateway([refuse, "Fine."]) as g:
        with pytest.raises(kind):
            g.ask("Hi", stream=stream)
        assert g.raw([user("Hi")])[1] == "extended"
        [key] = g.sessions
        assert g.said(key) == ["Hi", "Fine."]


def test_a_failure_amid_a_stream_is_an_error_and_no_second_answer_is_put_behind_the_first():
    with gateway([Say("Words that went out already.", hang_up=True), "Better."]) as g:
        stream, got = g.ask("Hi", stream=True), []
        with pytest.raises(openai.APIError, match="broke off"):
            got.extend(chunk.choices[0].delta.content for chunk in stream)
        assert "".join(got).startswith("Words")
        assert len(g.server.requests) == 1
        assert g.ask("Hi").choices[0].message.content == "Better."


def test_a_body_that_is_no_json_is_told():
    with gateway() as g, pytest.raises(openai.BadRequestError, match="no JSON"):
        g.client.post("/chat/completions", content=b"{", cast_to=object)


# Clients that go away -------------------------------------------------------------------------------------------------


def test_a_client_that_goes_away_amid_a_stream_ends_the_request_and_what_was_said_is_kept():
    slow = Say("Once upon a time there was a very long story. " * 20, pace_s=0.05)
    with gateway([slow, "Short."]) as g:
        first = [user("One"), bot("x"), user("Tell me")]
        stream = g.ask(first, stream=True)
        got = ""
        for chunk in stream:
            got += chunk.choices[0].delta.content or ""
            if len(got) > 60:
                break
        stream.close()
        [key] = g.sessions
        waited(lambda: len(g.said(key)) == 4)
        assert g.said(key)[3].startswith("Once upon a time")
        waited(lambda: g.server.requests[0].dropped)
        assert g.raw([*first, user("Stop that.")])[:2] == (key, "again")
        assert g.said(key) == ["One", "x", "Tell me", "Stop that.", "Short."]


def test_a_client_that_goes_away_while_it_waits_ends_the_request():
    with gateway([Say("Late.", delay_s=3), "Second."]) as g:
        hasty = openai.OpenAI(base_url=g.url, api_key=TOKEN, max_retries=0, timeout=0.3)
        with pytest.raises(openai.APITimeoutError):
            hasty.chat.completions.create(model="clew", messages=[user("Hi")])
        hasty.close()
        time.sleep(0.3)
        assert g.raw([user("Hi")])[1] == "extended"
        [key] = g.sessions
        assert g.said(key) == ["Hi", "Second."]


def test_words_of_a_scripted_model_need_no_server():
    model = ScriptedModel(["Hello there."])
    config = Config.model_validate({"agents": {"defaults": {"model": "scripted/demo"}}})
    clew = Clew(InMemoryStore(), config, models={"scripted/demo": model}, env={})
    with serving(clew) as port:
        g = Gateway(clew, port, None)
        assert g.ask("Hi").choices[0].message.content == "Hello there."
        assert model.requests[0].messages[0].blocks == (Text("Hi"),)
