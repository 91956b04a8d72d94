"""Real small models write briefs on the CPU: the audit accepts, corrects and refuses for reasons nobody scripted.

Only tokens and codes are asserted, never words or seconds: another build of the runtime may phrase things differently.
"""

import asyncio

import pytest

from clew.compact.brief import HEADINGS
from clew.compact.outcome import Compacted, Declined
from clew.compact.settings import CompactionSettings
from clew.models.providers import build
from clew.models.settings import ModelsSettings
from clew.runtime.compaction import Order, compact
from clew.store.inmemory import InMemoryStore
from clew.transcript import assistant, result, user
from tests.flow.test_compaction import Ids, opened
from tests.unit.making import call

pytestmark = pytest.mark.real_model

READ = call("Read", 1, file_path="/srv/app/billing/export.py")
TEST = call("Bash", 2, command="pytest tests/test_export.py --maxfail=1")
TALK = [
    user("The nightly export job fails. Ticket BILL-2087, host batch-03.internal:8443. Never delete rows in invoices."),
    assistant("I will read the exporter first.", READ),
    result(READ, "LEASE_SECONDS = 60\n\ndef export(batch):\n    return [row.amount for row in batch]\n" * 8),
    assistant("The lease of 60 seconds is shorter than the export. I raise it to 90 seconds and run the tests.", TEST),
    result(TEST, "FAILED tests/test_export.py::test_lease - assert 60 == 90\nbuild 7f3a9c2e1b"),
    assistant("The test still expected 60 seconds; it now expects 90 seconds and passes."),
    user("Good. Next: write the retry for the upload to https://files.example.org/upload and keep three attempts."),
    assistant("The upload now retries three times with a pause of two seconds."),
    user("Now document both changes in docs/export.md."),
]


def compacted(url, *, fallback="cancel", retries=1):
    ids = Ids()
    session = opened(InMemoryStore(), TALK, ids)
    settings = ModelsSettings.model_validate({"providers": {"llamacpp": {"baseUrl": url}}})
    model = build("llamacpp/local", settings, {})
    policy = CompactionSettings(fallback=fallback, timeout_seconds=900, quality_guard={"max_retries": retries})

    async def whole():
        try:
            order = Order(policy, keep=0, budget=600, window=4096, chain=(model,))
            return await compact(session.store, "k", order, now=ids.now, new_id=ids)
        finally:
            await model.close()

    return session, asyncio.run(whole())


def test_the_window_is_the_servers_own(serve):
    settings = ModelsSettings.model_validate({"providers": {"llamacpp": {"baseUrl": serve("135m", 4096)}}})
    model = build("llamacpp/local", settings, {})

    async def asked():
        try:
            return await model.limits()
        finally:
            await model.close()

    limits = asyncio.run(asked())
    assert (limits.window, limits.source) == (4096, "server")


def test_the_smallest_model_cannot_and_nothing_is_written(serve):
    session, done = compacted(serve("135m", 4096))
    assert isinstance(done, Declined)
    assert done.code in {"quality", "empty"}
    assert len(done.attempts) == 2
    assert any(attempt.findings for attempt in done.attempts)
    assert session.row().compactions == 0


def test_with_the_ledger_behind_it_the_same_model_lands(serve):
    _, done = compacted(serve("135m", 4096), fallback="ledger", retries=0)
    assert isinstance(done, Compacted)
    assert all(done.body.summary.split("\n").count(heading) == 1 for heading in HEADINGS)
    for fact in ("BILL-2087", "batch-03.internal:8443", "Never delete rows in invoices"):
        assert fact in done.body.summary


@pytest.mark.parametrize("name", ["0.5b", "1.5b"])
def test_a_small_model_with_repair_behind_it_keeps_every_fact(serve, name):
    _, done = compacted(serve(name, 4096), fallback="ledger")
    assert isinstance(done, Compacted)
    assert done.body.tokens_after < done.body.tokens_before
    for fact in ("BILL-2087", "https://files.example.org/upload", "Never delete rows in invoices", "7f3a9c2e1b"):
        assert fact in done.body.summary


def test_the_larger_one_writes_its_own_brief(serve):
    _, done = compacted(serve("1.5b", 4096), retries=2)
    assert isinstance(done, Compacted), done
    assert done.body.model == "llamacpp/local"
    assert done.body.verdict.outcome in {"accepted", "repaired"}


def test_a_window_that_is_smaller_than_told_is_found_out_and_worked_with(serve):
    """The server refuses the first request; its halves fit."""
    _, done = compacted(serve("0.5b", 1536), fallback="ledger", retries=0)
    assert isinstance(done, Compacted)
