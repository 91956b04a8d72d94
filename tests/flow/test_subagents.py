"""Sub-agents: what a child knows, what its parent gets, and that nothing of one that could not begin is left."""

import asyncio

import pytest

from clew.app import Clew
from clew.config import Config
from clew.engine import guard
from clew.engine.port import Assembled, EngineOffer, Info, Requirement, delegate_compaction
from clew.errors import BadInput, BadSettings, CallerError, SessionExists, StoreBusy
from clew.models.scripted import ScriptedModel
from clew.runtime import events
from clew.runtime.books import Books
from clew.runtime.engine_run import EngineRun
from clew.runtime.turn import SETTLED, unfinished
from clew.store.inmemory import InMemoryStore
from clew.subagents import NOTE
from clew.transcript import Call, ToolResult, assistant, mend, text_of, user
from clew.workspace.port import Offer

PARENT = "agent:main:main"
ON = {"agents": {"defaults": {"subagents": {"enabled": True}}}}


@pytest.fixture(autouse=True)
def nobody_is_quarantined():
    guard.quarantine.clear()
    yield
    guard.quarantine.clear()


class Engine:
    """An engine that writes down what it hears of sub-agents. `fails` are methods that raise."""

    info = Info("mine", "Mine")
    calls, fails = [], frozenset()

    def __init__(self, host):
        self.host = host

    def called(self, *what):
        self.calls.append(what)
        if what[0] in self.fails:
            raise OSError("no disk")

    async def ingest(self, session, message):
        return False

    async def assemble(self, given):
        return Assembled(given.messages)

    async def compact(self, ask):
        return await delegate_compaction(self.host, ask)

    async def prepare_subagent_spawn(self, given):
        self.called("prepare", given.mode)
        return lambda: self.called("rollback")

    async def on_subagent_ended(self, child, ending):
        self.called("ended", ending)

    async def dispose(self):
        self.called("dispose", self.host.session == PARENT)


class Scene:
    """A program with a scripted model, one parent session, and maybe an engine."""

    def __init__(self, *answers, engine=None, fails=(), **config):
        self.model, self.told = ScriptedModel(answers), []
        self.clew = Clew(InMemoryStore(), Config.model_validate(config), models={"scripted/demo": self.model}, env={})
        self.engine = type("Own", (engine or Engine,), {"calls": [], "fails": frozenset(fails)})
        if engine or fails:
            offer = [EngineOffer("mine", self.engine)]
            self.clew.engine = lambda session, operation="agent-run": EngineRun(
                "mine", offer, session, operation=operation
            )

    def run(self, work, place):
        async def whole():
            async with self.clew.converse(model="scripted/demo", workspace=place) as talk:
                talk.listen(self.told.append)
                return await work(talk)

        return asyncio.run(whole())

    def spawn(self, place, *given, say=()):
        async def work(talk):
            for one in say:
                await talk.say(one)
            return await talk.spawn(*given)

        return self.run(work, place)

    def children(self):
        return [row.key for row in self.clew.sessions() if row.key != PARENT]

    def said(self, key):
        return [text_of(one) for one in self.clew.session(key).messages()]


def test_an_isolated_child_knows_its_task_alone_and_the_parent_keeps_its_own_transcript(tmp_path):
    scene = Scene("Noted.", "Three files.")
    done = scene.spawn(tmp_path, "Count the files.", say=["My secret is 4711."])
    assert (done.mode, done.outcome, done.text, done.note) == ("isolated", "done", "Three files.", "")
    assert [text_of(one) for one in scene.model.requests[-1].messages] == ["Count the files."]
    assert scene.said(done.key) == ["Count the files.", "Three files."]
    assert scene.said(PARENT) == ["My secret is 4711.", "Noted."]


def test_a_forked_child_sees_the_parents_view_and_goes_on_by_itself(tmp_path):
    scene = Scene("Noted.", "It is 4711.")
    done = scene.spawn(tmp_path, "What is my secret?", "fork", say=["My secret is 4711."])
    assert done.mode == "fork"
    sent = [text_of(one) for one in scene.model.requests[-1].messages]
    assert sent == ["My secret is 4711.", "Noted.", "What is my secret?"]
    assert scene.said(PARENT) == ["My secret is 4711.", "Noted."]


def test_a_fork_begins_with_the_brief_after_a_compaction(tmp_path):
    scene = Scene("ok", "ok")
    parent = scene.clew.create(PARENT)
    for n in range(40):
        parent.append(user(f"Ticket OPS-{n}."), assistant(f"OPS-{n} is done. " * 60, stop="stop"))
    asyncio.run(scene.clew.compact(PARENT, by_rules=True, keep=500))
    scene.spawn(tmp_path, "go", "fork")
    assert [text_of(one) for one in parent.messages()] == [
        text_of(one) for one in scene.model.requests[-1].messages[:-1]
    ]


