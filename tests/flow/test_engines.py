"""Engines in whole turns: the order of calls, both ways to fail, turns handed over once, and what a failure costs."""

import asyncio

import pytest

from clew import plugins
from clew.agency import Conversation
from clew.app import Clew
from clew.clock import new_id, now_ms
from clew.compact.brief import HEADINGS
from clew.compact.outcome import Compacted
from clew.compact.settings import CompactionSettings
from clew.config import Config
from clew.engine import guard
from clew.engine.port import (
    Assembled,
    EngineOffer,
    Info,
    Maintained,
    Requirement,
    delegate_compaction,
)
from clew.errors import EngineError, ModelError
from clew.models.port import Request
from clew.models.scripted import ScriptedModel
from clew.prompt.assemble import SystemPrompt
from clew.runtime import events
from clew.runtime.agent import Agent
from clew.runtime.engine_host import FACT
from clew.runtime.engine_run import EngineRun
from clew.runtime.session import Session
from clew.runtime.tools import Toolbox
from clew.store.inmemory import InMemoryStore
from clew.store.sqlite import SqliteStore
from clew.transcript import Call, Pin, User, assistant, text_of, user


@pytest.fixture(autouse=True)
def nobody_is_quarantined():
    guard.quarantine.clear()
    yield
    guard.quarantine.clear()


class Required:
    """An engine with what every engine has, which writes down how it was called. `fails` are methods that raise."""

    id = "mine"
    info = Info("mine", "Mine")

    def __init__(self, host, fails=()):
        self.host, self.calls, self.fails = host, [], set(fails)

    def called(self, name, *what):
        self.calls.append((name, *what))
        if name in self.fails:
            raise OSError(f"{name} has no disk")

    async def ingest(self, session, message):
        self.called("ingest", text_of(message))
        return True

    async def assemble(self, given):
        self.called("assemble", given.first)
        return Assembled(given.messages)

    async def compact(self, ask):
        self.called("compact", ask.trigger)
        return await delegate_compaction(self.host, ask)


class Full(Required):
    """An engine with everything but `commit_turn`."""

    async def bootstrap(self, given):
        self.called("bootstrap", given.entries)
        return True

    async def maintain(self, session, reason):
        self.called("maintain", reason)
        return Maintained()

    async def after_turn(self, turn):
        self.called("after_turn", *map(text_of, turn.messages))

    async def dispose(self):
        self.called("dispose")


class Committing(Required):
    """An engine that takes turns over once."""

    def __init__(self, host, fails=()):
        super().__init__(host, fails)
        self.taken = {}

    async def commit_turn(self, turn):
        self.called("commit_turn", turn.turn)
        known = turn.turn in self.taken
        self.taken.setdefault(turn.turn, turn)
        return "duplicate" if known else "committed"


class Scene:
    """A session run by an engine, with a scripted model."""

    def __init__(self, kind=Full, *, fails=(), answers=None, store=None, window=None, made=None, **more):
        self.store, self.told = store or InMemoryStore(), []
        if not any(row.key == "k" for row in self.store.sessions()):
            self.store.create("k", at=1)
        self.session = Session(self.store, "k", now=now_ms, new_id=new_id)
        self.made = []

        def make(host):
            self.made.append(kind(host, fails))
            return self.made[-1]

        self.model = ScriptedModel(answers or ["well"] * 50)
        agent = Agent(
            chain=(self.model,), toolbox=Toolbox([look]), prompt=lambda again: SystemPrompt("", "", ()), window=window,
            compaction=CompactionSettings(fallback="ledger"),
        )  # fmt: skip
        self.run = EngineRun("mine", [EngineOffer("mine", made or make)], self.session)
        self.talk = Conversation(self.session, lambda name: agent, now=now_ms, new_id=new_id, engine=self.run)
        self.talk.listen(self.told.append)

    @property
    def engine(self):
        return self.made[-1]

    def say(self, *words):
        return [asyncio.run(self.talk.say(one)) for one in words][-1]

    def trouble(self):
        return [(one.method, one.quarantined) for one in self.told if isinstance(one, events.EngineTrouble)]

    def names(self):
        return [name for name, *_ in self.engine.calls]


def look(page: int) -> str:
    """Looks a page up."""
    return f"page {page}"


def long(session, turns=14):
    for n in range(turns):
        session.append(user(f"question {n}"), assistant(f"fact{n} is so. " * 200, stop="stop"))


