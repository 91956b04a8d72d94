"""What is found wrong with a session that somebody damaged, and that nothing is found wrong with a sound one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clew.demo import session_path
from clew.errors import UnknownSession
from clew.runtime.arrival import bring
from clew.runtime.integrity import Part, integrity, repair
from clew.store.inmemory import InMemoryStore
from clew.store.port import Draft, Search, Store
from clew.store.sqlite import SqliteStore
from clew.testing.scene import KEY, brief, said, take_back, wind_up
from clew.transcript import (
    Call,
    Compaction,
    Ledger,
    Node,
    Reset,
    Said,
    ToolResult,
    Verdict,
    assistant,
    decode,
    encode,
    result,
)

READ = Call("c1", "read", {"path": "a.py"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    with SqliteStore(file) as made:
        made.create(KEY, at=1)
        made.append(KEY, [said("e1", "first words"), Draft("e2", 1000, Said(assistant("", READ)), 10)])
        made.append(KEY, [Draft("e3", 1000, Said(result(READ, "text")), 10), said("e4"), said("e5")])
        yield made


def broken(store: Store) -> dict[str, tuple[str, ...]]:
    return {part.name: part.wrong for part in integrity(store, KEY) if part.wrong}


def damage(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("PRAGMA foreign_keys = OFF")
        for statement in statements:
            raw.execute(statement)
        raw.commit()


def rewrite(file: Path, id: str, **fields: object) -> None:
    """An entry with another body than was stored, as no Clew writes it."""
    with closing(sqlite3.connect(file)) as raw:
        ((data,),) = raw.execute("SELECT data FROM entries WHERE id = ?", (id,)).fetchall()
        entry = decode(data)
        body = type(entry.body)(
            **{name: fields.get(name, getattr(entry.body, name)) for name in entry.body.__struct_fields__}
        )
        new = encode(type(entry)(entry.id, fields.get("parent", entry.parent), entry.at, body))  # type: ignore[arg-type]
        raw.execute("UPDATE entries SET data = ?, size = ? WHERE id = ?", (new, len(new), id))
        raw.commit()


def compacted(store: Store, *nodes: Node, kept: str = "e4") -> None:
    row = store.session(KEY)
    body = Compaction("Brief", kept, 9, 1, "manual", Verdict("accepted"), Ledger(), previous=row.boundary, nodes=nodes)
    draft = Draft("c6", 2000, body, 5)
    store.commit(KEY, draft, generation=row.generation, boundary="c6", start=kept, event="compaction", data={})


def test_a_session_with_compactions_undos_resets_and_side_branches_is_sound(store: SqliteStore) -> None:
    wind_up(store, "b1", "e4")
    store.append(KEY, [said("s1", leaf=False, parent="e2"), said("e6")])
    row = store.session(KEY)
    second = brief("b2", "e6")
    body = Compaction("Two", "e6", 9, 1, "manual", Verdict("accepted"), Ledger(), previous="b1")
    store.commit(
        KEY, Draft("b2", second.at, body, 5), generation=row.generation, boundary="b2", start="e6", event="x", data={}
    )
    assert broken(store) == {}
    take_back(store, "u1", "b2", "b1", "e4")
    assert broken(store) == {}
    now = store.session(KEY).generation
    store.commit(KEY, Draft("r", 1, Reset()), generation=now, boundary="r", start=None, event="reset", data={})
    assert broken(store) == {}
    store.append(KEY, [said("e7"), said("e8")])
    wind_up(store, "b3", "e8")
    assert broken(store) == {}


def test_the_demo_session_and_an_empty_one_are_sound() -> None:
    with InMemoryStore() as store:
        store.create(KEY, at=1)
        assert broken(store) == {}
        key = bring(store, session_path(), now=lambda: 1, new_id=lambda: "x").key
        assert [part for part in integrity(store, key) if part.wrong] == []


def test_a_parent_that_is_not_there_and_a_missing_number_are_found(store: SqliteStore, file: Path) -> None:
    rewrite(file, "e4", parent="zz")
    assert broken(store) == {"parents": ("#4 follows zz, which is not stored before it",)}
    damage(file, "DELETE FROM entries WHERE id = 'e2'")
    found = broken(store)
    assert found["parents"][:2] == ("#3 stands where #2 should", "#3 follows e2, which is not stored before it")
    assert found["counters"][0] == "5 entries counted, 4 there"
    assert found["pairs"] == ("0 calls without a result, 1 result without a call",)


def test_counters_that_disagree_are_found(store: SqliteStore, file: Path) -> None:
    compacted(store)
    damage(file, "UPDATE sessions SET compactions = 4, window_tokens = 99, window_bytes = 1")
    assert [one.partition(" counted")[0] for one in broken(store)["counters"]] == [
        "4 compactions", "99 tokens of the window", "1 bytes of the window",
    ]  # fmt: skip


BOUNDARIES = [
    pytest.param("UPDATE sessions SET boundary = 'gone'", "the chain of boundaries breaks at gone", id="not there"),
    pytest.param("UPDATE sessions SET boundary = 'e1'", "the chain of boundaries breaks at e1", id="no boundary"),
    pytest.param("UPDATE sessions SET start = 2", "starts at #2, and its boundary keeps from #4 on", id="start"),
    pytest.param("UPDATE sessions SET leaf = 'e5'", "which is not on the session's branch", id="off the branch"),
    pytest.param("UPDATE sessions SET boundary = NULL", "newest that was not taken back is c6", id="an older one"),
]


@pytest.mark.parametrize(("statement", "words"), BOUNDARIES)
def test_a_boundary_that_is_wrong_is_found(store: SqliteStore, file: Path, statement: str, words: str) -> None:
    compacted(store)
    assert broken(store) == {}
    damage(file, statement)
    assert words in " ".join(broken(store)["boundaries"])


def test_a_leaf_that_is_not_there_is_found(store: SqliteStore, file: Path) -> None:
    damage(file, "UPDATE sessions SET leaf = 'gone'")
    assert broken(store)["parents"] == ("the session ends with gone, which is not stored",)


GRAPHS = [
    pytest.param((Node("n1", 0, "e1", "e2", "x"),), "no summary stands for #3, and the view starts behind", id="lost"),
    pytest.param((Node("n1", 0, "e1", "e4", "x"),), "#4 are in a summary and in view", id="twice"),
    pytest.param(
        (Node("n1", 0, "e1", "e3", "x"), Node("n2", 1, "e1", "e3", "y", ("zz",))),
        "its child zz is no summary",
        id="child",
    ),
    pytest.param((Node("n1", 0, "e1", "e99", "x"),), "an end of its span is no entry", id="end"),
]


@pytest.mark.parametrize(("nodes", "words"), GRAPHS)
def test_a_flaw_of_the_graph_is_found(store: SqliteStore, nodes: tuple[Node, ...], words: str) -> None:
    compacted(store, *nodes)
    assert words in " ".join(broken(store)["summaries"])


def test_entries_that_say_nothing_and_side_branches_need_no_summary(store: SqliteStore) -> None:
    store.append(KEY, [said("s1", leaf=False, parent="e2"), said("e7")])
    compacted(store, Node("n1", 0, "e1", "e3", "x"), Node("n2", 0, "e4", "e5", "x"), kept="e7")
    assert broken(store) == {}


def test_a_view_that_starts_between_a_call_and_its_result_is_told(store: SqliteStore) -> None:
    wind_up(store, "b1", "e3")
    (part,) = [part for part in integrity(store, KEY) if part.wrong]
    assert part == Part(
        "pairs", part.sound, ("the view starts between a call and its result (1 of them)",), part.do, False
    )


def test_calls_and_results_that_stand_alone_are_told_and_no_failure(store: SqliteStore) -> None:
    store.append(KEY, [Draft("x1", 1, Said(ToolResult("c9", "t", ()))), Draft("x2", 1, Said(assistant("", READ)))])
    (part,) = [part for part in integrity(store, KEY) if part.wrong]
    assert (part.name, part.grave) == ("pairs", False)
    assert part.wrong == ("1 call without a result, 1 result without a call",)


def test_an_index_out_of_step_is_found_and_made_anew(store: SqliteStore, file: Path) -> None:
    index = {part.name: part.sound for part in integrity(store, KEY)}["index"]
    assert index == "not made yet: the first search makes it"
    assert store.search(KEY, Search((("first",),)))
    assert broken(store) == {}
    rewrite(file, "e1", message=said("x", "other things altogether").body.message)  # type: ignore[union-attr]
    assert broken(store)["index"] == ("search does not find #1",)
    assert "up to #5" in repair(store, KEY)
    assert [name for name in broken(store) if name == "index"] == []


def test_a_session_that_is_not_there_is_unknown(store: SqliteStore) -> None:
    with pytest.raises(UnknownSession):
        integrity(store, "nope")
