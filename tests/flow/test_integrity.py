"""What is found wrong with a session that somebody damaged, and that nothing is found wrong with a sound one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clew.demo import session_path
from clew.errors import DamagedStore, UnknownSession
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


# One entry, one column, one branch ------------------------------------------------------------------------------------


def told(store: Store) -> dict[str, Part]:
    return {part.name: part for part in integrity(store, KEY)}


def test_an_entry_that_cannot_be_read_is_named_and_the_other_checks_go_on(store: SqliteStore, file: Path) -> None:
    store.search(KEY, Search((("first",),)))
    damage(file, "UPDATE entries SET data = x'00ff' WHERE id = 'e4'")
    assert list(broken(store)) == ["entries"]
    assert broken(store)["entries"] == ("#4 cannot be read (JSON is malformed: invalid character (byte 0))",)
    assert "backup" in told(store)["entries"].do
    damage(file, "UPDATE sessions SET compactions = 3")
    assert list(broken(store)) == ["entries", "counters"]


def test_an_entry_of_a_newer_clew_is_no_damage_to_be_mended_with_a_backup(store: SqliteStore, file: Path) -> None:
    damage(file, "UPDATE entries SET version = 99 WHERE id = 'e4'")
    assert broken(store)["entries"] == ("#4 cannot be read (it has schema 99, this Clew reads up to 1)",)
    assert "upgrade Clew" in told(store)["entries"].do


def test_a_compaction_that_cannot_be_read_is_named_and_nothing_is_raised(store: SqliteStore, file: Path) -> None:
    compacted(store)
    damage(file, "UPDATE entries SET data = x'' WHERE id = 'c6'")
    found = broken(store)
    assert found["entries"] == ("#6 cannot be read (Input data was truncated)",)
    assert found["boundaries"] == ("the chain of boundaries breaks at c6",)
    assert "counters" not in found


COLUMNS = [
    pytest.param("UPDATE entries SET kind = 'zzz' WHERE id = 'e1'", "#1 is kept as zzz, and is a message", id="kind"),
    pytest.param("UPDATE entries SET id = 'x' WHERE id = 'e5'", "#5 is kept under the id x, and is e5", id="id"),
    pytest.param("UPDATE entries SET size = 9 WHERE id = 'e1'", "#1 is said to have 9 bytes, and has", id="size"),
    pytest.param("UPDATE entries SET tokens = -1 WHERE id = 'e1'", "#1 is said to have -1 tokens", id="negative"),
    pytest.param("UPDATE entries SET tokens = 999999 WHERE id = 'e1'", "#1 is said to have 999,999", id="absurd"),
]


@pytest.mark.parametrize(("statement", "words"), COLUMNS)
def test_a_column_that_says_something_else_than_its_entry_is_found(
    store: SqliteStore, file: Path, statement: str, words: str
) -> None:
    compacted(store)
    damage(file, statement)
    assert broken(store)["columns"][0].startswith(words)


def test_compactions_that_stand_and_no_summary_are_a_failure(store: SqliteStore, file: Path) -> None:
    compacted(store)
    damage(file, "UPDATE entries SET kind = 'message' WHERE kind = 'compaction'")
    assert broken(store)["summaries"] == ("no summary is found, and the view starts from c6",)


def test_a_branch_that_is_cut_in_the_view_is_found(store: SqliteStore, file: Path) -> None:
    rewrite(file, "e4", parent=None)
    part = told(store)["branch"]
    assert (part.wrong, part.grave) == (("the branch begins with #4, which follows nothing, not even #1 to #3",), True)
    assert "backup" in part.do


@pytest.mark.parametrize("meta", [{"format": "pi"}, {"openai": {}}], ids=["imported", "followed a client"])
def test_a_second_beginning_that_may_be_meant_is_a_warning(file: Path, meta: dict[str, object]) -> None:
    with SqliteStore(file) as store:
        store.create(KEY, at=1, meta=meta)
        store.append(KEY, [said("e1"), said("e2"), said("e3", parent=None)])
        assert (told(store)["branch"].grave, len(told(store)["branch"].wrong)) == (False, 1)


def test_what_a_trim_leaves_of_side_branches_is_no_failure(store: SqliteStore) -> None:
    store.append(KEY, [said("s1", leaf=False, parent="e1"), said("e7"), said("e8")])
    store.trim(KEY, 3, at=9)
    assert not told(store)["branch"].grave
    assert list(broken(store)) in ([], ["branch"])


def test_a_parent_far_back_is_told_and_one_who_went_back_is_not(store: SqliteStore, file: Path) -> None:
    answer = Draft("a6", 1000, Said(assistant("well")), 10)
    store.append(KEY, [answer, said("e7"), said("e8", parent="a6")])
    assert broken(store) == {}
    store.append(KEY, [Draft("a9", 1000, Said(assistant("so")), 10), said("e10"), said("e11")])
    rewrite(file, "e11", parent="e8")
    part = told(store)["branch"]
    assert part.wrong == ("#11 follows #8, past #9 to #10, which no other branch accounts for",)
    assert not part.grave


def test_a_number_far_away_costs_nothing(store: SqliteStore, file: Path) -> None:
    damage(file, "UPDATE entries SET seq = 1000000000000 WHERE id = 'e5'")
    damage(file, "UPDATE entries SET seq = -4 WHERE id = 'e1'")
    assert broken(store)["parents"][0] == "#-4 stands where #1 should"
    assert "backup" in told(store)["parents"].do


# Facts and advice -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("meta", ["x'ff'", "CAST('[1]' AS BLOB)"], ids=["garbage", "list"])
def test_facts_that_cannot_be_read_are_told_and_all_else_is_looked_at(
    store: SqliteStore, file: Path, meta: str
) -> None:
    store.create("other", at=1)
    damage(file, f"UPDATE sessions SET meta = {meta} WHERE key = '{KEY}'")
    assert list(broken(store)) == ["facts"]
    assert sorted(row.key for row in store.sessions()) == sorted([KEY, "other"])
    with pytest.raises(DamagedStore, match=f"The facts of session '{KEY}' cannot be read"):
        store.session(KEY)
    with pytest.raises(DamagedStore):
        store.describe(KEY, {"title": "kept from overwriting what is there"})
    assert len(list(store.entries(KEY))) == 5
    damage(file, told(store)["facts"].do.partition("with sqlite3: ")[2])
    assert broken(store) == {}


def test_a_session_whose_facts_are_damaged_can_be_deleted(store: SqliteStore, file: Path) -> None:
    damage(file, "UPDATE sessions SET meta = x'ff'")
    store.delete(KEY)
    assert store.sessions() == []


def test_the_advice_fits_the_damage(store: SqliteStore, file: Path) -> None:
    compacted(store, Node("n1", 0, "e1", "e2", "x"))
    assert "the entries are all there" in told(store)["summaries"].do
    damage(file, "UPDATE sessions SET entries = 9")
    assert told(store)["counters"].do.startswith("export the session")
    damage(file, "DELETE FROM entries WHERE id = 'e2'", "UPDATE sessions SET entries = 6")
    for name in ("counters", "parents", "summaries"):
        assert told(store)[name].do.startswith("only a backup"), name


# The search index -----------------------------------------------------------------------------------------------------

INDEX = {
    "behind": "UPDATE searched SET seq = 3",
    "ahead": "UPDATE searched SET seq = 999",
    "no table of words": "UPDATE searched SET tabled = 1 - tabled",
    "size": "UPDATE searched SET size = 0",
    "latest": "UPDATE searched SET latest = 0",
    "no sayings": "DROP TABLE sayings",
    "no spoken": "DROP TABLE spoken",
    "none at all": "DROP TABLE searched",
    "roles": "UPDATE sayings SET role = 'zzz'",
    "one gone": "DELETE FROM sayings WHERE seq = 2",
    "times gone": "DELETE FROM spoken",
    "words torn": "DROP TABLE words_1_data",
    "settings torn": "DROP TABLE words_1_config",
}
TABLED = ("no spoken", "times gone", "words torn", "settings torn")
SCANNED = ("no sayings", "roles", "one gone")
SCANS = [(what, False) for what in INDEX if what not in TABLED]
TABLES = [(what, True) for what in INDEX if what not in SCANNED]


@pytest.mark.parametrize(("what", "tabled"), [*SCANS, *TABLES])
def test_damage_to_the_index_is_found_and_repaired(
    store: SqliteStore, file: Path, monkeypatch: pytest.MonkeyPatch, what: str, *, tabled: bool
) -> None:
    if tabled:
        monkeypatch.setattr("clew.store.sqlite_search.SCANNED", 0)
    store.append(KEY, [said(f"m{number}", f"word{number} of many") for number in range(6, 20)])
    assert store.search(KEY, Search((("word7",),)))
    store.close()
    damage(file, INDEX[what])
    with SqliteStore(file) as again:
        part = told(again)["index"]
        assert (bool(part.wrong), part.grave, "--repair" in part.do) == (True, True, True)
        assert "up to #19" in repair(again, KEY)
        assert broken(again) == {}
        assert len(again.search(KEY, Search((("word7",),)))) == 1
    with closing(sqlite3.connect(file)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("entries", [0, -1])
def test_the_index_is_made_of_the_entries_there_are_whatever_the_row_counts(
    store: SqliteStore, file: Path, entries: int
) -> None:
    damage(file, f"UPDATE sessions SET entries = {entries}")
    assert "up to #5" in repair(store, KEY)
    assert list(broken(store)) == ["counters"]
    assert store.search(KEY, Search((("first",),)))


def test_an_empty_session_has_nothing_to_be_made_anew(store: SqliteStore, file: Path) -> None:
    damage(file, "DELETE FROM entries")
    assert repair(store, KEY).startswith("no entry is there")
    assert "index" not in broken(store)
