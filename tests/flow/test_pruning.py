"""Pruning in whole turns: the clock, the marks, the same bytes after a restart, and the provider that clears itself."""

import asyncio
import logging
import random

import msgspec
import pytest

from clew.app import Clew
from clew.compact.settings import CompactionSettings
from clew.config import Config
from clew.models.port import Request
from clew.models.providers import build
from clew.models.settings import ModelsSettings
from clew.prune.gate import Route
from clew.prune.remote import BETA, EDIT
from clew.prune.settings import HardClear, PrunableTools, PruningSettings
from clew.prune.trim import trimmed
from clew.runtime import events
from clew.runtime.pruning import FACT
from clew.runtime.session import Session
from clew.runtime.turn import Turn
from clew.store.inmemory import InMemoryStore
from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer, Say
from clew.tokens.exact import counter
from clew.transcript import Call, PruneMark, Text, ToolResult, User, assistant, result, text_of, user
from clew.transcript.message import Media
from tests.flow.test_long_sessions import ANTHROPIC, OPENAI, Script, Talk, page, unexplained
from tests.flow.test_turn import Desk, Stage
from tests.unit.transcript.test_characters import Watched

MINUTE = 60_000
OPEN = {
    "pruning": PruningSettings(mode="cache-ttl", ttl="5m"),
    "route": Route("openai", "gpt-5", "openai-completions"),
    "compaction": CompactionSettings(enabled=False),
}


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.at = 1_000_000_000

    def __call__(self) -> int:
        return self.at


class Pruned(Stage):
    """A stage whose session is full of old results, with a clock of its own."""

    def __init__(self, answers=None, *, results: int = 8, chars: int = 9_000, window: int = 40_000, **more) -> None:
        super().__init__(answers or endless(), window=window, **{**OPEN, **more})
        self.clock = Clock()
        for n in range(results):
            call = Call(f"c{n}", "read", {"path": f"src/page{n}.py"})
            self.session.append(
                user(f"look {n}"),
                assistant("", call),
                result(call, f"{n}: line of a page, 日本 and so on\n" * (chars // 32)),
            )
            self.session.append(assistant(f"seen {n}"))
        self.turn = Turn(self.agent, self.session, self.lane, self.told.append, now=self.clock, new_id=self.ids)

    def at(self, minutes: float) -> list[str]:
        """A turn so many minutes after the first; the causes of the breaks it told."""
        self.told.clear()
        self.clock.at = 1_000_000_000 + round(minutes * MINUTE)
        self.say("go on")
        return [event.cause for event in self.told if isinstance(event, events.PrefixBreak)]

    def marks(self) -> list[PruneMark]:
        return [r.entry.body for r in self.store.entries("k") if isinstance(r.entry.body, PruneMark)]

    def sent(self) -> list[str]:
        return [text_of(message) for message in self.model.requests[-1].messages]


def endless():
    while True:
        yield lambda request: assistant("well", stop="stop")


def test_calls_at_nought_four_and_eight_minutes_never_prune_and_at_thirteen_they_do():
    stage = Pruned()
    assert [stage.at(minutes) for minutes in (0, 4, 8)] == [[], [], []]
    assert stage.at(12.99) == []
    assert stage.at(17.99) == ["prune"]
    trimmed = next(event for event in stage.told if isinstance(event, events.Trimmed))
    assert trimmed.results == len(stage.marks()[0].cuts) > 3
    assert stage.at(22.98) == []


def test_the_mark_is_stored_before_the_request_whose_bytes_it_changes():
    seen = []
    stage = Pruned([lambda request: seen.append(len(stage.marks())) or "well"] * 2)
    stage.at(0)
    stage.at(6)
    assert seen == [0, 1]
    assert any("characters of read src/page0.py left out" in text for text in stage.sent())


def test_nothing_is_pruned_before_a_request_of_this_model_has_succeeded():
    stage = Pruned()
    stage.store.describe("k", {FACT: {"other/model": 1}})
    assert stage.at(600) == []
    assert stage.store.session("k").meta[FACT][stage.model.name] == stage.clock.at


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"pruning": PruningSettings(mode="off")}, id="switched off"),
        pytest.param({"pruning": PruningSettings()}, id="no Anthropic route"),
        pytest.param({"route": Route("ollama", "qwen3")}, id="no cache that lapses"),
        pytest.param({"window": 400_000}, id="less than 30 % of the window"),
        pytest.param({"window": None}, id="window unknown"),
        pytest.param({"chars": 3_000}, id="nothing long"),
    ],
)
def test_what_keeps_the_gate_shut(more):
    stage = Pruned(**more)
    assert [stage.at(minutes) for minutes in (0, 60, 600)] == [[], [], []]
    assert stage.marks() == []