def test_the_order_of_calls_is_that_of_the_port():
    scene = Scene(answers=[assistant("", Call("c", "look", {"page": 1})), "seen", "bye"])
    scene.say("look", "bye")
    asyncio.run(scene.run.dispose())
    assert scene.engine.calls == [
        ("bootstrap", 0), ("maintain", "bootstrap"), ("assemble", True), ("assemble", False),
        ("after_turn", "look", "", "page 1", "seen"), ("maintain", "turn"),
        ("assemble", True), ("after_turn", "bye", "bye"), ("maintain", "turn"), ("dispose",),
    ]  # fmt: skip


def test_an_engine_with_no_more_than_it_needs_is_given_each_message():
    scene = Scene(Required)
    scene.say("one")
    assert scene.engine.calls == [("assemble", True), ("ingest", "one"), ("ingest", "well")]


def test_a_turn_that_fails_is_not_told_of():
    scene = Scene(answers=[OSError("x")])
    with pytest.raises(OSError, match="x"):
        scene.say("one")
    assert "after_turn" not in scene.names()


def test_assemble_fails_once_told_a_turn_and_is_asked_again_in_the_next():
    scene = Scene(fails=["assemble"], answers=[assistant("", Call("c", "look", {"page": 1})), "seen", "bye"])
    assert scene.say("look").outcome == "done"
    assert scene.trouble() == [("assemble", False)]
    scene.say("bye")
    assert scene.trouble() == [("assemble", False)] * 2
    assert scene.names().count("assemble") == 3
    assert scene.session.row().meta[FACT]["error"] == "OSError: assemble has no disk"
    assert [text_of(one) for one in scene.model.requests[-1].messages][-1] == "bye"


@pytest.mark.parametrize("wrong", [None, [], Assembled(()), Assembled(("text",)), "messages"])
def test_a_wrong_answer_of_assemble_is_a_failure(wrong):
    class Wrong(Required):
        async def assemble(self, given):
            return wrong

    scene = Scene(Wrong)
    assert scene.say("hi").outcome == "done"
    assert scene.trouble() == [("assemble", False)]
    assert [text_of(one) for one in scene.model.requests[-1].messages] == ["hi"]


def test_more_than_the_budget_is_a_failure():
    class Fat(Required):
        async def assemble(self, given):
            return Assembled((user("word and word " * given.budget), *given.messages))

    scene = Scene(Fat, window=8_000)
    scene.say("hi")
    assert scene.trouble() == [("assemble", False)]


@pytest.mark.parametrize("method", ["bootstrap", "maintain", "after_turn"])
def test_any_other_failure_is_a_quarantine_and_the_session_goes_on_without(method):
    scene = Scene(fails=[method])
    assert [scene.say("one").outcome, scene.say("two").outcome] == ["done", "done"]
    assert scene.trouble() == [(method, True)]
    assert scene.run.id == "legacy"
    assert scene.names().count(method) == 1
    assert scene.session.row().meta[FACT]["quarantined"]
    assert asyncio.run(scene.talk.status()).engine == "legacy"


def test_a_quarantine_holds_for_the_process_and_says_why_again():
    Scene(fails=["bootstrap"]).say("one")
    later = Scene()
    later.say("one")
    assert later.made == []
    assert later.trouble() == [("bootstrap", True)]


def test_a_compact_that_fails_is_raised_and_the_next_one_is_the_built_in():
    scene = Scene(fails=["compact"])
    long(scene.session)
    with pytest.raises(EngineError, match="compact has no disk"):
        asyncio.run(scene.talk.compact())
    assert scene.session.row().compactions == 0
    assert isinstance(asyncio.run(scene.talk.compact()), Compacted)


def test_in_a_turn_a_compact_that_fails_ends_it_and_the_next_one_goes_on():
    scene = Scene(fails=["compact"], window=8_192)
    long(scene.session)
    first = scene.say("go on")
    assert (first.outcome, first.code) == ("failed", "engine")
    assert scene.say("go on").outcome == "done"
    assert scene.session.row().compactions == 1


def test_what_the_host_raises_through_an_engine_is_no_fault_of_the_engine():
    scene = Scene()

    async def built_in(ask, draft, flow):
        raise ValueError("of the host's own")

    scene.talk._turn.house.engine.bind(built_in, None, None)
    with pytest.raises(ValueError, match="host's own"):
        asyncio.run(scene.talk.compact())
    assert scene.run.id == "mine"


def test_cancelling_is_no_failure():
    class Slow(Full):
        async def assemble(self, given):
            await asyncio.sleep(60)

    scene = Scene(Slow)

    async def cancelled():
        task = asyncio.create_task(scene.talk.say("hi"))
        await asyncio.sleep(0.05)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert scene.trouble() == []
    assert scene.run.id == "mine"


