"""Whole turns with a scripted model: what is stored, what is sent, what is told, and what nothing can lose."""

import asyncio
from pathlib import Path

import pytest

from clew.compact.settings import CompactionSettings
from clew.errors import AuthFailed, ProviderTimeout, WindowOverflow
from clew.memory.settings import MemoryFlushSettings
from clew.models.scripted import ScriptedModel
from clew.prompt.assemble import SystemPrompt
from clew.runtime import events
from clew.runtime.agent import Agent
from clew.runtime.lane import Lane
from clew.runtime.session import Session
from clew.runtime.turn import Turn
from clew.store.inmemory import InMemoryStore
from clew.store.sqlite import SqliteStore
from clew.transcript import Call, Said, Text, ToolResult, assistant, calls_of, result, text_of, user
from tests.flow.test_compaction import Ids
from tests.unit.compact.test_flow import GOOD, HEADLESS

NO_FLUSH = MemoryFlushSettings(enabled=False)


class Desk:
    """Tools that write down what they were asked."""

    tools = ()

    def __init__(self, size: int = 40) -> None:
        self.ran: list[Call] = []
        self.size = size

    async def run(self, call: Call, *, ask=None, window=None) -> ToolResult:
        self.ran.append(call)
        text = f"{call.name} {call.arguments} gave {len(self.ran)} " + "value = 1\n" * self.size
        return ToolResult(call.id, call.name, (Text(text),))


class Stage:
    """A session with everything a turn needs."""

    def __init__(self, answers, *, window=None, store=None, desk=None, **more) -> None:
        self.ids, self.told, self.desk = Ids(), [], desk or Desk()
        self.store = store or InMemoryStore()
        self.store.create("k", at=1)
        self.session = Session(self.store, "k", now=self.ids.now, new_id=self.ids)
        self.model = ScriptedModel(answers, window=window)
        settings = {"flush": NO_FLUSH, "compaction": CompactionSettings(fallback="ledger"), **more}
        self.agent = Agent(
            chain=settings.pop("chain", (self.model,)),
            toolbox=self.desk,
            prompt=lambda again: SystemPrompt("Be brief.", "", ()),
            **settings,
        )
        self.lane = Lane(self.store, "k", now=self.ids.now, new_id=self.ids)
        self.turn = self.fresh()

    def fresh(self) -> Turn:
        return Turn(self.agent, self.session, self.lane, self.told.append, now=self.ids.now, new_id=self.ids)

    def say(self, text: str):
        return asyncio.run(self.turn.run(user(text)))

    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.told]

    def spoken(self):
        return [r.entry.body.message for r in self.store.entries("k") if isinstance(r.entry.body, Said)]


def call(n: int, name: str = "read", **arguments) -> Call:
    return Call(f"c{n}", name, arguments)


def test_a_plain_turn_stores_the_message_before_it_asks_and_the_answer_after():
    stage = Stage([lambda request: assistant("Hello!", stop="stop")])
    ended = stage.say("hi")
    assert (ended.outcome, ended.text, ended.steps) == ("done", "Hello!", 1)
    assert [text_of(message) for message in stage.spoken()] == ["hi", "Hello!"]
    assert stage.names() == ["Admitted", "Asking", "Words", "Answered", "Ended"]


