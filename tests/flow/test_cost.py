"""What a session cost, kept over turns, processes and restarts: housekeeping included, unknown prices unknown."""

import asyncio

import msgspec
import pytest

from clew.agency import Conversation
from clew.app import Clew
from clew.clock import new_id, now_ms
from clew.compact.settings import CompactionSettings
from clew.config import Config
from clew.errors import AuthFailed, Unreachable
from clew.memory.settings import MemoryFlushSettings
from clew.models.catalog import Price, Rates
from clew.models.scripted import ScriptedModel
from clew.prompt.assemble import SystemPrompt
from clew.runtime.agent import Agent
from clew.runtime.books import FACT, Books, account_in
from clew.runtime.events import PrefixBreak, Spent, Trimmed
from clew.runtime.session import Session
from clew.runtime.tools import Toolbox
from clew.store.inmemory import InMemoryStore
from clew.store.sqlite import SqliteStore
from clew.transcript import Usage, assistant, user
from tests.flow.test_turn import Desk
from tests.unit.compact.test_flow import GOOD

PRICE = Price(Rates(3e-6, 15e-6, 0.3e-6, 3.75e-6))
USED = Usage(input=1_000, output=100, cache_read=4_000)


def answer(request):
    """By purpose; each answer reports the same usage."""
    words = {"flush": "- the user likes tea", "compaction": GOOD}.get(request.purpose, "ok")
    return assistant(words, usage=USED, stop="stop")


def look(page: int) -> str:
    """Looks a page up."""
    return f"page {page}"


def conversing(store, *, price=lambda name: PRICE, script=None, window=None) -> Conversation:
    """A conversation on session `k` of a store, as a new process starts one."""
    if not any(row.key == "k" for row in store.sessions()):
        store.create("k", at=now_ms())
    agent = Agent(
        chain=(ScriptedModel(script or [answer] * 60, window=window),), toolbox=Desk(),
        prompt=lambda again: SystemPrompt("Be brief.", "", ()), compaction=CompactionSettings(fallback="ledger"),
        flush=MemoryFlushSettings(), note=lambda text: None,
    )  # fmt: skip
    session = Session(store, "k", now=now_ms, new_id=new_id)
    return Conversation(session, lambda name: agent, now=now_ms, new_id=new_id, price=price)


def account(store):
    return account_in(store.session("k").meta)


def say(conversation, *words):
    for one in words:
        asyncio.run(conversation.say(one))


def test_the_account_survives_a_restart_and_goes_on(tmp_path):
    for n in range(1, 4):
        with SqliteStore(tmp_path / "s.sqlite") as store:
            say(conversing(store), "one", "two")
            total = account(store).total()
            assert (total.requests, total.input, total.cache_read) == (2 * n, 2_000 * n, 8_000 * n)
            assert total.dollars == pytest.approx(2 * n * PRICE.cost(USED))


def test_two_processes_that_take_turns_add_up(tmp_path):
    with SqliteStore(tmp_path / "s.sqlite") as one, SqliteStore(tmp_path / "s.sqlite") as two:
        first, second = conversing(one), conversing(two)
        for _ in range(3):
            say(first, "one")
            say(second, "two")
        assert account(one) == account(two)
        assert account(one).total().requests == 6


def test_notes_and_briefs_are_counted_under_their_purpose():
    store = InMemoryStore()
    conversation = conversing(store)
    for n in range(12):
        conversation.session.append(user(f"question {n}"), assistant(f"fact{n} is so " * 300, stop="stop"))
    say(conversation, "go on")
    asyncio.run(conversation.flush())
    asyncio.run(conversation.compact())
    purposes = account(store).purposes()
    assert {name: bill.requests > 0 for name, bill in purposes.items()} == {
        "turn": True,
        "flush": True,
        "compaction": True,
    }
    assert purposes["compaction"].input == 1_000 * purposes["compaction"].requests


def test_a_compaction_has_an_account_of_what_it_took_freed_and_saved():
    store = InMemoryStore()
    conversation = conversing(store)
    for n in range(12):
        conversation.session.append(user(f"question {n}"), assistant(f"fact{n} is so " * 300, stop="stop"))
    done = asyncio.run(conversation.compact())
    say(conversation, "one", "two", "three")
    own = account(store).changes[f"compaction:{done.id}"]
    assert own.freed == done.body.tokens_before - done.body.tokens_after > 0
    assert own.spared == 3 * own.freed
    assert own.rewritten == 1_000, "the first request after it, past the cache"
    assert own.own == account(store).purposes()["compaction"]
    assert own.net == pytest.approx(own.saved - own.extra - own.own.money)


