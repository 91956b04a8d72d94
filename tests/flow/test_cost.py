"""What a session cost, kept over turns, processes and restarts: housekeeping included, unknown prices unknown."""

import asyncio

import pytest

from clew.agency import Conversation
from clew.app import Clew
from clew.clock import new_id, now_ms
from clew.compact.settings import CompactionSettings
from clew.errors import AuthFailed
from clew.memory.settings import MemoryFlushSettings
from clew.models.catalog import Price, Rates
from clew.models.scripted import ScriptedModel
from clew.prompt.assemble import SystemPrompt
from clew.runtime.agent import Agent
from clew.runtime.books import FACT, account_in
from clew.runtime.session import Session
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
