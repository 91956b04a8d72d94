"""Processes killed, side by side, or out of disk: what was acknowledged is there, and nothing is there by half."""

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clew.store.port import Store
from clew.store.sqlite import SqliteStore
from clew.testing.scene import KEY, ids, said, wind_up

START = """
import os, signal, sqlite3, sys
from clew.store.sqlite import SqliteStore
from clew.testing.scene import KEY, brief, said, wind_up
path, name, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
"""

WRITE_FOR_EVER = (
    START
    + """
with SqliteStore(path) as store:
    turn = store.session(KEY).entries
    while True:
        turn += 1
        store.append(KEY, [said(f"{name}-{turn}-a", "x" * 3000), said(f"{name}-{turn}-b")])
        print(f"{name}-{turn}-a {name}-{turn}-b", flush=True)
        if turn % 3 == 0:
            wind_up(store, f"{name}-{turn}-c", f"{name}-{turn}-a")
            print(f"{name}-{turn}-c", flush=True)
"""
)

APPEND_MANY = (
    START
    + """
with SqliteStore(path) as store:
    if not any(row.key == KEY for row in store.sessions()):
        try:
            store.create(KEY, at=1)
        except Exception as error:
            assert type(error).__name__ == "SessionExists", error
    for turn in range(number):
        store.append(KEY, [said(f"{name}-{turn}-a"), said(f"{name}-{turn}-b")])
"""
)

KILLED_BEFORE_STATEMENT = (
    START
    + """
connect, connections, left = sqlite3.connect, [], number
def remembered(*args, **more):
    connections.append(connect(*args, **more))
    return connections[-1]
def countdown(statement):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
sqlite3.connect = remembered
store = SqliteStore(path)
for connection in connections:
    connection.set_trace_callback(countdown)
store.commit(KEY, brief("c", "b"), generation=0, boundary="c", start="b", event="compaction", data={})
print("returned", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
)

FILL_THE_DISK = (
    START
    + """
import resource
with SqliteStore(path) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    for turn in range(10_000):
        try:
            store.append(KEY, [said(f"{name}-{turn}-a", "x" * 5000), said(f"{name}-{turn}-b")])
        except Exception as error:
            print(type(error).__name__, flush=True)
            break
        print(f"{name}-{turn}-a {name}-{turn}-b", flush=True)
"""
)


def child(code: str, path: Path, name: str = "one", number: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, str(path), name, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> list[str]:
    """The words a child said before its end."""
    out, errors = process.communicate(timeout=60)
    assert not errors, errors
    return out.split()


def begun(path: Path) -> Path:
    with SqliteStore(path) as store:
        store.create(KEY, at=1)
        store.append(KEY, [said("a"), said("b")])
    return path


def is_whole(store: Store) -> bool:
    """Every law of a row and its entries holds, and each call is there as a whole."""
    row, history, window = store.session(KEY), list(store.entries(KEY)), store.window(KEY)
    compactions = store.compactions(KEY)
    assert [record.seq for record in history] == list(range(1, row.entries + 1))
    assert [record.entry.parent for record in history] == [None, *ids(history)[:-1]]
    assert (row.leaf, row.generation, row.compactions) == (ids(history)[-1], len(compactions), len(compactions))
    assert row.boundary == (ids(compactions)[-1] if compactions else None)
    assert [event.kind for event in store.events()] == ["created"] + ["compaction"] * len(compactions)
    assert row.window_bytes == sum(record.size for record in window.records)
    assert {name[:-1] for name in ids(history) if name.endswith("-a")} == {
        name[:-1] for name in ids(history) if name.endswith("-b")
    }
    return True


def test_a_killed_writer_loses_nothing_that_was_acknowledged(tmp_path):
    path, acknowledged, dice = begun(tmp_path / "store.db"), {"a", "b"}, random.Random(7)
    for killing in range(5):
        process = child(WRITE_FOR_EVER, path, f"p{killing}")
        first = process.stdout.readline().split()
        time.sleep(dice.uniform(0, 0.08))
        process.kill()
        said_before = {*first, *ended(process)}
        assert len(said_before) >= 2
        acknowledged |= said_before
        with SqliteStore(path) as store:
            stored = set(ids(list(store.entries(KEY))))
            assert acknowledged <= stored
            assert len(stored - acknowledged) <= 2 * (killing + 1)
            assert is_whole(store)


def test_a_kill_at_any_statement_of_a_compaction_leaves_the_old_state_or_the_new(tmp_path):
    before = begun(tmp_path / "before.db")
    processes = {}
    for statement in range(10):
        path = Path(shutil.copy(before, tmp_path / f"{statement}.db"))
        processes[path] = child(KILLED_BEFORE_STATEMENT, path, number=statement)
    returned = []
    for path, process in processes.items():
        returned.append(ended(process) == ["returned"])
        with SqliteStore(path) as store:
            assert ids(list(store.entries(KEY))) == (["a", "b", "c"] if returned[-1] else ["a", "b"])
            assert is_whole(store)
            wind_up(store, "next", "a")
    assert 5 <= returned.index(True) < len(returned)  # so many statements it was killed before


def test_processes_that_begin_and_append_at_once_share_one_chain(tmp_path):
    path = tmp_path / "new" / "store.db"
    for process in [child(APPEND_MANY, path, name, 40) for name in ("one", "two", "three")]:
        assert ended(process) == []
    with SqliteStore(path) as store:
        assert store.session(KEY).entries == 240
        assert is_whole(store)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of a file")
def test_a_full_disk_costs_nothing_that_was_acknowledged(tmp_path):
    path = begun(tmp_path / "store.db")
    *acknowledged, complaint = ended(child(FILL_THE_DISK, path))
    assert complaint == "StoreError"
    with SqliteStore(path) as store:
        assert set(ids(list(store.entries(KEY)))) == {"a", "b", *acknowledged}
        assert is_whole(store)
        store.append(KEY, [said("c")])