def test_a_tool_that_takes_longer_than_the_cache_lives_prunes_within_the_turn():
    class Slow(Desk):
        async def run(self, call, **more):
            stage.clock.at += 6 * MINUTE
            return await super().run(call, **more)

    stage = Pruned([assistant("", Call("x", "wait", {})), "done"], desk=Slow())
    assert stage.at(0) == ["prune"]
    assert [event.step for event in stage.told if isinstance(event, events.Asking)] == [1, 2]


def test_a_restart_replays_the_same_bytes_whatever_the_settings_say_then(tmp_path):
    store = SqliteStore(tmp_path / "s.sqlite")
    clear = PruningSettings(mode="cache-ttl", hard_clear=HardClear(placeholder="(gone)"))
    stage = Pruned(results=30, chars=3_900, store=store, window=60_000, pruning=clear)
    stage.at(0)
    stage.at(6)
    assert set(stage.marks()[0].cuts.values()) == {"clear"}
    assert "(gone)" in stage.sent()
    store.close()
    again = SqliteStore(tmp_path / "s.sqlite")
    messages = Session(again, "k", now=stage.clock, new_id=stage.ids).messages()
    assert messages[:-1] == list(stage.model.requests[-1].messages)
    again.close()


def test_marks_grow_with_what_is_pruned_and_not_with_how_often():
    stage = Pruned()
    for round_ in range(6):
        stage.at(round_ * 6)
    names = [name for mark in stage.marks() for name in mark.cuts]
    assert len(stage.marks()) == 1
    assert len(names) == len(set(names))


def test_a_compaction_takes_the_marks_of_what_left_the_view_with_it_and_a_reset_all():
    stage = Pruned(compaction=CompactionSettings(fallback="ledger", keep_recent_tokens=1), results=12, window=80_000)
    stage.at(0)
    stage.at(6)
    assert stage.marks()
    asyncio.run(stage.turn.house.compact("manual", 80_000, required=True))
    shown = {entry.id for entry in stage.session.view().entries}
    left = [name for e in stage.session.view().entries if isinstance(e.body, PruneMark) for name in e.body.cuts]
    assert not shown & set(left)
    stage.session.reset()
    assert stage.session.view().entries == ()


def test_old_images_become_markers_at_the_start_of_a_turn_and_three_turns_keep_theirs():
    stage = Pruned(results=0, pruning=PruningSettings(mode="off"))
    for n in range(5):
        stage.session.append(User((Text(f"picture {n}"), Media("image/png", data="AAAA"))), assistant("seen"))
    assert stage.at(0) == ["prune"]
    pictures = [message for message in stage.model.requests[-1].messages if isinstance(message, User)]
    kept = [any(isinstance(block, Media) for block in message.blocks) for message in pictures]
    assert kept == [False, False, True, True, True, False]
    assert text_of(pictures[0]).startswith("picture 0\n[image image/png")


def test_a_provider_that_clears_by_itself_is_asked_to_and_old_marks_still_replay():
    stage = Pruned(route=Route("anthropic", "claude", "anthropic-messages", remote=True))
    old = next(
        r.entry.id for r in stage.store.entries("k") if isinstance(getattr(r.entry.body, "message", 0), ToolResult)
    )
    stage.session.mark(PruneMark("anthropic", {old: "trim"}))
    assert [stage.at(minutes) for minutes in (0, 60, 600)] == [[], [], []]
    assert len(stage.marks()) == 1
    assert any("left out" in text for text in stage.sent())
    (edit,) = stage.model.requests[-1].context_edits["edits"]
    assert (edit["type"], edit["trigger"]["value"]) == (EDIT, 50_000)