def test_an_engine_that_cannot_be_had_is_told_with_all_its_faults():
    class Half:
        info = Info(" ", "")

        def ingest(self): ...

    scene = Scene(made=lambda host: Half())
    assert scene.say("hi").outcome == "done"
    (told,) = (one for one in scene.told if isinstance(one, events.EngineTrouble))
    for fault in ("`info.id` is blank", "`info.name` is blank", "`assemble` is missing", "`compact` is missing",
                  "`ingest` is not async"):  # fmt: skip
        assert fault in told.error


def test_an_engine_that_is_not_installed_is_named_beside_those_that_are():
    session = Scene().session
    run = EngineRun("theirs", [EngineOffer("mine", Full)], session)
    told = []
    run.bind(None, None, told.append)
    asyncio.run(run.begin_turn())
    assert "legacy, mine" in told[0].error


def test_a_host_that_lacks_what_an_engine_needs_is_no_quarantine():
    class Picky(Full):
        info = Info("mine", "Mine", requires={"agent-run": Requirement(("time-travel",), "Upgrade the host.")})

    scene = Scene(Picky)
    scene.say("hi")
    (told,) = (one for one in scene.told if isinstance(one, events.EngineTrouble))
    assert "time-travel" in told.error
    assert told.error.endswith("Upgrade the host.")
    assert not told.quarantined
    assert guard.quarantine == {}


def test_an_engine_that_owns_compaction_is_not_compacted_by_thresholds():
    class Owner(Full):
        info = Info("mine", "Mine", owns_compaction=True)

        async def assemble(self, given):
            return Assembled(given.messages[-3:])

    scene = Scene(Owner, window=8_192)
    long(scene.session)
    assert scene.say("go on").outcome == "done"
    assert scene.session.row().compactions == 0
    assert len(scene.model.requests[-1].messages) == 3


def test_what_an_engine_appends_is_stored_behind_the_message_and_breaks_no_prefix():
    class Recalling(Full):
        async def assemble(self, given):
            return Assembled(given.messages, append=(User(user(f"recalled for {given.prompt}").blocks),))

    scene = Scene(Recalling, answers=[assistant("", Call("c", "look", {"page": 1})), "seen", "bye"])
    scene.say("look", "bye")
    one, two, three = ([text_of(message) for message in request.messages] for request in scene.model.requests)
    assert one == ["look", "recalled for look"]
    assert two[:2] == one
    assert three == [*two, "seen", "bye", "recalled for bye"]
    assert all(message.synthetic for message in scene.session.messages() if "recalled" in text_of(message))


def test_an_addition_stands_behind_the_cache_boundary():
    class Adding(Full):
        async def assemble(self, given):
            return Assembled(given.messages, addition="Mind the gap.")

    scene = Scene(Adding)
    scene.say("hi")
    assert scene.model.requests[-1].dynamic == "Mind the gap."


# The outbox -----------------------------------------------------------------------------------------------------------


def test_a_turn_is_stored_with_the_note_that_it_is_owed_and_handed_over_once():
    scene = Scene(Committing)
    scene.say("one", "two")
    assert scene.store.owed() == []
    assert [[text_of(one) for one in turn.messages] for turn in scene.engine.taken.values()] == [
        ["one", "well"], ["two", "well"],
    ]  # fmt: skip


def test_a_hand_over_that_fails_keeps_the_turn_and_the_order_and_is_tried_before_the_next():
    scene = Scene(Committing, fails=["commit_turn"])
    scene.say("one")
    (owed,) = scene.store.owed()
    assert (owed.engine, owed.attempts, owed.error) == ("mine", 1, "OSError: commit_turn has no disk")
    scene.say("two")
    assert len(scene.store.owed()) == 2
    assert scene.names().count("assemble") == 1, "while something is owed the built-in engine runs the session"
    scene.engine.fails.clear()
    scene.say("three")
    assert scene.store.owed() == []
    assert [text_of(turn.messages[0]) for turn in scene.engine.taken.values()] == ["one", "two", "three"]
    assert all(method == "commit_turn" and not out for method, out in scene.trouble())
    assert scene.run.id == "mine"


def test_a_turn_that_fails_too_often_is_blocked_and_does_not_stop_those_behind_it():
    scene = Scene(Committing, fails=["commit_turn"])
    scene.say(*"abcdefgh")
    assert [one.blocked for one in scene.store.owed()][:2] == [True, False]
    scene.engine.fails.clear()
    scene.say("i")
    (left,) = scene.store.owed()
    assert left.blocked
    assert scene.store.reopen("k") == 1
    scene.say("j")
    assert scene.store.owed() == []