def test_after_an_undo_or_a_reset_nothing_more_is_saved():
    store = InMemoryStore()
    conversation = conversing(store)
    for n in range(12):
        conversation.session.append(user(f"question {n}"), assistant(f"fact{n} is so " * 300, stop="stop"))
    done = asyncio.run(conversation.compact())
    say(conversation, "one")
    before = account(store).changes[f"compaction:{done.id}"]
    Clew(store, env={}).undo("k")
    say(conversation, "two")
    conversation.reset()
    say(conversation, "three")
    assert account(store).changes[f"compaction:{done.id}"].spared == before.spared == before.freed
    assert (account(store).breaks["reset"].count, account(store).breaks["undo"].count) == (1, 1)


def test_a_price_that_is_not_known_is_never_nothing():
    store = InMemoryStore()
    say(conversing(store), "one")
    say(conversing(store, price=lambda name: None), "two")
    total = account(store).total()
    assert (total.requests, total.unpriced, total.dollars) == (2, 1, None)
    assert total.money == pytest.approx(PRICE.cost(USED))


def test_what_a_turn_used_before_it_failed_is_kept():
    store = InMemoryStore()
    conversation = conversing(store, script=[answer, AuthFailed("no key")])
    say(conversation, "one", "two")
    assert account(store).total().requests == 1


