"""Histories that come in: once, grown, with briefs of their own, from two processes, or as what they are not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.app import Clew
from clew.errors import BadInput
from clew.store.archive import read
from clew.store.inmemory import InMemoryStore
from clew.transcript import text_of, user

S1 = Path(__file__).resolve().parents[3] / "shared/data/claude-code/s1-3compactions.jsonl"


def line(n: int, role: str, text: str) -> str:
    message = {"role": role, "content": text}
    parent = f"u{n - 1}" if n else None
    row = {"type": role, "uuid": f"u{n}", "parentUuid": parent, "sessionId": "s-1", "message": message}
    return json.dumps({**row, "timestamp": "2026-01-01T00:00:00Z"})


def talk(count: int, start: int = 0) -> list[str]:
    roles = ("user", "assistant")
    return [line(n, roles[n % 2], f"line {n} " + f"about file src/part{n}.py " * 40) for n in range(start, count)]


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_file_that_grew_goes_on_behind_its_brief_and_its_pins(tmp_path):
    file = written(tmp_path / "live.jsonl", talk(20))
    with Clew(InMemoryStore()) as clew:
        key = clew.bring(file).key
        session = clew.session(key)
        session.pin("#1")
        run(clew.compact(key, keep=200))
        before = session.messages()
        came = clew.bring(written(file, talk(24)))
        assert (came.key, came.added) == (key, 4)
        after = session.messages()
        assert after[: len(before)] == before
        assert [text_of(message).split(" about")[0] for message in after[len(before) :]] == [
            f"line {n}" for n in range(20, 24)
        ]
        assert "line 0 " in "\n".join(map(text_of, after))


def run(work):
    import asyncio

    return asyncio.run(work)


def test_a_file_that_was_rewritten_is_a_session_of_its_own(tmp_path):
    file = written(tmp_path / "live.jsonl", talk(20))
    with Clew(InMemoryStore()) as clew:
        first = clew.bring(file).key
        again = clew.bring(written(file, [row.replace('"u', '"w') for row in talk(6)]))
        assert (again.key != first, again.added) == (True, None)


@pytest.mark.skipif(not S1.exists(), reason="the recorded sessions are not beside the project")
def test_the_briefs_a_history_came_with_can_be_undone_one_by_one():
    with Clew(InMemoryStore()) as clew:
        session = clew.session(clew.bring(S1).key)
        assert [wound.standing for wound in session.compactions()] == ["superseded", "superseded", "standing"]
        sizes = [session.undo()[2] for _ in range(3)]
        assert sizes == sorted(sizes)
        assert session.row().window_tokens == sizes[-1]
        assert session.row().compactions == 0


def test_the_view_goes_out_as_the_model_is_sent_it_pins_included(tmp_path):
    with Clew(InMemoryStore()) as clew:
        key = clew.bring(written(tmp_path / "a.jsonl", talk(20))).key
        session = clew.session(key)
        session.pin("#1")
        run(clew.compact(key, keep=200))
        session.append(user("and now?"))
        out = b"".join(clew.export(key, "openai", shown=True))
        texts = [text_of(draft.body.message) for draft in read(out).drafts]
        assert texts == [text_of(message) for message in session.messages()]


@pytest.mark.parametrize("grown", [False, True])
def test_what_an_exported_session_spent_and_touched_does_not_come_in_with_it(tmp_path, grown):
    mine = {
        "cost": {"models": {"m": {"turn": {"requests": 3, "money": 9.0}}}}, "cacheTouched": {"m": 1}, "byteLatch": 7,
        "flush": {"generation": 9}, "learnt": {"m": 10}, "engine": {"id": "x"}, "importing": "1:dead", "tip": "e9",
    }  # fmt: skip
    told = {"title": "About parts", "model": "p/m", "session": "s-9", "settled": "u5", "mine": [1]}
    with Clew(InMemoryStore()) as clew:
        source = clew.bring(written(tmp_path / "a.jsonl", talk(6))).key
        clew.store.describe(source, told)
        if grown:
            clew.bring(written(tmp_path / "a.clew", [b"".join(clew.export(source, "clew")).decode().rstrip()]), key="k")
            clew.session(source).append(user("one more"))
        clew.store.describe(source, mine)
        came = clew.bring(
            written(tmp_path / "b.clew", [b"".join(clew.export(source, "clew")).decode().rstrip()]), key="k"
        )
        meta = clew.store.session("k").meta
        assert (came.added, meta["tip"]) == (1 if grown else None, clew.store.session("k").leaf)
        assert not {*mine, "importing"} - {"tip"} & {*meta}
        assert told.items() <= meta.items()


def test_a_file_read_as_what_it_is_not_is_refused_and_does_not_stand_in_the_way(tmp_path):
    file = written(tmp_path / "a.jsonl", talk(6))
    with Clew(InMemoryStore()) as clew:
        with pytest.raises(BadInput):
            clew.bring(file, format="pi")
        assert clew.bring(file).again is False


def test_four_processes_that_bring_one_file_make_one_session(tmp_path):
    file = written(tmp_path / "a.jsonl", talk(400))
    env = {**os.environ, "CLEW_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "clew", "import", str(file), "--json"]
    running = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    keys = {json.loads(process.communicate()[0])["key"] for process in running}
    assert keys == {"claude-code:s-1"}