def test_a_child_has_an_account_of_its_own(tmp_path):
    scene = Scene("Noted.", "Three files.", "Four.")
    done = scene.spawn(tmp_path, "Count the files.", say=["hello"])
    assert [Books(scene.clew.store, key, lambda name: None).total().total().requests for key in (PARENT, done.key)] == [
        1,
        1,
    ]


def test_a_child_names_its_parent_and_its_task(tmp_path):
    scene = Scene("ok")
    done = scene.spawn(tmp_path, "Count the files. " * 20)
    meta = scene.clew.session(done.key).row().meta
    assert meta["parent"] == PARENT
    assert meta["title"] == ("Count the files. " * 20)[:80]
    assert done.key.startswith(f"{PARENT}:sub:")


@pytest.mark.parametrize(
    ("given", "why"), [((" \n",), "the task is empty"), (("do it", "clone"), "'clone' is no context")]
)
def test_an_empty_task_and_an_unknown_context_are_refused_before_anything_is_done(given, why, tmp_path):
    scene = Scene(engine=Engine)
    with pytest.raises(BadInput, match=why):
        scene.spawn(tmp_path, *given)
    assert scene.children() == []
    assert scene.engine.calls == [("dispose", True)]


def test_a_fork_over_a_hundred_thousand_tokens_begins_alone_and_says_so(tmp_path):
    scene = Scene("ok")
    scene.clew.create(PARENT).append(user("hello"), assistant("a word and another " * 40_000, stop="stop"))
    done = scene.spawn(tmp_path, "go", "fork")
    assert (done.mode, done.note) == ("isolated", NOTE)
    assert [text_of(one) for one in scene.model.requests[-1].messages] == ["go"]


def test_a_conversation_that_nobody_gave_sub_agents_says_so(tmp_path):
    async def work(talk):
        talk._spawn = None
        await talk.spawn("go")

    with pytest.raises(CallerError, match="has no sub-agents"):
        Scene().run(work, tmp_path)


# The tool -------------------------------------------------------------------------------------------------------------


def test_the_tool_is_there_when_the_setting_is_on_and_not_for_a_child(tmp_path):
    for config, names in (({}, set()), (ON, {"spawn_agent"})):
        scene = Scene("ok", "ok", **config)
        scene.spawn(tmp_path, "go", say=["hello"])
        parent, child = ({tool.name for tool in one.tools} & {"spawn_agent"} for one in scene.model.requests)
        assert (parent, child) == (names, set())


def spawning(*tasks, context="isolated"):
    return assistant(
        "", *(Call(f"c{n}", "spawn_agent", {"task": task, "context": context}) for n, task in enumerate(tasks))
    )


def test_the_model_gets_the_childs_last_words_and_nothing_else(tmp_path):
    scene = Scene(spawning("Count the files."), "I looked. Three files.", "There are three.", **ON)
    scene.run(lambda talk: talk.say("How many files?"), tmp_path)
    (answered,) = [one for one in scene.model.requests[-1].messages if isinstance(one, ToolResult)]
    (child,) = scene.children()
    assert text_of(answered) == f"[sub-agent {child}]\nI looked. Three files."
    assert not answered.error


def test_two_at_once_are_two_children_and_a_fork_leaves_out_the_answer_that_is_under_way(tmp_path):
    scene = Scene(spawning("one", "two", context="fork"), "first", "second", "both", **ON)
    scene.run(lambda talk: talk.say("do both"), tmp_path)
    one, two = (list(map(text_of, request.messages)) for request in scene.model.requests[1:3])
    assert (one, two) == (["do both", "one"], ["do both", "two"])
    assert len(scene.children()) == 2
    for request in scene.model.requests:
        assert mend(request.messages) == list(request.messages)


def test_a_forks_open_ask_is_no_turn_that_was_cut_short(tmp_path):
    scene = Scene(spawning("one", context="fork"), "first", "both", **ON)
    scene.run(lambda talk: talk.say("do it"), tmp_path)
    child = scene.clew.session(scene.children()[0])
    copied = next(iter(child.store.entries(child.key)))
    assert child.row().meta[SETTLED] == copied.entry.id
    assert unfinished(child) is None


def test_a_child_that_fails_is_a_result_that_says_so(tmp_path):
    scene = Scene(spawning("one"), OSError("the line is dead"), "too bad", **ON)
    scene.run(lambda talk: talk.say("do it"), tmp_path)
    (answered,) = [one for one in scene.model.requests[-1].messages if isinstance(one, ToolResult)]
    assert answered.error
    assert "the line is dead" in text_of(answered)


# What the engine hears ------------------------------------------------------------------------------------------------


def test_the_engine_hears_of_a_child_before_and_after(tmp_path):
    scene = Scene("ok", engine=Engine)
    scene.spawn(tmp_path, "go", "fork")
    assert scene.engine.calls == [("prepare", "fork"), ("ended", "completed"), ("dispose", False), ("dispose", True)]


