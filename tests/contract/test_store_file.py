"""What the SQLite store makes of files: its own, torn ones, other people's, and those others are writing to."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from clew.errors import Conflict, DamagedStore, ForeignStore, NewerSchema, StoreBusy, StoreError
from clew.store.sql import queries
from clew.store.sqlite import SqliteStore
from clew.store.sqlite_file import APPLICATION, SCHEMA
from clew.testing.scene import KEY, brief, ids, said, wind_up

NOBODY = 65534


def filled(path: Path, entries: int = 50) -> Path:
    with SqliteStore(path) as store:
        store.create(KEY, at=1)
        store.append(KEY, [said(f"e{number}", "words " * 100) for number in range(entries)])
    return path


def torn(path: Path) -> None:
    whole = filled(path).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")


def newer(path: Path) -> None:
    with closing(sqlite3.connect(filled(path))) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA + 1}")


def newer_in_the_log(path: Path) -> None:
    """A newer Clew was killed: what it changed is in the log, the file itself still looks old."""
    code = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
        f"db.execute('PRAGMA user_version = {SCHEMA + 1}'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, filled(path)], check=True)


def newer_and_larger(path: Path) -> None:
    newer(path)
    with path.open("ab") as file:
        file.write(b"what a newer format adds" * 1000)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (torn, DamagedStore),
        (lambda path: path.write_text('{"type": "user"}\n' * 50), DamagedStore),
        (lambda path: path.write_bytes(b"SQLite format 3\0"), DamagedStore),
        (lambda path: path.write_bytes(b"\0" * 8192), DamagedStore),
        (foreign, ForeignStore),
        (newer, NewerSchema),
        (newer_and_larger, NewerSchema),
        (newer_in_the_log, NewerSchema),
    ],
)
def test_a_file_that_is_refused_is_left_untouched(tmp_path, make, error):
    path = tmp_path / "store.db"
    make(path)
    log = path.with_name("store.db-wal")
    before = [file.read_bytes() if file.exists() else None for file in (path, log)]
    with pytest.raises(error, match=r"store\.db.*untouched"):
        SqliteStore(path)
    assert [file.read_bytes() if file.exists() else None for file in (path, log)] == before
    assert {file.name for file in tmp_path.iterdir()} <= {"store.db", "store.db-wal", "store.db-shm"}
    assert log.exists() == (make is newer_in_the_log)


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="is not a file"):
        SqliteStore(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_of_the_folder_is_said_so(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"nothing was written|untouched"):
        SqliteStore(tmp_path / "file" / "store.db")
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of another kind")
def test_a_file_that_may_not_be_written_is_said_so():
    code = (
        "import os, sys; from clew.store.sqlite import SqliteStore;"
        f"os.geteuid() or os.setuid({NOBODY}); SqliteStore(sys.argv[1])"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = filled(Path(folder) / "store.db")
        os.chmod(folder, 0o755)
        path.chmod(0o444)
        before = path.read_bytes()
        run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
        assert "StoreError" in run.stderr
        assert "may not be read and written" in run.stderr
        assert path.read_bytes() == before


@pytest.mark.parametrize("before", [None, b""], ids=["missing", "empty"])
def test_a_missing_or_empty_file_becomes_a_store(tmp_path, before):
    path = tmp_path / "deep" / "er" / "store.db"
    if before is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(before)
    filled(path, 3)
    header = path.read_bytes()[:100]
    assert (int.from_bytes(header[68:72]), int.from_bytes(header[60:64])) == (APPLICATION, SCHEMA)
    with SqliteStore(path) as store:
        assert ids(store.window(KEY)) == ["e0", "e1", "e2"]
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


def test_a_name_with_odd_letters_is_a_name(tmp_path):
    for name in ("a?b#c%20.db", "日本 語.db"):
        filled(tmp_path / name, 1)
        with SqliteStore(str(tmp_path / name)) as store, SqliteStore(tmp_path / name):
            assert store.session(KEY).entries == 1


def test_a_damaged_page_is_said_so_and_the_rest_can_be_read(tmp_path):
    path = filled(tmp_path / "store.db", 400)
    pages = bytearray(path.read_bytes())
    pages[-40 * 4096 :] = b"\xa5" * (40 * 4096)
    path.write_bytes(pages)
    with SqliteStore(path) as store:
        with pytest.raises(DamagedStore, match=r"store\.db"):
            list(store.entries(KEY))
        assert store.session(KEY).entries == 400
    assert path.read_bytes() == bytes(pages)


def test_a_damaged_entry_is_said_so(tmp_path):
    path = filled(tmp_path / "store.db", 3)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE entries SET data = x'00' WHERE seq = 1")
        db.execute("UPDATE entries SET version = 99 WHERE seq = 2")
    with SqliteStore(path) as store:
        assert store.entry(KEY, "e2").seq == 3
        with pytest.raises(DamagedStore):
            store.window(KEY)
        with pytest.raises(NewerSchema):
            store.entry(KEY, "e1")


def test_a_busy_file_is_waited_for_but_not_for_ever(tmp_path):
    path = filled(tmp_path / "store.db", 1)
    with closing(sqlite3.connect(path)) as other, SqliteStore(path, busy_seconds=0.1) as store:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(StoreBusy, match="nothing was written"):
            store.append(KEY, [said("a")])
        assert 0.05 < time.monotonic() - began < 5
        assert store.session(KEY).entries == 1
        other.execute("ROLLBACK")
        store.append(KEY, [said("a")])


def test_a_call_that_fails_leaves_the_file_free(tmp_path):
    path = filled(tmp_path / "store.db", 1)
    with SqliteStore(path) as store, SqliteStore(path, busy_seconds=1) as other:
        for _ in range(3):
            with pytest.raises(Conflict):
                store.commit(KEY, brief("c"), generation=9, boundary="c", start=None, event="x", data={})
        other.append(KEY, [said("a")])
        store.append(KEY, [said("b")])
        assert ids(other.window(KEY)) == ["e0", "a", "b"]


def test_what_is_deleted_is_gone_from_the_file(tmp_path):
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        store.create(KEY, at=1, meta={"title": "hush"})
        store.append(KEY, [said("a", "secret word"), said("b", "secret words " * 1000)])
        wind_up(store, "secret")
        assert b"secret" in path.with_name("store.db-wal").read_bytes()
        store.delete(KEY)
    assert not [word for word in (b"secret", b"hush") if word in path.read_bytes()]
    with closing(sqlite3.connect(path)) as db:
        counts = [db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("entries", "events")]
    assert counts == [0, 0]


def test_a_window_is_of_one_moment_though_the_session_is_deleted_meanwhile(tmp_path, monkeypatch):
    path, connect, connections = filled(tmp_path / "store.db", 3), sqlite3.connect, []
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connections.append(c := connect(*args, **more)) or c)
    with SqliteStore(path) as store, SqliteStore(path) as other:
        store.session(KEY)
        connections[-1].set_trace_callback(lambda statement: "FROM entries" in statement and other.delete(KEY))
        assert ids(store.window(KEY)) == ["e0", "e1", "e2"]
        assert other.sessions() == store.sessions() == []


def test_no_reader_holds_the_log(tmp_path):
    """A half-read history must not keep the log from shrinking."""
    path = filled(tmp_path / "store.db", 600)
    with SqliteStore(path) as store, closing(sqlite3.connect(path)) as other:
        reading = store.entries(KEY)
        next(reading)
        store.append(KEY, [said("late")])
        blocked, _, _ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert blocked == 0
        assert len(list(reading)) == 600


@pytest.mark.parametrize(
    ("query", "found_by"),
    [
        ("page", "session=? AND seq>?"),
        ("sums", "session=? AND seq>?"),
        ("known", "session=? AND id=?"),
        ("many", "session=? AND id=?"),
        ("named", "session=? AND id>?"),
        ("compactions", "compactions_in_order"),
        ("find_compaction", "compactions_by_id"),
    ],
)
def test_no_query_walks_through_a_history(tmp_path, query, found_by):
    wanted = {"session": 1, "after": 0, "limit": 1, "start": 1, "ids": "[]", "name": "a", "boundary": None}
    with closing(sqlite3.connect(filled(tmp_path / "store.db", 1))) as db:
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {queries('sqlite')[query]}", wanted)]
    assert found_by in plan[0]
    assert not any("TEMP B-TREE" in step for step in plan)
