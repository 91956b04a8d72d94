"""OpenClaw's SQLite file: read by place, id or key, never written to; events that cannot be read are named."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from clew.errors import BadInput
from clew.store.archive import detect, read
from tests.unit.archive.archive_samples import messages

SCHEMA = """
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, display_name TEXT, label TEXT) STRICT;
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, updated_at INTEGER) STRICT;
CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB,
                                PRIMARY KEY (session_id, seq)) STRICT;
"""


def event(id, parent, text):
    return {"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00Z",
            "message": {"role": "user", "content": text}}  # fmt: skip


def fill(connection):
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SCHEMA)
    for key, updated in (("main", 2), ("old", 1)):
        connection.execute("INSERT INTO session_nodes VALUES (?, ?, NULL)", (key, f"The {key} one"))
        connection.execute("INSERT INTO session_windows VALUES (?, ?, ?)", (f"id-{key}", key, updated))
        events = [{"type": "session", "version": 4, "id": key}, event("1", None, key), event("2", "1", "more")]
        for seq, value in enumerate(events):
            row = (f"id-{key}", seq, msgspec.json.encode(value).decode())
            connection.execute("INSERT INTO transcript_events VALUES (?, ?, ?, NULL)", row)
    connection.commit()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "agent.sqlite")) as connection:
        fill(connection)
    return tmp_path / "agent.sqlite"


def words(done):
    return [message.blocks[0].text for message in messages(done)]


def test_the_most_recently_used_session_comes_first_and_nothing_appears_beside_the_file(file: Path):
    before = file.read_bytes()
    done = read(file)
    assert words(done) == ["main", "more"]
    assert (done.meta["key"], done.meta["title"], done.meta["sessions"]) == ("main", "The main one", 2)
    assert (file.read_bytes(), [found.name for found in file.parent.iterdir()]) == (before, ["agent.sqlite"])


@pytest.mark.parametrize("index", [1, "old", "id-old"])
def test_a_session_is_chosen_by_place_key_or_id(file: Path, index):
    assert words(read(file, index=index)) == ["old", "more"]


def test_bytes_do_as_well_as_a_path(file: Path):
    assert words(read(file.read_bytes(), "openclaw")) == ["main", "more"]
    assert detect(file.read_bytes()) == "openclaw"


def test_what_is_still_in_the_write_ahead_log_is_read(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "live.sqlite")) as connection:
        fill(connection)
        assert (tmp_path / "live.sqlite-wal").exists()
        assert words(read(tmp_path / "live.sqlite")) == ["main", "more"]


def test_an_event_that_cannot_be_unpacked_is_named(file: Path):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE transcript_events SET event_json = NULL, event_zstd = x'00' WHERE seq = 2")
        connection.commit()
    done = read(file)
    assert [line.number for line in done.bad] == [3]
    assert "zstd" in done.bad[0].why


def test_compressed_events_are_read_where_zstandard_is_installed(file: Path):
    zstandard = pytest.importorskip("zstandard", reason="the package zstandard is not installed")
    packed = zstandard.ZstdCompressor().compress(msgspec.json.encode(event("2", "1", "packed")))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE transcript_events SET event_json = NULL, event_zstd = ? WHERE seq = 2", (packed,))
        connection.commit()
    assert words(read(file)) == ["main", "packed"]


def test_another_sqlite_file_is_refused(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.commit()
    with pytest.raises(BadInput, match="not an OpenClaw agent's"):
        read(tmp_path / "x.sqlite")


def test_a_session_that_is_not_there_is_refused_with_the_keys(file: Path):
    with pytest.raises(BadInput, match="main, old"):
        read(file, index="nope")
