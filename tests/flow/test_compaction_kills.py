"""A process killed anywhere in a compaction leaves the old view or the new one, and never costs a message."""

import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from clew.store.inmemory import InMemoryStore
from clew.store.sqlite import SqliteStore
from clew.transcript import Compaction, Reset, Said, text_of, user
from tests.flow.test_compaction import Ids, opened, said

LOOP = """
import asyncio, sys
from clew.app import Clew
from clew.store.sqlite import SqliteStore
from clew.transcript import user
with Clew(SqliteStore(sys.argv[1])) as clew:
    session, n = clew.session("k"), 0
    while True:
        n += 1
        session.append(user(f"message {n} " + "with some more words " * 60))
        print(n, flush=True)
        asyncio.run(clew.compact("k", keep=200))
        if n % 3 == 0:
            session.undo()
"""


def test_kills_at_random_moments(tmp_path: Path):
    chance, file = random.Random(7), tmp_path / "s.sqlite"
    with SqliteStore(file) as store:
        opened(store, said(), Ids())
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", LOOP, file], stdout=subprocess.PIPE, env=dict(os.environ)
        ) as child:
            lines = iter(child.stdout.readline, b"")
            for _ in range(chance.randint(1, 6)):
                next(lines)
            time.sleep(chance.random() * 0.05)
            child.send_signal(signal.SIGKILL)
        _whole(file)


def _whole(file: Path) -> None:
    """Every counter agrees with the entries, and the view is the one a fresh store would build from them."""
    with SqliteStore(file) as store:
        row, window = store.session("k"), store.window("k")
        records = list(store.entries("k"))
        assert [record.seq for record in records] == list(range(1, row.entries + 1))
        standing = [record for record in records if isinstance(record.entry.body, Compaction)]
        assert row.boundary is None or row.boundary in {record.entry.id for record in standing}
        spoken = [text_of(r.entry.body.message) for r in records if isinstance(r.entry.body, Said)]
        numbers = [int(text.split()[1]) for text in spoken if text.startswith("message ")]
        assert all(later in (earlier + 1, 1) for earlier, later in pairwise(numbers))
        past = {r.entry.id for r in records if isinstance(r.entry.body, Compaction | Reset)} - {row.boundary}
        seen = [record for record in records if record.seq >= row.start and record.entry.id not in past]
        assert row.window_tokens == sum(record.tokens for record in seen)
        assert window.records[-1].entry.id == row.leaf


def test_an_acknowledged_message_is_there_after_the_kill(tmp_path: Path):
    file = tmp_path / "s.sqlite"
    with SqliteStore(file) as store:
        opened(store, said(), Ids())
    with subprocess.Popen([sys.executable, "-c", LOOP, file], stdout=subprocess.PIPE, env=dict(os.environ)) as child:
        acknowledged = [int(child.stdout.readline()) for _ in range(4)][-1]
        child.send_signal(signal.SIGKILL)
    with SqliteStore(file) as store:
        spoken = [text_of(r.entry.body.message) for r in store.entries("k") if isinstance(r.entry.body, Said)]
    assert any(text.startswith(f"message {acknowledged} ") for text in spoken)


def test_the_same_messages_compact_to_the_same_view_in_both_stores(tmp_path: Path):
    with SqliteStore(tmp_path / "s.sqlite") as durable, InMemoryStore() as light:
        views = []
        for store in (durable, light):
            session = opened(store, [*said(), user("more")], Ids())
            views.append(session.messages())
        assert views[0] == views[1]
