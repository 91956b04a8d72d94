"""The search index of the SQLite store: derived, lazy, shared, gone with its session; and its twin finds the same."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import StoreError
from clew.store import sqlite_search
from clew.store.inmemory import InMemoryStore
from clew.store.port import Draft, Search
from clew.store.sql import migrations
from clew.store.sqlite import SqliteStore
from clew.store.sqlite_file import APPLICATION, SCHEMA
from clew.testing.scene import KEY, said
from clew.testing.store_search import fits
from clew.transcript import Said, assistant, user

WORDS = st.sampled_from(
    ["one", "two", "retryBudget", "retry_budget", "budget", "数据", "据", "库", "é", "e", ".", "-", "·"]
)
TEXTS = st.lists(WORDS, max_size=6).flatmap(
    lambda words: st.sampled_from([" ", "", "_"]).map(lambda gap: gap.join(words))
)
PHRASES = st.lists(st.lists(WORDS, max_size=3).map(tuple), max_size=3).map(tuple)
TIMES = st.none() | st.integers(0, 20)
SEARCHES = st.builds(
    Search, PHRASES, st.booleans(), PHRASES, st.sampled_from([(), ("user",), ("assistant", "tool")]),
    TIMES, TIMES, TIMES, st.integers(1, 5),
)  # fmt: skip


@pytest.fixture(params=[0, sqlite_search.SCANNED], ids=["table", "scan"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A session to search, once with a table of FTS5 and once without."""
    monkeypatch.setattr(sqlite_search, "SCANNED", request.param)
    with SqliteStore(tmp_path / "store.db") as store:
        store.create(KEY, at=1)
        store.append(KEY, [said(f"e{number}", f"needle hay{number} zyxwvu") for number in range(40)])
    return tmp_path / "store.db"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(TEXTS, st.booleans(), st.integers(0, 20)), max_size=12),
    st.lists(SEARCHES, max_size=6),
    st.sampled_from([0, 30, 1000]),
)
def test_the_twins_find_the_same(texts, searches, scanned):
    drafts = [Draft(f"e{n}", at, Said(user(t) if mine else assistant(t))) for n, (t, mine, at) in enumerate(texts)]
    with (
        TemporaryDirectory() as folder,
        patch.object(sqlite_search, "SCANNED", scanned),
        InMemoryStore() as one,
        SqliteStore(f"{folder}/store.db") as two,
    ):
        for store in (one, two):
            store.create(KEY, at=0)
        for number, wanted in enumerate(searches):
            for store in (one, two):
                store.append(KEY, drafts[number * 2 : number * 2 + 2])
            assert one.search(KEY, wanted) == two.search(KEY, wanted)


def test_a_file_without_an_index_is_brought_up_to_date(tmp_path):
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as db:
        for number in (1, 2):
            for statement in migrations("sqlite")[number]:
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute("PRAGMA user_version = 2")
    with SqliteStore(path) as store:
        store.create(KEY, at=1)
        store.append(KEY, [said("a", "needle")])
        assert fits(store, "needle") == ["a"]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA,)


def test_appending_and_opening_touch_no_index(path):
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'words%'")]
        assert tables == []
        assert db.execute("SELECT count(*) FROM spoken").fetchone() == (0,)


def test_only_a_search_of_a_long_session_needs_fts5(path, monkeypatch):
    monkeypatch.setitem(sqlite_search.SQL, "fts5", "SELECT 1 WHERE 0")
    with SqliteStore(path) as store:
        if sqlite_search.SCANNED:
            assert len(fits(store, "needle", limit=99)) == 40
        monkeypatch.setattr(sqlite_search, "SCANNED", 0)
        store.append(KEY, [said("late")])
        with pytest.raises(StoreError, match="FTS5"):
            fits(store, "needle")
        store.delete(KEY)


def test_an_index_of_other_rules_is_made_anew(path, monkeypatch):
    with SqliteStore(path) as store:
        assert len(fits(store, "needle", limit=99)) == 40
        monkeypatch.setattr(sqlite_search, "VERSION", 99)
        assert store.indexed(KEY) == (0, 40)
        assert len(fits(store, "needle", limit=99)) == 40
        assert store.indexed(KEY) == (40, 40)


