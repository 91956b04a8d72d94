"""A compaction over a real store: what stands afterwards, what comes back, and what nothing can take away."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from clew.compact.outcome import Compacted, Declined, Skipped
from clew.compact.settings import CompactionSettings, QualityGuard
from clew.errors import CallerError, ProviderTimeout
from clew.models.scripted import ScriptedModel
from clew.runtime.compaction import Order, compact
from clew.runtime.session import Session
from clew.store.inmemory import InMemoryStore
from clew.store.port import Store
from clew.store.sqlite import SqliteStore
from clew.tokens import estimate
from clew.transcript import Media, Message, Said, Text, User, assistant, result, text_of, user
from tests.unit.compact.test_flow import GOOD, HEADLESS, HISTORY
from tests.unit.making import call, turns

LEDGER = CompactionSettings(fallback="ledger")
CANCEL = CompactionSettings(fallback="cancel")


class Ids:
    """Fresh ids and times that are the same in every run."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"id{self.count:06d}"

    def now(self) -> int:
        return 1_000_000 + self.count


def opened(store: Store, messages: list[Message], ids: Ids) -> Session:
    store.create("k", at=1)
    session = Session(store, "k", now=ids.now, new_id=ids)
    session.append(*messages)
    return session


def run(session: Session, ids: Ids, order: Order, **more):
    return asyncio.run(compact(session.store, "k", order, now=ids.now, new_id=ids, **more))


def said() -> list[Message]:
    return [entry.body.message for entry in HISTORY]


@pytest.fixture(params=["inmemory", "sqlite"])
def store(request, tmp_path: Path):
    with InMemoryStore() if request.param == "inmemory" else SqliteStore(tmp_path / "s.sqlite") as made:
        yield made


def test_a_compaction_stands_with_its_counters_and_its_event(store):
    ids = Ids()
    session = opened(store, said(), ids)
    done = run(session, ids, Order(CANCEL, keep=0, chain=(ScriptedModel([GOOD]),), focus="the retry"))
    assert isinstance(done, Compacted)
    row, (wound,) = session.row(), session.compactions()
    assert (row.compactions, row.boundary, wound.standing) == (1, done.id, "standing")
    assert wound.body.tokens_after < wound.body.tokens_before
    assert (wound.body.trigger, wound.body.focus, wound.body.model) == ("manual", "the retry", "scripted/demo")
    assert store.events("k")[-1].kind == "compaction"
    assert store.events("k")[-1].data["tokensAfter"] == wound.body.tokens_after


def test_the_view_is_the_brief_and_the_tail_and_the_transcript_has_everything(store):
    ids = Ids()
    session = opened(store, said(), ids)
    run(session, ids, Order(CANCEL, keep=0, chain=(ScriptedModel([GOOD]),)))
    opening, *tail = session.messages()
    assert "## Decisions" in text_of(opening)
    assert tail == said()[-len(tail) :]
    kept = [r.entry.body.message for r in store.entries("k") if isinstance(r.entry.body, Said)]
    assert kept == said()


def test_undo_gives_the_old_view_back_and_what_was_said_since_stands_behind_it(store):
    ids = Ids()
    session = opened(store, said(), ids)
    before = session.messages()
    run(session, ids, Order(LEDGER, keep=0))
    session.append(user("one more thing"))
    session.undo()
    assert session.messages() == [*before, user("one more thing")]
    assert session.row().compactions == 0
    assert [wound.standing for wound in session.compactions()] == ["undone"]
    with pytest.raises(CallerError, match="no compaction to undo"):
        session.undo()


def test_undo_steps_back_through_two_compactions(store):
    ids = Ids()
    session = opened(store, said(), ids)
    zero = session.messages()
    run(session, ids, Order(LEDGER, keep=0))
    session.append(*said())
    one = session.messages()
    run(session, ids, Order(LEDGER, keep=0))
    assert [wound.standing for wound in session.compactions()] == ["superseded", "standing"]
    session.undo()
    assert session.messages() == one
    session.undo()
    assert session.messages() == [*zero, *said()]


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(turns(most=8), turns(most=8), turns(most=8))
def test_rounds_lose_no_pinned_message_and_no_ledger_key_and_always_shrink(first, second, third):
    ids, known = Ids(), set()
    session = opened(InMemoryStore(), first, ids)
    pinned = session.store.entry("k", session.window().records[0].entry.id).entry.body.message
    session.pin(session.window().records[0].entry.id)
    for more in (second, third, []):
        done = run(session, ids, Order(LEDGER, keep=60))
        if isinstance(done, Compacted):
            assert done.body.tokens_after < done.body.tokens_before
            keys = {
                item.key for item in (*done.body.ledger.identifiers, *done.body.ledger.files, *done.body.ledger.rules)
            }
            assert known <= keys
            known = keys
        shown = "\n".join(map(text_of, session.messages()))
        assert all(line.strip() in shown for line in text_of(pinned).split("\n"))
        session.append(*more)