def test_hidden_entries_never_stop_a_turn():
    class Marking(Committing):
        async def assemble(self, given):
            self.host.store.append("k", [])
            scene.session.pin("#1")
            return Assembled(given.messages)

    scene = Scene(Marking)
    scene.say("one", "two")
    assert any(isinstance(record.entry.body, Pin) for record in scene.store.entries("k"))
    assert [[text_of(one) for one in turn.messages] for turn in scene.engine.taken.values()] == [
        ["one", "well"], ["two", "well"],
    ]  # fmt: skip


def test_a_turn_with_tools_and_steering_is_one_turn():
    scene = Scene(Committing, answers=[assistant("", Call("c", "look", {"page": 1})), "seen", "steered"])
    scene.model.on_request = None
    scene.talk.listen(lambda event: steer(scene, event))
    scene.say("look")
    (turn,) = scene.engine.taken.values()
    assert [text_of(one) for one in turn.messages] == ["look", "", "page 1", "seen", "and this", "steered"]


def steer(scene, event):
    if isinstance(event, events.Answered) and len(scene.model.requests) == 2:
        scene.talk.steer("and this")


def test_a_turn_of_another_process_is_handed_over_by_this_one(tmp_path):
    with SqliteStore(tmp_path / "s.sqlite") as store:
        first = Scene(Committing, fails=["commit_turn"], store=store)
        first.say("one")
        second = Scene(Committing, store=store)
        second.say("two")
        assert [text_of(turn.messages[0]) for turn in second.engine.taken.values()] == ["one", "two"]
        assert store.owed() == []


# What a stranger's engine did to a careful host --------------------------------------------------------------------


@pytest.mark.parametrize("how", [asyncio.CancelledError, SystemExit])
@pytest.mark.parametrize("method", ["assemble", "maintain"])
def test_what_would_end_more_than_the_method_is_a_failure_like_any_other(method, how):
    class Careless(Full):
        def called(self, name, *what):
            if name == method:
                raise how

    scene = Scene(Careless)
    assert scene.say("hi").outcome == "done"
    assert [name for name, _ in scene.trouble()] == [method]


def test_an_engine_that_ends_the_process_while_it_is_made_is_told():
    def make(host):
        raise SystemExit(3)

    scene = Scene(made=make)
    assert scene.say("hi").outcome == "done"
    assert scene.trouble() == [("made", True)]


def test_turns_are_owed_also_while_the_engine_that_takes_them_cannot_be_had():
    scene = Scene(Committing)
    scene.say("one")

    def failing(host):
        raise OSError("no such disk")

    Scene(store=scene.store, made=failing).say("two")
    assert [one.engine for one in scene.store.owed()] == ["mine"]
    guard.quarantine.clear()
    later = Scene(Committing, store=scene.store)
    later.say("three")
    assert [text_of(turn.messages[0]) for turn in later.engine.taken.values()] == ["two", "three"]


class Writing(Required):
    """An engine that has the model write its brief."""

    async def compact(self, ask):
        answer = await self.host.complete(Request((user("write it"),)))
        return await self.host.delegate_compaction(ask, draft=text_of(answer))


def test_an_engine_that_asks_the_model_can_compact_from_the_command_line_too(monkeypatch):
    clew = compacting(monkeypatch, Writing)
    done = asyncio.run(clew.compact("k", model="scripted/demo"))
    assert isinstance(done, Compacted)
    with pytest.raises(ModelError, match="there is none here"):
        asyncio.run(clew.compact("k", by_rules=True))
    assert guard.quarantine == {}


def test_a_preview_reaches_no_engine_that_might_write(monkeypatch):
    made = []
    clew = compacting(monkeypatch, lambda host: made.append(host) or Writing(host))
    assert isinstance(asyncio.run(clew.compact("k", preview=True)), Compacted)
    assert made == []


def compacting(monkeypatch, make):
    """Clew over a session with something to wind up, and an engine of a plug-in."""
    monkeypatch.setattr(plugins, "context_engines", lambda manager: (EngineOffer("mine", make),))
    config = Config.model_validate({"plugins": {"slots": {"contextEngine": "mine"}}})
    clew = Clew(InMemoryStore(), config, models={"scripted/demo": ScriptedModel([BRIEF] * 9)}, env={})
    clew.create("k")
    long(clew.session("k"))
    return clew


BRIEF = "\n".join(f"{heading}\n- fact{n} is so" for n, heading in enumerate(HEADINGS))
