"""Whole conversations through the real SDKs against a real server: 300 turns, every window, every way to run over it.

The server counts with a real tokenizer, not with Clew's estimates, and keeps each request as the bytes it came in.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import msgspec
import pytest

from clew.agency import Conversation
from clew.app import Clew
from clew.clock import new_id, now_ms
from clew.config import Config
from clew.errors import AuthFailed, ModelError
from clew.memory.settings import MemoryFlushSettings
from clew.runtime import events
from clew.store.inmemory import InMemoryStore
from clew.testing.server import WORDS, ModelServer, Refuse, Say
from clew.testing.server_prefix import extends
from clew.tokens.exact import counter
from clew.transcript import Call, Said, assistant, text_of, user
from tests.flow.test_turn import Stage, long_talk
from tests.unit.compact.test_flow import GOOD

OPENAI, ANTHROPIC = "openai-completions", "anthropic-messages"
BOTH = pytest.mark.parametrize("api", [OPENAI, ANTHROPIC])
WORDS_OF = {
    "en": "the deploy of host batch-03 failed with exit code 2 while the lease of build 7f3a9c was held by worker-9; ",
    "zh": "部署在主机上失败了，退出代码是二，因为租约仍由另一个进程持有；请在重试之前检查日志。",
    "code": "def lease(seconds: int = 90) -> Lease:\n    return Lease(owner=HOST, until=now() + seconds * 1_000)\n",
}


def page(topic: str, size: int) -> str:
    """A page of so many lines about something."""
    return "".join(f"{topic} {line}: {WORDS_OF[topic.split('-')[0]]}\n" for line in range(size))


class Script:
    """A model that calls tools for some steps of a turn, then answers; its briefs are good, empty or bad by turns."""

    def __init__(self, seed: int = 1, *, largest: int = 300, briefs=(GOOD, "", "no brief")) -> None:
        self.chance, self.largest, self.briefs = random.Random(seed), largest, briefs
        self.asked = dict.fromkeys(("turn", "flush", "compaction"), 0)

    def __call__(self, seen) -> Say:
        kind = purpose(seen)
        self.asked[kind] += 1
        if kind == "flush":
            return Say("- the user wants three attempts" if self.asked[kind] % 2 else "NO_REPLY")
        if kind == "compaction":
            return Say(self.briefs[self.asked[kind] % len(self.briefs)])
        if self.chance.random() < 0.45:
            return Say(f"完成了。{WORDS_OF['zh']}" * self.chance.randint(1, 4))
        return Say("I look.", calls=tuple(self.call(nth) for nth in range(self.chance.randint(1, 3))))

    def call(self, nth: int) -> Call:
        number = f"t{self.asked['turn']}c{nth}"
        size = self.largest if self.chance.random() < 0.06 else self.chance.randint(0, 12)
        return Call(number, "page", {"topic": f"{self.chance.choice(list(WORDS_OF))}-{number}", "size": size})


def purpose(seen) -> str:
    """What a request was for: a turn, notes, or a brief (asked for alone, or at the conversation's end)."""
    last = json.dumps(seen.body["messages"][-1])
    if not seen.body.get("tools") or "handover brief for an agent" in last:
        return "compaction"
    return "flush" if "Write down what must outlast it" in last else "turn"


class Talk:
    """A conversation with all that was told and all that was sent."""

    def __init__(self, server, conversation) -> None:
        self.server, self.conversation = server, conversation
        self.told: list[events.Event] = []
        self.breaks: list[tuple[int, str]] = []
        conversation.listen(self.hear)

    def hear(self, event) -> None:
        self.told.append(event)
        if isinstance(event, events.PrefixBreak):
            self.breaks.append((len(self.server.requests), event.cause))

    def of(self, kind):
        return [event for event in self.told if isinstance(event, kind)]

    async def say(self, text: str):
        return await self.conversation.say(text)

    @property
    def main(self):
        """The requests of turns that were answered or refused, with their place among all requests."""
        return [(at, seen) for at, seen in enumerate(self.server.requests) if purpose(seen) == "turn"]


def clew_with(models, choice, **defaults) -> Clew:
    config = Config.model_validate({"models": models, "agents": {"defaults": {"model": choice, **defaults}}})
    return Clew(InMemoryStore(), config, env={})


@asynccontextmanager
async def talking(server, tmp_path, api=OPENAI, *, told) -> AsyncIterator[Talk]:
    """A conversation over a store in memory, with the workspace's tools and `page`, in a window of `told` tokens."""
    told_of = {"id": "any", "contextWindow": told, "cost": {"input": 3, "output": 15, "cacheRead": 0.3}}
    clew = clew_with(server.settings(api=api, models=[told_of]), "scripted/any")
    async with clew.converse("k", workspace=tmp_path, tools=[page]) as conversation:
        yield Talk(server, conversation)
    await clew.aclose()


def unexplained(talk: Talk) -> list[tuple[int, int]]:
    """Pairs of consecutive requests of turns that neither extend one another nor have a logged break between them."""
    places = {at for at, _ in talk.breaks}
    return [
        (first, second)
        for (first, earlier), (second, later) in pairwise(talk.main)
        if not extends(earlier, later) and not any(first < at <= second for at in places)
    ]


def housekeeping(talk: Talk):
    """The requests for notes and briefs that ride on the conversation, each with the turn's request before it."""
    before = None
    for seen in talk.server.requests:
        if purpose(seen) == "turn":
            before = seen
        elif before and seen.body.get("tools"):
            yield before, seen


def broken_pairs(seen) -> list[str]:
    """Calls not answered right behind themselves, in order, and results of no call, in either format."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in seen.body["messages"]:
        parts = message["content"] if isinstance(message.get("content"), list) else []
        results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        results += [message["tool_call_id"]] if message["role"] == "tool" else []
        wrong += [one for one in results if one not in waiting]
        waiting = [one for one in waiting if one not in results]
        if message["role"] == "assistant":
            wrong, calls = wrong + waiting, [part["id"] for part in parts if part["type"] == "tool_use"]
            waiting = calls + [call["id"] for call in message.get("tool_calls") or ()]
        elif message["role"] == "user":
            wrong, waiting = wrong + waiting, []
    return wrong + waiting


def fits(talk: Talk, window: int) -> bool:
    """Whether the server, by its own count, never saw more than the window, nor refused anything."""
    seen = talk.server.requests
    return max(one.tokens for one in seen) <= window and {one.status for one in seen} == {200}


def kept(talk: Talk) -> list[str]:
    """What was said to the model, as the store has it."""
    entries = talk.conversation.session.store.entries("k")
    said = (record.entry.body.message for record in entries if isinstance(record.entry.body, Said))
    return [text_of(message) for message in said if type(message).__name__ == "User"]


@pytest.mark.parametrize(
    ("api", "window", "words"), [(OPENAI, 32_768, "vllm"), (ANTHROPIC, 16_384, "anthropic")], ids=["chat", "messages"]
)
def test_three_hundred_turns_full_of_tools_stay_inside_the_window(tmp_path, api, window, words):
    async def run(server):
        async with talking(server, tmp_path, api, told=window) as talk:
            ends = [await talk.say(f"message {n}: {WORDS_OF['zh' if n % 3 else 'en']}") for n in range(300)]
        return talk, ends

    with ModelServer(script := Script(), window=window, words=words, count=counter()) as server:
        talk, ends = asyncio.run(run(server))
        assert {end.outcome for end in ends} == {"done"}
        assert fits(talk, window)
        assert not any(broken_pairs(seen) for seen in server.requests)
        assert unexplained(talk) == []
        riding = list(housekeeping(talk))
        assert {purpose(seen) for _, seen in riding} == {"flush", "compaction"}
        assert all(extends(before, seen) and seen.cached >= before.tokens for before, seen in riding)
        compactions = [event.outcome for event in talk.of(events.Compacted)]
        assert compactions.count("compacted") >= 10
        assert len(compactions) < script.asked["turn"] / 4
        assert len(talk.of(events.Flushed)) <= compactions.count("compacted") + 1
        assert [text for text in kept(talk) if text.startswith("message")] == [
            f"message {n}: {WORDS_OF['zh' if n % 3 else 'en']}" for n in range(300)
        ]


def test_a_brief_asked_for_at_the_conversations_end_is_marked_for_the_cache(tmp_path):
    async def run(server):
        async with talking(server, tmp_path, ANTHROPIC, told=16_384) as talk:
            for n in range(24):
                await talk.say(f"message {n}: {WORDS_OF['en'] * 8}")
        return [seen for _, seen in housekeeping(talk) if purpose(seen) == "compaction"]

    with ModelServer(Script(briefs=(GOOD,)), window=16_384) as server:
        assert all(b'"cache_control"' in seen.raw for seen in asyncio.run(run(server)))


@pytest.mark.parametrize(
    ("window", "turns", "words"),
    [(4_096, 60, 40), (8_192, 60, 80), (16_384, 60, 200), (32_768, 50, 500), (131_072, 40, 2_500),
     (1_048_576, 20, 40_000)],
)  # fmt: skip
def test_every_window_holds_a_long_conversation_without_a_loop(tmp_path, window, turns, words):
    async def run(server):
        async with talking(server, tmp_path, told=window) as talk:
            talk.ends = [await talk.say(f"message {n} " + "word and word " * words) for n in range(turns)]
        return talk

    with ModelServer(Script(7, largest=200, briefs=(GOOD,)), window=window) as server:
        talk = asyncio.run(run(server))
        assert {end.outcome for end in talk.ends} == {"done"}
        assert fits(talk, window)
        written = [event for event in talk.of(events.Compacted) if event.outcome == "compacted"]
        assert 1 <= len(written) <= len(talk.main) / 2
        assert all(event.tokens_after < event.tokens_before for event in written)


@BOTH
def test_a_window_smaller_than_told_is_learnt_once_and_remembered(tmp_path, api):
    async def run(server):
        async with talking(server, tmp_path, api, told=60_000) as talk:
            ends = [await talk.say(f"message {n}: {WORDS_OF['en'] * 8}") for n in range(80)]
            return talk, ends, await talk.conversation.model.limits()

    with ModelServer(Script(3), window=16_384, words="anthropic") as server:
        talk, ends, limits = asyncio.run(run(server))
        assert {end.outcome for end in ends} == {"done"}
        assert (limits.window, limits.source) == (16_384, "error")
        assert [seen.status for seen in server.requests].count(400) <= 2
        assert len(talk.of(events.Compacted)) >= 3
        assert not any(broken_pairs(seen) for seen in server.requests)


def history(talk: Talk, turns: int) -> None:
    """A conversation that was there before, about 700 tokens a turn."""
    answer = (WORDS_OF["en"] * 60)[:2_600]
    for n in range(turns):
        talk.conversation.session.append(user(f"question {n}"), assistant(f"answer {n}: {answer}", stop="stop"))


async def once(server, tmp_path, api=OPENAI, *, told=100_000, turns=24):
    """One turn behind such a history: the conversation, and how the turn ended."""
    async with talking(server, tmp_path, api, told=told) as talk:
        history(talk, turns)
        return talk, await talk.say("go on")


@BOTH
@pytest.mark.parametrize("words", sorted(set(WORDS) - {"groq"}))
def test_an_overflow_in_every_providers_words_is_recovered_from(tmp_path, api, words):
    with ModelServer(Script(briefs=(GOOD,), largest=0), window=9_000, words=words) as server:
        talk, end = asyncio.run(once(server, tmp_path, api))
        assert (end.outcome, server.requests[0].status >= 400) == ("done", True)
        assert talk.of(events.Compacting)[0].trigger == "overflow"
        assert kept(talk)[-1] == "go on"
        assert "go on" in json.dumps(talk.main[-1][1].body["messages"])


@BOTH
def test_a_limit_on_tokens_a_minute_is_told_at_once(tmp_path, api):
    with ModelServer(Script(), window=9_000, words="groq") as server:
        talk, end = asyncio.run(once(server, tmp_path, api))
        assert (end.outcome, end.code, len(server.requests)) == ("overflow", "request_limit", 1)
        assert talk.of(events.Compacting) == talk.of(events.Waiting) == []
        assert "Limit 9000" in end.detail
        assert kept(talk)[-1] == "go on"


@BOTH
def test_a_prompt_larger_than_the_window_stops_at_once_with_the_sizes(tmp_path, api):
    for name in ("AGENTS.md", "SOUL.md", "USER.md"):
        (tmp_path / name).write_text(WORDS_OF["en"] * 200)
    with ModelServer(Script(), window=8_192) as server:
        talk, end = asyncio.run(once(server, tmp_path, api, told=8_192, turns=1))
        assert (end.outcome, end.code, server.requests) == ("too_large", "fixed_prompt", [])
        assert end.facts["fixed"] > 6_144
        assert end.facts["window"] == 8_192
        assert str(f"{end.facts['fixed']:,}") in end.detail
        assert kept(talk)[-1] == "go on"


def test_after_exhaustion_the_session_is_as_it_was_and_the_next_turn_works(tmp_path):
    async def run(server):
        async with talking(server, tmp_path, told=100_000) as talk:
            history(talk, 24)
            server.window = 300
            first = await talk.say("too much")
            server.window = 100_000
            return talk, first, await talk.say("and now")

    with ModelServer(Script(largest=0, briefs=(GOOD,)), window=300, words="zh") as server:
        talk, first, second = asyncio.run(run(server))
        assert (first.outcome, second.outcome) == ("overflow", "done")
        assert kept(talk)[-2:] == ["too much", "and now"]
        last = json.dumps(talk.main[-1][1].body["messages"])
        assert "too much" in last
        assert "and now" in last


FAILURES = {"500": Refuse(500, "boom", "api_error"), "late": Say("late", delay_s=5), "cut": Say("half", hang_up=True)}


@pytest.mark.parametrize("fails", FAILURES)
def test_a_stand_in_answers_and_the_next_turn_uses_the_first_model_again(tmp_path, fails):
    async def run(first, second):
        models = first.settings("one")
        models["providers"] |= second.settings("two")["providers"]
        clew = clew_with(models, {"primary": "one/any", "fallbacks": ["two/any"]})
        async with clew.converse("k", workspace=tmp_path) as settled:
            hasty = msgspec.structs.replace(settled.agent, timeout_s=1.0)
            talk = Talk(first, Conversation(settled.session, lambda name: hasty, now=now_ms, new_id=new_id))
            texts = [(await talk.say("one")).text, (await talk.say("two")).text]
        await clew.aclose()
        return talk, texts

    failing = [FAILURES[fails]] * (3 if fails == "500" else 1)
    with ModelServer([*failing, "first again"]) as first, ModelServer(["stood in"]) as second:
        talk, texts = asyncio.run(run(first, second))
        assert texts == ["stood in", "first again"]
        assert [(event.model, event.next) for event in talk.of(events.Switched)] == [("one/any", "two/any")]
        assert len(second.requests) == 1


@BOTH
def test_the_wait_a_provider_asks_for_is_kept_and_told(tmp_path, api):
    busy = Refuse(429, "slow down", "rate_limit_error", retry_after=0.7)
    with ModelServer([busy, "here"]) as server:
        talk, end = asyncio.run(once(server, tmp_path, api, turns=0))
        assert end.text == "here"
        assert [event.seconds for event in talk.of(events.Waiting)] == [0.7]
        assert server.requests[1].at - server.requests[0].at >= 0.7


@pytest.mark.parametrize(
    ("before", "after", "tokens", "first"),
    [(512_000, 272_000, 300_000, "compaction"), (272_000, 1_000_000, 206_000, "turn")],
    ids=["to a smaller window", "to a larger one"],
)
def test_a_switch_of_models_compacts_first_where_the_new_window_is_too_small(tmp_path, before, after, tokens, first):
    async def run(server):
        models = server.settings(models=[{"id": "a", "contextWindow": before}, {"id": "b", "contextWindow": after}])
        clew = clew_with(models, "scripted/a", compaction={"memoryFlush": {"enabled": False}})
        async with clew.converse("k", workspace=tmp_path) as conversation:
            talk, n = Talk(server, conversation), 0
            while conversation.session.row().window_tokens < tokens:
                conversation.session.append(user(f"question {n}"), assistant("word and word " * 4_000, stop="stop"))
                n += 1
            await conversation.use("scripted/b")
            end = await talk.say("go on")
        await clew.aclose()
        return talk, end

    with ModelServer(Script(briefs=(GOOD,), largest=0), window=after) as server:
        talk, end = asyncio.run(run(server))
        assert (end.outcome, purpose(server.requests[0])) == ("done", first)
        assert fits(talk, after)
        assert bool(talk.of(events.Compacting)) == (first == "compaction")


def test_many_huge_results_of_one_answer_fit_a_small_window_together(tmp_path):
    calls = tuple(Call(f"c{n}", "page", {"topic": f"code-{n}", "size": 400}) for n in range(8))
    with ModelServer([Say("I look.", calls=calls), "seen"], window=8_192, count=counter()) as server:
        talk, end = asyncio.run(once(server, tmp_path, told=8_192, turns=0))
        assert (end.text, talk.of(events.Compacting)) == ("seen", [])
        assert fits(talk, 8_192)


def test_a_request_asks_for_no_more_output_than_the_window_has_left(tmp_path):
    with ModelServer(Script(largest=0), window=9_000, words="anthropic") as server:
        talk, end = asyncio.run(once(server, tmp_path, ANTHROPIC, told=9_000, turns=7))
        assert end.outcome == "done"
        assert fits(talk, 9_000)
        assert all(seen.tokens + seen.body["max_tokens"] <= 9_000 for _, seen in talk.main)


def test_a_message_handed_over_during_the_last_answer_is_answered_in_the_same_turn():
    def first(request):
        stage.lane.steer(user("and the other one?"))
        return assistant("Here is one.", stop="stop")

    stage = Stage([first, "And here the other."])
    ended = stage.say("show me one")
    assert (ended.text, ended.steps) == ("And here the other.", 2)
    assert not any(isinstance(event, events.Interrupted) for event in stage.told)


def test_a_message_handed_over_to_a_turn_that_fails_is_kept():
    def first(request):
        stage.lane.steer(user("and the other one?"))
        raise AuthFailed("no key")

    stage = Stage([first])
    assert stage.say("show me one").outcome == "failed"
    assert [text_of(message) for message in stage.spoken()] == ["show me one", "and the other one?"]


def test_an_answer_that_cannot_be_used_ends_the_turn_and_costs_a_flush_only_itself():
    stage = Stage([ModelError("no completion")])
    assert stage.say("hi").code == "model"

    def answer(request):
        if request.purpose == "flush":
            raise ModelError("no completion")
        return GOOD if request.purpose == "compaction" else "ok"

    stage = Stage([answer] * 50, window=32_768, flush=MemoryFlushSettings(), note=lambda text: None)
    long_talk(stage, turns=12, size=430)
    assert stage.say("go on").outcome == "done"
    assert [event.outcome for event in stage.told if isinstance(event, events.Flushed)] == ["failed"]


def test_notes_are_not_asked_for_where_their_request_would_not_fit():
    stage = Stage([lambda request: GOOD if request.purpose == "compaction" else "ok"] * 50, window=4_096,
                  flush=MemoryFlushSettings(), note=lambda text: None)  # fmt: skip
    long_talk(stage, turns=4, size=230)
    assert stage.say("go on").outcome == "done"
    assert [event.outcome for event in stage.told if isinstance(event, events.Flushed)] == ["skipped"]
    assert not any(request.purpose == "flush" for request in stage.model.requests)
