"""The engine that loses nothing: a graph over an untouched transcript, passages that come by themselves, and tools."""

import asyncio
from itertools import pairwise

import pytest

from clew.app import Clew
from clew.compact.outcome import Compacted
from clew.config import Config
from clew.engine.history import History
from clew.engine.weave import FAN
from clew.models.scripted import ScriptedModel
from clew.recall.nodes import flaws
from clew.store.inmemory import InMemoryStore
from clew.store.sqlite import SqliteStore
from clew.transcript import assistant, text_of, user
from tests.unit.compact.test_flow import GOOD

SLOT = {"plugins": {"slots": {"contextEngine": "lossless"}}}


def clew_on(store, answer=None, **more):
    config = Config.model_validate({**SLOT, **more})
    model = ScriptedModel([answer or (lambda request: GOOD if request.purpose == "compaction" else "ok")] * 400)
    return Clew(store, config, models={"scripted/demo": model}, env={}), model


def talk(session, rounds, *, each=8):
    """Rounds of a long conversation, each with a ticket of its own."""
    for n in rounds:
        session.append(user(f"Round {n}: please look at ticket PAY-{n}00 on host batch-{n}.internal:8443."))
        for step in range(each):
            words = f"step {step} of round {n} was done in src/round_{n}/part_{step}.py. " * 30
            session.append(assistant(words, stop="stop"), user("go on"))


def compacted(clew, rounds, **how):
    session = clew.session("k")
    for n in rounds:
        talk(session, [n])
        done = asyncio.run(clew.compact("k", keep=500, budget=3_000, **how))
        assert isinstance(done, Compacted)
    return session


@pytest.mark.parametrize("how", [{"by_rules": True}, {"model": "scripted/demo"}], ids=["rules", "model"])
def test_leaves_stand_for_spans_and_nodes_for_leaves_and_nothing_is_lost_or_covered_twice(how):
    clew, _ = clew_on(InMemoryStore())
    clew.create("k")
    compacted(clew, range(1, 2 * FAN + 2), **how)
    graph = History(clew.store, "k").graph()
    assert list(flaws(graph)) == []
    assert {one.depth for one in graph.summaries} == {0, 1}
    assert len([one for one in graph.summaries if one.depth == 0]) == 2 * FAN + 1
    for one in graph.summaries:
        assert len(one.children) in ((0,) if one.depth == 0 else (FAN,))
    spans = [(one.first, one.last) for one in graph.roots]
    assert all(last < first for (_, last), (first, _) in pairwise(spans))


def test_an_undo_takes_boundary_and_nodes_back_together():
    clew, _ = clew_on(InMemoryStore())
    clew.create("k")
    session = compacted(clew, [1, 2, 3], by_rules=True)
    before = [one.id for one in History(clew.store, "k").graph().summaries]
    session.undo()
    assert [one.id for one in History(clew.store, "k").graph().summaries] == before[:-1]


def test_a_session_that_was_compacted_before_goes_on_over_what_is_there():
    store = InMemoryStore()
    plain = Clew(store, Config(), env={})
    plain.create("k")
    compacted(plain, [1, 2], by_rules=True)
    compacted(clew_on(store)[0], [3, 4], by_rules=True)
    graph = History(store, "k").graph()
    assert list(flaws(graph)) == []
    assert [one.ordinary for one in graph.summaries] == [True, True, False, False]


def conversing(clew, tmp_path, *words, window=None):
    async def run():
        async with clew.converse("k", model="scripted/demo", workspace=tmp_path, window=window) as conversation:
            return [await conversation.say(one) for one in words]

    return asyncio.run(run())


def test_a_name_in_a_new_message_recalls_its_passage_behind_it(tmp_path):
    clew, model = clew_on(InMemoryStore())
    clew.create("k")
    session = clew.session("k")
    session.append(user("The lease of worker-9 was set in deploy/values-7f3a.yaml to 90 seconds."), assistant("Noted."))
    compacted(clew, range(1, 6), by_rules=True)
    assert "values-7f3a" not in "\n".join(map(text_of, session.messages()[-3:]))
    shown = "\n".join(map(text_of, session.messages()))
    conversing(clew, tmp_path, "What did we set in PAY-100, in deploy/values-7f3a.yaml?", "thanks")
    first, second = (list(map(text_of, request.messages)) for request in model.requests[-2:])
    if "values-7f3a" not in shown:
        assert "90 seconds" in first[-1]
        assert second[: len(first)] == first


def test_the_model_is_lent_tools_and_they_find_chinese_and_code(tmp_path):
    clew, model = clew_on(InMemoryStore())
    clew.create("k")
    session = clew.session("k")
    session.append(user("部署在主机上失败了"), assistant("The function retryBudget in src/app/retry.py was changed."))
    compacted(clew, [1, 2], by_rules=True)
    conversing(clew, tmp_path, "hi")
    names = {tool.name for tool in model.requests[-1].tools}
    assert {"history_search", "history_describe", "history_expand"} <= names
    history = History(clew.store, "k")
    assert history.search("主机").hits[0].seq == 1
    assert history.search("retrybudget").hits[0].seq == 2


def test_the_transcript_is_untouched_and_a_restart_knows_the_graph(tmp_path):
    with SqliteStore(tmp_path / "s.sqlite") as store:
        clew, _ = clew_on(store)
        clew.create("k")
        compacted(clew, [1, 2, 3], by_rules=True)
        before = History(store, "k").graph()
    with SqliteStore(tmp_path / "s.sqlite") as store:
        assert History(store, "k").graph() == before
        said = [text_of(r.entry.body.message) for r in store.entries("k") if hasattr(r.entry.body, "message")]
        assert sum("please look at ticket" in one for one in said) == 3


def test_with_a_model_a_stretch_is_summarised_from_its_own_words_once():
    asked = []

    def answer(request):
        asked.append(text_of(request.messages[-1]))
        return GOOD

    clew, _ = clew_on(InMemoryStore(), answer)
    clew.create("k")
    compacted(clew, [1, 2, 3], model="scripted/demo")
    assert sum("please look at ticket PAY-100" in one for one in asked if "<draft" not in one) == 1