def test_calls_are_carried_out_in_order_and_the_next_request_extends_the_one_before():
    stage = Stage([assistant("", call(1), call(2, "write")), assistant("", call(3)), "done"])
    assert stage.say("go").outcome == "done"
    assert [one.id for one in stage.desk.ran] == ["c1", "c2", "c3"]
    first, second, third = (request.messages for request in stage.model.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second


def test_a_provider_that_fails_ends_the_turn_and_keeps_the_message():
    stage = Stage([AuthFailed("no key")])
    ended = stage.say("hi")
    assert (ended.outcome, ended.detail) == ("failed", "no key")
    assert [text_of(message) for message in stage.spoken()] == ["hi"]


def test_a_stand_in_answers_one_request_and_nothing_sticks():
    first, second = (
        ScriptedModel([ProviderTimeout("late"), "first again"], name="a/one"),
        ScriptedModel(["stood in"], name="b/two"),
    )
    stage = Stage([], chain=(first, second))
    assert stage.say("hi").text == "stood in"
    assert stage.say("and now").text == "first again"
    assert "Switched" in stage.names()


def overflow(limit=None):
    return WindowOverflow("prompt is too long", limit=limit)


def long_talk(stage: Stage, turns: int = 12, size: int = 300) -> None:
    for n in range(turns):
        stage.session.append(user(f"question {n}"), assistant(f"answer {n} " + f"fact{n} is so " * size, stop="stop"))


def test_an_overflow_compacts_and_asks_again_without_replaying_anything():
    stage = Stage([assistant("", call(1)), overflow(), GOOD, GOOD, "recovered"], window=200_000)
    long_talk(stage)
    ended = stage.say("go")
    assert ended.outcome == "done"
    assert len(stage.desk.ran) == 1
    assert stage.session.row().compactions == 1
    last = stage.model.requests[-1].messages
    assert "go" in "\n".join(text_of(message) for message in last)
    assert any(isinstance(message, ToolResult) for message in last)


def test_an_overflow_that_never_ends_stops_after_three_and_keeps_everything():
    stage = Stage([overflow()] * 50, window=200_000)
    long_talk(stage)
    ended = stage.say("go")
    assert ended.outcome == "overflow"
    assert sum(request.purpose == "turn" for request in stage.model.requests) <= 4
    assert text_of(stage.spoken()[-1]) == "go"
    assert stage.session.append(user("still there"))


def test_a_history_without_anything_to_compact_is_not_sent_again_and_again():
    stage = Stage([overflow()] * 9, window=200_000)
    assert stage.say("x").outcome == "overflow"
    assert len(stage.model.requests) == 1


@pytest.mark.parametrize("window", [4_096, 8_192, 16_384, 32_768])
def test_a_long_conversation_never_sends_more_than_the_window(window):
    answers = [lambda request: assistant("noted. " + "some words of the answer " * 40, stop="stop")] * 4_000
    stage = Stage(answers, window=window)
    for n in range(80):
        assert stage.say(f"message {n}: " + "words of the question " * 40).outcome == "done"
    assert max(size(request) for request in stage.model.requests if request.purpose == "turn") <= window
    assert 1 <= stage.session.row().compactions < 60


def size(request) -> int:
    from clew.models.scripted import size_of

    return size_of(request)


def test_a_tool_heavy_turn_stays_in_the_window_too():
    window = 16_384
    steps = iter([*(assistant("", call(n), stop="tools") for n in range(60)), assistant("done", stop="stop")])

    def answer(request):
        return next(steps) if request.purpose == "turn" else GOOD

    stage = Stage([answer] * 400, window=window, desk=Desk(size=600))
    assert stage.say("read sixty files").outcome in ("done", "loop")
    assert max(size(request) for request in stage.model.requests if request.purpose == "turn") <= window
    for request in stage.model.requests:
        asked = [one.id for message in request.messages for one in calls_of(message)]
        answered = [message.call_id for message in request.messages if isinstance(message, ToolResult)]
        assert asked == answered


def test_a_prompt_larger_than_the_window_stops_at_once_with_the_sizes():
    stage = Stage([], window=8_192)
    stage.agent = Agent(
        chain=(stage.model,),
        toolbox=stage.desk,
        prompt=lambda again: SystemPrompt("rule " * 9_000, "", ()),
        flush=NO_FLUSH,
    )
    stage.turn = stage.fresh()
    ended = stage.say("hi")
    assert (ended.outcome, ended.code) == ("too_large", "fixed_prompt")
    assert ended.facts["fixed"] > ended.facts["window"]
    assert stage.model.requests == []
    assert text_of(stage.spoken()[0]) == "hi"


def test_a_refused_compaction_does_not_stop_a_conversation_that_still_fits():
    answers = [lambda request: "" if request.purpose == "compaction" else assistant("ok", stop="stop")] * 50
    stage = Stage(answers, window=32_768, compaction=CompactionSettings(fallback="cancel"))
    long_talk(stage, turns=14, size=440)
    assert stage.say("go on").outcome == "done"
    assert any(isinstance(e, events.Compacted) and e.outcome == "declined" for e in stage.told)
    before = sum(request.purpose == "compaction" for request in stage.model.requests)
    assert stage.say("and on").outcome == "done"
    assert sum(request.purpose == "compaction" for request in stage.model.requests) == before


def test_notes_are_written_once_a_cycle_on_a_view_of_their_own():
    noted: list[str] = []

    def note(text: str) -> None:
        noted.append(text)

    def answer(request):
        return (
            "- the user likes tea" if request.purpose == "flush" else GOOD if request.purpose == "compaction" else "ok"
        )

    stage = Stage([answer] * 50, window=32_768, flush=MemoryFlushSettings(), note=note)
    long_talk(stage, turns=12, size=430)
    stage.say("go on")
    stage.say("and on")
    assert noted == ["- the user likes tea"]
    flush = next(request for request in stage.model.requests if request.purpose == "flush")
    turn = next(request for request in stage.model.requests if request.purpose == "turn")
    assert (flush.system, flush.tools) == (turn.system, turn.tools)
    assert all("likes tea" not in text_of(message) for message in stage.spoken())


def test_a_failed_flush_costs_nothing_but_itself():
    def answer(request):
        if request.purpose == "flush":
            raise ProviderTimeout("late")
        return GOOD if request.purpose == "compaction" else "ok"

    stage = Stage([answer] * 50, window=32_768, flush=MemoryFlushSettings(), note=lambda text: None)
    long_talk(stage, turns=12, size=430)
    assert stage.say("go on").outcome == "done"
    assert [e.outcome for e in stage.told if isinstance(e, events.Flushed)] == ["failed"]


def test_no_reply_never_reaches_the_user_streaming_included():
    stage = Stage(["NO_REPLY"])
    ended = stage.say("a heartbeat")
    assert ended.text == ""
    assert not any(isinstance(event, events.Words) for event in stage.told)


def test_cancelling_keeps_what_was_said():
    stage = Stage(["never"])

    async def slow(request, *, on_text=None):
        on_text("I was about to ")
        await asyncio.sleep(60)

    stage.model.complete = slow

    async def cancel():
        task = asyncio.create_task(stage.turn.run(user("hi")))
        while "Words" not in stage.names():
            await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert [text_of(message) for message in stage.spoken()] == ["hi", "I was about to "]
    assert stage.told[-1].outcome == "cancelled"


def test_a_turn_that_died_is_told_of_and_its_dangling_call_is_closed():
    stage = Stage(["back again"])
    stage.session.append(user("go"), assistant("", call(1)))
    assert stage.say("are you there?").outcome == "done"
    assert isinstance(stage.told[0], events.Interrupted)
    sent = stage.model.requests[0].messages
    assert sent[2].error
    assert sent[2].call_id == "c1"


def test_a_message_that_comes_while_a_turn_runs_steers_it():
    stage = Stage([])

    def first(request):
        stage.lane.steer(user("actually, the other one"))
        return assistant("", call(1))

    stage.model = ScriptedModel([first, "switched"])
    stage.agent = Agent(
        chain=(stage.model,), toolbox=stage.desk, prompt=lambda again: SystemPrompt("", "", ()), flush=NO_FLUSH
    )
    stage.turn = stage.fresh()
    stage.say("read this one")
    assert text_of(stage.model.requests[1].messages[-1]) == "actually, the other one"


def test_two_turns_at_once_run_one_after_the_other(tmp_path: Path):
    running: list[str] = []

    async def answer(request, *, on_text=None):
        running.append("in")
        await asyncio.sleep(0.02)
        running.append("out")
        return assistant("ok", stop="stop")

    with SqliteStore(tmp_path / "s.sqlite") as store:
        stage = Stage([], store=store)
        stage.model.complete = answer
        other = Lane(store, "k", now=stage.ids.now, new_id=stage.ids)
        second = Turn(
            stage.agent, Session(store, "k", now=stage.ids.now, new_id=stage.ids), other, stage.told.append,
            now=stage.ids.now, new_id=stage.ids,
        )  # fmt: skip

        async def both():
            await asyncio.gather(stage.turn.run(user("one")), second.run(user("two")))

        asyncio.run(both())
        assert running == ["in", "out", "in", "out"]
        assert [type(m).__name__ for m in stage.spoken()] == ["User", "Assistant", "User", "Assistant"]


def test_the_same_call_with_the_same_result_after_a_compaction_is_a_loop():
    class Stuck(Desk):
        async def run(self, call, *, ask=None, window=None):
            return result(call, "the same page")

    stage = Stage([assistant("", call(n, path="a")) for n in range(9)], desk=Stuck())
    long_talk(stage, turns=4)
    asyncio.run(stage.turn.house.compact("manual", None, required=True))
    stage.model = ScriptedModel([assistant("", call(n, path="a")) for n in range(9)])
    stage.agent = Agent(
        chain=(stage.model,), toolbox=stage.desk, prompt=lambda again: SystemPrompt("", "", ()), flush=NO_FLUSH
    )
    stage.turn = stage.fresh()
    assert stage.say("go").outcome == "loop"
    assert len(stage.model.requests) == 3


def test_a_summary_that_rides_extends_the_conversations_own_request():
    def answer(request):
        return GOOD if request.purpose == "compaction" else "ok"

    stage = Stage([answer] * 50, window=32_768, rides=lambda conversation, text: True)
    long_talk(stage, turns=14, size=300)
    stage.say("go on")
    before = stage.model.requests[-1]
    stage.session.append(user("more"), assistant("words of the answer " * 1_500, stop="stop"))
    stage.say("and on")
    riding = next(request for request in stage.model.requests if request.purpose == "compaction")
    assert riding.messages[: len(before.messages)] == before.messages
    assert (riding.system, riding.dynamic, riding.tools) == (before.system, before.dynamic, before.tools)


def test_a_brief_that_is_refused_is_mended_behind_the_same_cached_conversation():
    briefs = iter([HEADLESS, GOOD])

    def answer(request):
        return next(briefs) if request.purpose == "compaction" else "ok"

    stage = Stage([answer] * 50, window=32_768, rides=lambda conversation, text: True)
    long_talk(stage, turns=14, size=300)
    stage.session.append(user("more"), assistant("words of the answer " * 1_500, stop="stop"))
    stage.say("and on")
    first, second = (request for request in stage.model.requests if request.purpose == "compaction")
    assert second.messages[:-1] == first.messages[:-1]
    assert "this answer was refused" in text_of(second.messages[-1])
    assert [event.outcome for event in stage.told if isinstance(event, events.Compacted)] == ["compacted"]


def test_nothing_like_a_brief_at_the_conversations_end_is_asked_for_as_text():
    def answer(request):
        rides = request.purpose == "compaction" and len(request.messages) > 1
        return "Sure, shall I go on?" if rides else GOOD if request.purpose == "compaction" else "ok"

    stage = Stage([answer] * 50, window=32_768, rides=lambda conversation, text: True)
    long_talk(stage, turns=14, size=300)
    stage.say("go on")
    stage.session.append(user("more"), assistant("words of the answer " * 1_500, stop="stop"))
    stage.say("and on")
    done = [event for event in stage.told if isinstance(event, events.Compacted)]
    assert [event.outcome for event in done] == ["compacted"]
    assert len({len(r.messages) for r in stage.model.requests if r.purpose == "compaction"}) == 2