def test_the_words_of_a_deleted_session_are_gone_from_the_file(path):
    with SqliteStore(path) as store:
        store.create("other", at=1)
        store.append("other", [said("o", "needle")])
        assert fits(store, "zyxwvu") != []
        assert len(store.search("other", Search((("needle",),)))) == 1
        store.delete(KEY)
        assert len(store.search("other", Search((("needle",),)))) == 1
    assert b"zyxwvu" not in path.read_bytes()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM searched").fetchone() == (1,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_damaged_entry_is_not_found_and_hides_no_other(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE entries SET data = x'00' WHERE seq = 1")
    with SqliteStore(path) as store:
        assert len(fits(store, "needle", limit=99)) == 39
        assert store.indexed(KEY) == (40, 40)


def test_long_histories_are_taken_in_in_batches_that_let_others_write(path, monkeypatch):
    monkeypatch.setattr(sqlite_search, "BATCH", 7)
    prepared, wrote = sqlite_search.prepared, []

    def meanwhile(batch: sqlite_search.Unread) -> list[dict[str, object]]:
        with SqliteStore(path, busy_seconds=0.1) as other:
            wrote.extend(other.append(KEY, [said(f"late{len(wrote)}", "needle")]))
        return prepared(batch)

    monkeypatch.setattr(sqlite_search, "prepared", meanwhile)
    with SqliteStore(path) as store:
        assert 40 <= len(fits(store, "needle", limit=99)) <= 46
        assert len(wrote) == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills of another kind")
def test_an_index_that_was_killed_halfway_goes_on_where_it_was(path):
    code = (
        "import os, sys; from clew.store import sqlite_search as s; from clew.store.sqlite import SqliteStore;"
        "from clew.store.port import Search; s.BATCH = 7; add = s.add; done = [];"
        "s.add = lambda *a: (done.append(1), len(done) > 3 and os._exit(9), add(*a));"
        "SqliteStore(sys.argv[1]).search(sys.argv[2], Search((('needle',),)))"
    )
    assert subprocess.run([sys.executable, "-c", code, path, KEY]).returncode == 9
    with SqliteStore(path) as store:
        assert store.indexed(KEY) == (21, 40)
        assert len(fits(store, "needle", limit=99)) == 40


def test_what_a_filter_by_role_or_time_finds_is_not_decoded_but_for_the_hits(path, monkeypatch):
    with SqliteStore(path) as store:
        fits(store, "needle")
        read = []
        decode = sqlite_search.decode
        monkeypatch.setattr(
            "clew.store.sqlite_rows.decode", lambda data, schema: read.append(1) or decode(data, schema=schema)
        )
        assert len(fits(store, "needle", roles=("user",), since=0, limit=3)) == len(read) == 3


def test_a_session_that_grows_long_moves_into_a_table_and_finds_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_search, "SCANNED", 400)
    with SqliteStore(tmp_path / "store.db") as store:
        store.create(KEY, at=1)
        for number in range(60):
            store.append(KEY, [said(f"e{number}", f"needle hay{number}", at=5000 - number * (-1) ** number)])
            assert len(fits(store, "needle", limit=99)) == number + 1
            assert fits(store, "hay0 needle", since=4000, until=6000)[0] == "e0"
    with closing(sqlite3.connect(tmp_path / "store.db")) as db:
        assert db.execute("SELECT count(*) FROM sayings").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM spoken").fetchone() == (60,)


@pytest.mark.parametrize("change", ["data = x'00'", "version = 99"], ids=["damaged", "newer"])
def test_entries_that_cannot_be_read_are_passed_over_and_others_take_their_places(path, change):
    with SqliteStore(path) as store:
        assert fits(store, "needle", limit=2) == ["e39", "e38"]
        store.append(KEY, [said("late", "needle")])
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"UPDATE entries SET {change} WHERE id IN ('e39', 'e38', 'late')")
            db.commit()
        assert fits(store, "needle", limit=2) == ["e37", "e36"]
        assert len(fits(store, "needle", limit=99)) == 38
