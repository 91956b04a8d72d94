"""What an engine hands back is looked at before it is used, and a quarantine loses no turn."""

import asyncio

import msgspec
import pytest

from clew.agency import Conversation
from clew.app import Clew
from clew.clock import new_id, now_ms
from clew.compact.outcome import Skipped
from clew.config import Config
from clew.engine import guard
from clew.engine.guard import raised_by_host
from clew.engine.port import Assembled, Info
from clew.runtime.engine_host import FACT
from clew.store.inmemory import InMemoryStore
from clew.transcript import Call, assistant, text_of, user
from tests.flow.test_engines import Committing, Full, Required, Scene, long


@pytest.fixture(autouse=True)
def nobody_is_quarantined():
    guard.quarantine.clear()
    yield
    guard.quarantine.clear()


@pytest.mark.parametrize(
    "extra",
    [
        {"append": ("words",)}, {"append": (assistant("words"),)}, {"addition": None},
        {"append": (user("word and word " * 8_000),)}, {"addition": "word and word " * 8_000},
    ],
    ids=["text", "an answer", "no addition", "too long to append", "too long to add"],
)  # fmt: skip
def test_what_comes_beside_the_messages_is_looked_at_too(extra):
    class Wrong(Required):
        async def assemble(self, given):
            return Assembled(given.messages, **extra)

    scene = Scene(Wrong, window=8_192)
    assert scene.say("hi").outcome == "done"
    assert scene.trouble() == [("assemble", False)]
    assert [text_of(one) for one in scene.model.requests[-1].messages] == ["hi"]


def test_the_same_messages_twice_are_more_than_the_budget():
    class Twice(Required):
        async def assemble(self, given):
            return Assembled(given.messages * 9)

    scene = Scene(Twice, window=8_192)
    scene.session.append(user("word " * 1_000), assistant("ok", stop="stop"))
    scene.say("hi")
    assert scene.trouble() == [("assemble", False)]


def test_an_engine_whose_name_cannot_be_told_twice_is_asked_once():
    class Moody(Full):
        asked = 0

        @property
        def info(self):
            Moody.asked += 1
            if Moody.asked > 4:
                raise OSError("not again")
            return Info("mine", "Mine")

    scene = Scene(Moody)
    assert [scene.say("one").outcome, scene.say("two").outcome] == ["done", "done"]
    assert (scene.trouble(), scene.run.id) == ([], "mine")


@pytest.mark.parametrize("method", ["bootstrap", "maintain", "after_turn", "dispose"])
def test_an_optional_method_that_is_not_async_is_a_fault_of_form(method):
    class Half(Full):
        pass

    setattr(Half, method, lambda self, *given: None)
    scene = Scene(Half)
    scene.say("hi")
    assert scene.trouble() == [("made", True)]


def test_turns_of_a_quarantined_engine_stay_owed_in_every_conversation_of_the_process():
    class Failing(Committing):
        async def maintain(self, session, reason):
            raise OSError("no disk")

    first = Scene(Failing)
    first.say("one")
    second = Scene(Failing, store=first.store)
    second.say("two")
    assert (second.made, second.run.id, second.run.wanted) == ([], "legacy", "mine")
    guard.quarantine.clear()
    third = Scene(Committing, store=first.store)
    third.say("three")
    assert [text_of(turn.messages[0]) for turn in third.engine.taken.values()] == ["one", "two", "three"]
    assert first.store.owed() == []


def test_a_conversation_beside_the_one_that_failed_is_told_once_too():
    beside = Scene()
    beside.say("one")
    Scene(fails=["maintain"]).say("one")
    beside.say("two", "three")
    assert beside.trouble() == [("maintain", True)]
    assert beside.run.id == "legacy"


def test_an_engine_that_fails_where_the_host_failed_is_no_worse_for_it():
    class Asking(Full):
        async def maintain(self, session, reason):
            try:
                raise_as_host()
            except OSError as error:
                raise RuntimeError("no upkeep") from error

    scene = Scene(Asking)
    scene.say("hi")
    assert scene.run.id == "mine"
    assert {quarantined for _, quarantined in scene.trouble()} == {False}


def raise_as_host():
    error = OSError("the provider is down")
    raised_by_host(error)
    raise error


def test_an_engine_that_cannot_be_had_is_told_of_by_a_compaction_by_hand_too():
    clew = Clew(InMemoryStore(), Config.model_validate({"plugins": {"slots": {"contextEngine": "gone"}}}), env={})
    session = clew.create("k")
    assert isinstance(asyncio.run(clew.compact("k", by_rules=True)), Skipped)
    assert "no plug-in registers it" in session.row().meta[FACT]["error"]


def test_with_no_engine_and_with_one_that_adds_nothing_the_requests_are_the_same_bytes():
    sent = []
    for plain in (True, False):
        scene = Scene(Required, window=8_192, answers=[assistant("", Call("c", "look", {"page": 1})), *["so"] * 9])
        if plain:
            scene.talk = Conversation(scene.session, scene.talk._build, now=now_ms, new_id=new_id)
        long(scene.session)
        scene.say("look", "bye")
        assert (scene.session.row().compactions, scene.trouble()) == (1, [])
        sent.append([msgspec.json.encode(request) for request in scene.model.requests])
    assert sent[0] == sent[1]