class Streaming(ScriptedModel):
    """Says a few words and then hangs, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error, self.began = error, asyncio.Event()

    async def complete(self, request, *, on_text=None):
        if on_text:
            on_text("I was about to ")
        self.began.set()
        if self.error is None:
            await asyncio.sleep(60)
        raise self.error


async def cancelled(model, work):
    task = asyncio.ensure_future(work)
    await model.began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancelled_request_is_a_request_whose_cost_nobody_knows():
    store, model = InMemoryStore(), Streaming()
    conversation = conversing(store)
    conversation.agent.chain[0].complete = model.complete
    asyncio.run(cancelled(model, conversation.say("one")))
    total = account(store).total()
    assert (total.requests, total.unreported, total.unpriced, total.dollars) == (1, 1, 1, None)
    assert asyncio.run(conversation.status()).turn == total


@pytest.mark.parametrize(
    ("model", "requests"),
    [
        pytest.param(Streaming(Unreachable("broke off")), 1, id="it had begun to answer"),
        pytest.param(ScriptedModel([AuthFailed("no key")]), 0, id="it was refused"),
    ],
)
def test_a_request_that_failed_counts_where_an_answer_had_begun(model, requests):
    store = InMemoryStore()
    conversation = conversing(store)
    conversation.agent.chain[0].complete = model.complete
    say(conversation, "one")
    assert (account(store).total().requests, account(store).total().unpriced) == (requests, requests)


def test_a_cancelled_brief_is_in_the_account_too():
    store, model = InMemoryStore(), Streaming()
    conversation = conversing(store)
    for n in range(12):
        conversation.session.append(user(f"question {n}"), assistant(f"fact{n} is so " * 300, stop="stop"))
    clew = Clew(store, models={"scripted/demo": model}, env={})
    asyncio.run(cancelled(model, clew.compact("k", model="scripted/demo")))
    assert account(store).purposes()["compaction"].unreported == 1


BY_RULES = {"agents": {"defaults": {"compaction": {"fallback": "ledger"}}}}


def test_a_compaction_by_another_process_while_a_turn_runs_keeps_its_account(tmp_path):
    with SqliteStore(tmp_path / "s.sqlite") as one, SqliteStore(tmp_path / "s.sqlite") as two:
        done = []

        async def compacting(request):
            done.append(await Clew(two, Config.model_validate(BY_RULES), env={}).compact("k", keep=200))
            return assistant("went on", usage=USED, stop="stop")

        conversation = conversing(one)
        for n in range(12):
            conversation.session.append(user(f"question {n}"), assistant(f"fact{n} is so " * 300, stop="stop"))
        say(conversation, "one")
        plain = conversation.agent.chain[0].complete
        conversation.agent.chain[0].complete = lambda request, on_text=None: compacting(request)
        say(conversation, "two")
        conversation.agent.chain[0].complete = plain
        say(conversation, "three", "four")
        own = account(one).changes[f"compaction:{done[0].id}"]
        assert (own.count, own.spared, own.rewritten > 0) == (1, 2 * own.freed, True)
        assert account(one).total().requests == 4
        assert account(one).newest == done[0].id


def test_what_pruning_freed_counts_again_once_a_compaction_is_taken_back():
    store = InMemoryStore()
    conversation = conversing(store)
    for n in range(12):
        conversation.session.append(user(f"question {n}"), assistant(f"fact{n} is so " * 300, stop="stop"))
    books = Books(store, "k", lambda name: PRICE)
    books(Spent("turn", "m", USED))
    books(Trimmed(1, 500, "p0"))
    books(PrefixBreak("prune"))
    books.save()
    asyncio.run(conversation.compact())
    say(conversation, "one")
    assert account(store).changes["prune:p0"].spared == 0
    Clew(store, env={}).undo("k")
    say(conversation, "two")
    assert account(store).changes["prune:p0"].spared == 500


def test_this_turn_and_the_session_are_told_apart():
    store = InMemoryStore()
    conversation = conversing(store)
    say(conversation, "one", "two")
    status = asyncio.run(conversation.status())
    assert (status.turn.requests, status.account.total().requests) == (1, 2)


def test_a_compaction_from_the_command_line_is_in_the_account_too():
    store = InMemoryStore()
    conversation = conversing(store)
    for n in range(12):
        conversation.session.append(user(f"question {n}"), assistant(f"fact{n} is so " * 300, stop="stop"))
    clew = Clew(store, models={"scripted/demo": ScriptedModel([answer] * 9)}, env={})
    asyncio.run(clew.compact("k", model="scripted/demo", preview=True))
    assert FACT not in store.session("k").meta
    done = asyncio.run(clew.compact("k", model="scripted/demo"))
    assert account(store).purposes()["compaction"].requests > 0
    assert account(store).changes[f"compaction:{done.id}"].own.dollars is None


def test_an_account_that_cannot_be_read_stops_nothing():
    store = InMemoryStore()
    conversation = conversing(store)
    store.describe("k", {FACT: {"models": "none"}})
    say(conversation, "one")
    assert account(store).total().requests == 1


@pytest.mark.parametrize(
    ("changed", "causes"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"prompt": lambda again: SystemPrompt("Be loud.", "", ())}, ["prompt"], id="an edited file"),
        pytest.param({"prompt": lambda again: SystemPrompt("Be brief.", "day 2", ())}, ["prompt"], id="another day"),
        pytest.param({"toolbox": Toolbox([look])}, ["tools"], id="other tools"),
        pytest.param({"chain": (ScriptedModel([answer] * 9, name="other/model"),)}, ["model"], id="another model"),
    ],
)
def test_what_changes_between_turns_and_breaks_the_prefix_is_told_also_after_a_restart(changed, causes):
    store = InMemoryStore()
    say(conversing(store), "one", "two")
    later, told = conversing(store), []
    later.agent = msgspec.structs.replace(later.agent, **changed)
    later._turn = later._fresh()
    later.listen(told.append)
    say(later, "three", "four")
    assert [event.cause for event in told if isinstance(event, PrefixBreak)] == causes
    assert list(account(store).breaks) == causes


def test_a_compaction_is_told_once_and_its_own_change_of_the_prompt_not_at_all():
    store = InMemoryStore()
    conversation, told = conversing(store), []
    say(conversation, "one")
    for n in range(12):
        conversation.session.append(user(f"question {n}"), assistant(f"fact{n} is so " * 300, stop="stop"))
    conversation.agent = msgspec.structs.replace(
        conversation.agent, refresh=lambda: "again", prompt=lambda again: SystemPrompt("Be brief.", again, ())
    )
    conversation._turn = conversation._fresh()
    conversation.listen(told.append)
    asyncio.run(conversation.compact())
    say(conversation, "two")
    assert [event.cause for event in told if isinstance(event, PrefixBreak)] == ["compaction"]