@pytest.mark.parametrize("streamed", [False, True])
def test_the_edits_go_over_the_wire_with_their_header_and_what_was_cleared_is_logged(streamed, caplog):
    edits = {"edits": [{"type": EDIT}]}
    applied = {"applied_edits": [{"type": EDIT, "cleared_tool_uses": 3, "cleared_input_tokens": 15_000}]}
    say = Say("well", more={"context_management": applied})

    async def ask(server, provider):
        settings = server.settings(provider, api=ANTHROPIC, headers={"anthropic-beta": "one-2026"})
        model = build(f"{provider}/claude-opus-5-5", ModelsSettings.model_validate(settings), {})
        request = Request((user("hi"),), context_edits=edits)
        await model.complete(request, on_text=(lambda piece: None) if streamed else None)
        await model.close()

    with ModelServer([say, say]) as server, caplog.at_level(logging.INFO, "clew"):
        asyncio.run(ask(server, "anthropic"))
        asyncio.run(ask(server, "other"))
    first, second = server.requests
    assert first.body["context_management"] == edits
    assert first.headers["anthropic-beta"] == f"one-2026,{BETA}"
    assert "context_management" not in second.body
    assert "cleared 3 tool results (15000 input tokens)" in caplog.text


@pytest.mark.parametrize("api", [OPENAI, ANTHROPIC])
def test_with_pruning_on_requests_extend_the_same_bytes_but_for_breaks_that_are_told(tmp_path, api):
    """Through the real SDK: 60 turns full of tools, between which time passes or does not."""
    clock, chance = Clock(), random.Random(4)
    told = {"id": "any", "contextWindow": 32_768, "cost": {"input": 3, "output": 15, "cacheRead": 0.3}}

    async def run(server):
        models = server.settings("openai", api=api, models=[told])
        defaults = {"model": "openai/any", "contextPruning": {"mode": "cache-ttl", "ttl": "5m"}}
        config = Config.model_validate({"models": models, "agents": {"defaults": defaults}})
        clew = Clew(InMemoryStore(), config, env={}, now=clock)
        async with clew.converse("k", workspace=tmp_path, tools=[page]) as conversation:
            talk = Talk(server, conversation)
            for n in range(60):
                clock.at += chance.choice([1, 1, 1, 6]) * MINUTE
                assert (await talk.say(f"message {n}")).outcome == "done"
        await clew.aclose()
        return talk

    with ModelServer(Script(largest=150), window=32_768, count=counter()) as server:
        talk = asyncio.run(run(server))
        assert unexplained(talk) == []
        causes = [cause for _, cause in talk.breaks]
        assert causes.count("prune") == len(talk.of(events.Trimmed)) > 1
        assert {seen.status for seen in server.requests} == {200}


def test_room_is_made_of_results_kept_out_only_where_there_are_no_others():
    stage = Pruned(results=2, pruning=PruningSettings(tools=PrunableTools(deny=("secret",))))
    call = Call("s", "secret", {})
    stage.session.append(user("and?"), assistant("", call), result(call, "s" * 9_000), assistant("seen"))
    pruning = stage.turn.house.pruning
    assert pruning.trim(keep=1) > 0
    assert (len(stage.marks()[0].cuts), pruning.reducible()) == (2, 0)
    assert pruning.trim(keep=1) > 0
    assert [len(mark.cuts) for mark in stage.marks()] == [2, 1]


def test_a_result_of_flags_alone_is_shortened_without_a_look_at_all_of_it():
    text = Watched("🇩🇪" * 60_000)
    shown = trimmed(ToolResult("c", "read", (Text(text),)), "e")
    assert len(text_of(shown)) < 4_000
    assert text.looked_at < 20_000


def test_what_a_request_says_is_the_same_with_and_without_edits_on_other_routes():
    plain = Pruned()
    plain.at(0)
    assert msgspec.structs.asdict(plain.model.requests[-1])["context_edits"] is None


def test_sizes_are_those_that_are_sent_wherever_they_are_told():
    stage = Pruned(results=30, chars=3_900, window=60_000)
    stage.at(0)
    raw = sum(record.tokens for record in stage.session.window().records)
    stage.at(6)
    sent = stage.turn.house.size().tokens
    assert sent < raw * 0.8
    clew = Clew(stage.store, Config(), env={})
    report = clew.session("k").context(window=60_000)
    assert report.size.tokens == pytest.approx(sent, rel=0.05)
    assert sum(part.tokens for part in report.parts) == pytest.approx(sent, rel=0.05)
    assert asyncio.run(clew.fit("k", window=(sent + raw) // 2 * 4 // 3)) is None
    done = asyncio.run(clew.compact("k", by_rules=True))
    assert done.body.tokens_before == pytest.approx(sent, rel=0.05)
    _, before, after = clew.undo("k")
    assert (before, after) == (pytest.approx(done.body.tokens_after, rel=0.05), pytest.approx(sent, rel=0.05))