def test_a_turn_of_the_child_that_fails_is_told_as_failed(tmp_path):
    scene = Scene(OSError("the line is dead"), engine=Engine)
    with pytest.raises(OSError, match="dead"):
        scene.spawn(tmp_path, "go")
    assert ("ended", "failed") in scene.engine.calls
    assert ("rollback",) not in scene.engine.calls
    assert len(scene.children()) == 1


def no_model(scene):
    scene.clew._models.clear()


def no_store(scene):
    def create(key, **more):
        raise StoreBusy("somebody else writes")

    scene.clew.store.create = create


def no_copy(scene):
    def append(key, drafts, **more):
        raise StoreBusy("somebody else writes")

    scene.clew.store.append = append


@pytest.mark.parametrize(("broken", "error"), [(no_model, BadSettings), (no_store, StoreBusy), (no_copy, StoreBusy)])
@pytest.mark.parametrize("fails", [(), ("rollback",)], ids=["", "and the rollback fails"])
def test_a_child_that_cannot_begin_leaves_nothing_and_is_taken_back_once(broken, error, fails, tmp_path):
    async def work(talk):
        await talk.say("hello")
        broken(scene)
        await talk.spawn("go", "fork")

    scene = Scene("Noted.", engine=Engine, fails=fails)
    with pytest.raises(error):
        scene.run(work, tmp_path)
    assert [what for what, *_ in scene.engine.calls].count("rollback") == 1
    assert scene.engine.calls[0] == ("prepare", "fork")
    assert all(what != "ended" for what, *_ in scene.engine.calls)
    assert scene.children() == []
    assert scene.engine.calls.count(("dispose", False)) == (broken is no_model), "an engine that was made is let go"


def test_a_key_that_is_taken_is_not_taken_away(tmp_path):
    scene = Scene("ok", engine=Engine)
    scene.clew._new_id = lambda: "same"

    async def work(talk):
        scene.clew.create(f"{PARENT}:sub:same")
        await talk.spawn("go")

    with pytest.raises(SessionExists):
        scene.run(work, tmp_path)
    assert scene.children() == [f"{PARENT}:sub:same"]


def test_an_engine_that_fails_to_prepare_is_quarantined_and_the_child_begins(tmp_path):
    scene = Scene("Three files.", "ok", fails=["prepare"])
    assert scene.spawn(tmp_path, "Count the files.").text == "Three files."
    (told,) = (one for one in scene.told if isinstance(one, events.EngineTrouble))
    assert (told.method, told.quarantined) == ("prepare_subagent_spawn", True)
    assert scene.engine.calls == [("prepare", "isolated"), ("dispose", True)]


def test_an_engine_that_fails_at_the_end_of_a_child_costs_no_answer(tmp_path):
    scene = Scene("Three files.", fails=["ended"])
    assert scene.spawn(tmp_path, "Count the files.").text == "Three files."
    (told,) = (one for one in scene.told if isinstance(one, events.EngineTrouble))
    assert (told.method, told.quarantined) == ("on_subagent_ended", True)


def test_a_child_is_asked_for_what_an_engine_needs_of_a_host_for_children(tmp_path):
    class Picky(Engine):
        info = Info("mine", "Mine", requires={"subagent-spawn": Requirement(("time-travel",))})
        seen = []

        async def assemble(self, given):
            self.seen.append(given.session)
            return Assembled(given.messages)

    scene = Scene("hello", "ok", engine=Picky)
    done = scene.spawn(tmp_path, "go", say=["hello"])
    assert done.outcome == "done"
    assert Picky.seen == [PARENT], "the built-in engine runs the child"


def test_tools_of_an_engine_that_clash_with_others_are_left_out(tmp_path):
    class Lending(Engine):
        def tools(self):
            return (Offer(lambda path: path, "read", "Reads."),)

    scene = Scene("hello", engine=Lending)
    assert scene.run(lambda talk: talk.say("hello"), tmp_path).outcome == "done"
    assert [tool.name for tool in scene.model.requests[0].tools].count("read") == 1


def test_cancelling_the_parent_cancels_the_child(tmp_path):
    begun = asyncio.Event()

    async def work(talk):
        turn = asyncio.create_task(talk.say("do it"))
        await begun.wait()
        turn.cancel()
        await turn

    scene = Scene(spawning("one"), engine=Engine, **ON)
    complete = scene.model.complete

    async def slow(request, **more):
        if len(scene.model.requests) == 1:
            begun.set()
            await asyncio.sleep(60)
        return await complete(request, **more)

    scene.model.complete = slow
    with pytest.raises(asyncio.CancelledError):
        scene.run(work, tmp_path)
    assert scene.engine.calls[:2] == [("prepare", "isolated"), ("ended", "cancelled")]
    (child,) = scene.children()
    assert scene.said(child)[0] == "one"
    for key in (child, PARENT):
        assert scene.clew.session(key).row().meta[SETTLED]
    assert text_of(scene.clew.session(PARENT).messages()[-1]).startswith("Cancelled by the user")