def test_a_second_compaction_right_away_has_nothing_to_do(store):
    ids = Ids()
    session = opened(store, said(), ids)
    run(session, ids, Order(LEDGER, keep=0))
    again = run(session, ids, Order(LEDGER, keep=0))
    assert isinstance(again, Skipped)
    assert again.code == "already_compacted"


@pytest.mark.parametrize(
    ("answers", "code"),
    [([HEADLESS, HEADLESS], "quality"), (["", ""], "empty"), ([ProviderTimeout("late")] * 4, "timeout")],
)
def test_a_failure_writes_nothing_and_the_session_still_answers(store, answers, code):
    ids = Ids()
    session = opened(store, said(), ids)
    before, row = session.messages(), session.row()
    done = run(session, ids, Order(CANCEL, keep=0, chain=(ScriptedModel(answers),)))
    assert isinstance(done, Declined)
    assert done.code == code
    assert session.messages() == before
    assert session.row() == row
    assert session.append(user("go on"))


def test_with_the_ledger_as_fallback_the_same_failure_lands(store):
    ids = Ids()
    session = opened(store, said(), ids)
    done = run(session, ids, Order(LEDGER, keep=0, chain=(ScriptedModel([HEADLESS, ""]),)))
    assert isinstance(done, Compacted)
    assert len(done.body.verdict.attempts) >= 2


def test_messages_that_arrive_meanwhile_stay_behind_the_boundary(store):
    ids = Ids()
    session = opened(store, said(), ids)

    def answer(_request):
        session.append(user("by the way, and also"))
        return GOOD

    done = run(session, ids, Order(CANCEL, keep=0, chain=(ScriptedModel([answer]),)))
    assert isinstance(done, Compacted)
    assert text_of(session.messages()[-1]) == "by the way, and also"


def test_of_two_compactions_at_once_one_stands_and_the_other_writes_nothing(store):
    ids = Ids()
    session = opened(store, said(), ids)

    def answer(_request):
        with ThreadPoolExecutor(1) as other:
            assert isinstance(other.submit(run, session, ids, Order(LEDGER, keep=0)).result(), Compacted)
        return GOOD

    done = run(session, ids, Order(CANCEL, keep=0, chain=(ScriptedModel([answer]),)))
    assert isinstance(done, Declined)
    assert done.code == "conflict"
    assert [wound.body.model for wound in session.compactions()] == [None]


def test_a_cancelled_compaction_leaves_everything_as_it_was(store):
    ids = Ids()
    session = opened(store, said(), ids)
    before = session.row()

    async def cancel():
        model = ScriptedModel([GOOD])
        stuck = asyncio.Event()

        async def complete(request, *, on_text=None):
            stuck.set()
            await asyncio.sleep(60)

        model.complete = complete
        task = asyncio.create_task(compact(store, "k", Order(CANCEL, keep=0, chain=(model,)), now=ids.now, new_id=ids))
        await stuck.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert session.row() == before


def test_a_cancel_while_rules_are_at_work_comes_before_the_commit(store):
    ids = Ids()
    session = opened(store, said(), ids)
    before = session.row()

    async def cancel():
        order = Order(CANCEL, keep=0, chain=(ScriptedModel([GOOD]),))
        cancelled = asyncio.current_task().cancel
        await compact(store, "k", order, now=ids.now, new_id=ids, on_answer=lambda answer: cancelled())

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert session.row() == before


def test_a_preview_asks_no_model_and_writes_nothing(store):
    ids = Ids()
    session = opened(store, said(), ids)
    model, before = ScriptedModel([]), session.row()
    done = run(session, ids, Order(CANCEL, keep=0, chain=(model,)), preview=True)
    assert isinstance(done, Compacted)
    assert done.preview
    assert session.row() == before
    assert model.requests == []


def test_an_image_reaches_the_summariser_as_a_marker_and_never_as_base64(store):
    ids = Ids()
    picture = User((Text("look at this"), Media("image/png", data="iVBORw0KGgo" * 9_000)))
    session = opened(store, [picture, *said()], ids)
    model = ScriptedModel([GOOD, GOOD, GOOD])
    run(session, ids, Order(LEDGER, keep=0, chain=(model,)))
    sent = "".join(text_of(message) for request in model.requests for message in request.messages)
    assert "[image data omitted from summary input]" in sent
    assert "iVBORw0KGgo" not in sent


@pytest.mark.parametrize("window", [4_096, 8_192, 16_384, 32_768, 200_000, 1_000_000])
def test_in_every_window_a_full_session_comes_well_below_its_threshold(store, window):
    ids = Ids()
    reads = [call("Read", n, file_path=f"/srv/app/src/part{n}.py") for n in range(60)]
    size = max(200, window // 60 * 4)
    grown = [m for one in reads for m in (assistant("", one), result(one, f"x{one.id} = compute(1)\n" * (size // 24)))]
    session = opened(store, [user("read all parts"), *grown, assistant("done"), user("and now?")], ids)
    done = run(session, ids, Order(CompactionSettings(quality_guard=QualityGuard(max_retries=0)), window=window))
    assert isinstance(done, Compacted)
    assert done.body.tokens_after <= window * 0.55
    assert estimate.text(done.body.summary) < window * 0.2
