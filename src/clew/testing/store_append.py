"""What every store must do with entries that are appended."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from clew.errors import BadInput
from clew.store.port import Draft, Slice, Store
from clew.testing.scene import KEY, WORDS, ids, said, state
from clew.transcript import Custom, Said, user


class AppendContract:
    """A part of `clew.testing.StoreContract`."""

    def test_entries_are_numbered_chained_and_summed(self, store: Store) -> None:
        first = store.append(KEY, [said("a"), said("b", at=700)])
        second = store.append(KEY, [said("c", tokens=7)])
        assert [(r.seq, r.entry.id, r.entry.parent) for r in (*first, *second)] == [
            (1, "a", None), (2, "b", "a"), (3, "c", "b"),
        ]  # fmt: skip
        row = store.session(KEY)
        assert (row.leaf, row.entries, row.updated, row.generation) == ("c", 3, 1000, 0)
        assert (row.window_tokens, row.window_bytes) == (27, sum(r.size for r in (*first, *second)))
        assert store.window(KEY) == Slice(row, None, (*first, *second))

    def test_an_older_entry_does_not_make_a_session_older(self, store: Store) -> None:
        store.append(KEY, [said("a", at=3)])
        assert store.session(KEY).updated == 500

    def test_appending_nothing_is_fine(self, store: Store) -> None:
        before = state(store)
        assert store.append(KEY, []) == []
        assert state(store) == before

    def test_text_comes_back_as_it_went_in(self, store: Store) -> None:
        [stored, number] = store.append(KEY, [said("a", WORDS), Draft("n", 1, Custom("n", [2**70, -0.1, None]))])
        assert stored.entry.body == Said(user(WORDS))
        assert number.entry.body == Custom("n", [2**70, -0.1, None])
        assert store.entry(KEY, "a") == stored

    def test_half_a_character_becomes_a_whole_one(self, store: Store) -> None:
        [stored] = store.append(KEY, [said("a", "half \ud83d an emoji")])
        assert stored.entry.body == Said(user("half � an emoji"))
        assert store.window(KEY).records == (stored,)

    @pytest.mark.parametrize(
        ("drafts", "reason"),
        [
            pytest.param([said("b"), said("a")], "'a'", id="id of a stored entry"),
            pytest.param([said("b"), said("b")], "'b'", id="id twice in a call"),
            pytest.param([said("b"), said("c", parent="zz")], "'zz'", id="unknown parent"),
            pytest.param([said("b", parent="c"), said("c")], "'c'", id="parent later in the call"),
            pytest.param([said("b", parent="b")], "'b'", id="its own parent"),
            pytest.param([said("b"), said("")], "empty", id="empty id"),
            pytest.param([said("b"), Draft("c", 1, Custom("x", object()))], "'c'", id="not JSON"),
            pytest.param([said("b"), Draft("c", 1, Said(user(None)))], "'c'", id="not to be read back"),  # type: ignore[arg-type]
        ],
    )
    def test_a_call_with_one_bad_draft_stores_none(self, store: Store, drafts: list[Draft], reason: str) -> None:
        store.append(KEY, [said("a")])
        before = state(store)
        with pytest.raises(BadInput, match=reason):
            store.append(KEY, drafts)
        assert state(store) == before

    def test_a_side_branch_hangs_together_and_is_not_shown(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("s1", leaf=False), said("s2", leaf=False), said("b")])
        store.append(KEY, [said("s3", parent="s2", leaf=False), said("c")])
        parents = {record.entry.id: record.entry.parent for record in store.entries(KEY)}
        assert parents == {"a": None, "s1": "a", "s2": "s1", "b": "a", "s3": "s2", "c": "b"}
        assert ids(store.window(KEY)) == ["a", "b", "c"]
        assert store.session(KEY).leaf == "c"

    def test_going_on_from_an_older_entry_leaves_the_rest_aside(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("b"), said("c")])
        store.append(KEY, [said("d", parent="a"), said("e")])
        assert ids(store.window(KEY)) == ["a", "d", "e"]
        store.append(KEY, [said("root", parent=None)])
        assert ids(store.window(KEY)) == ["root"]
        assert ids(list(store.entries(KEY))) == ["a", "b", "c", "d", "e", "root"]

    def test_threads_append_in_one_chain(self, store: Store) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: store.append(KEY, [said(f"{n}a"), said(f"{n}b")]), range(20)))
        records = list(store.entries(KEY))
        assert [record.seq for record in records] == list(range(1, 41))
        assert [record.entry.parent for record in records] == [None, *ids(records)[:-1]]
        assert all(b == f"{a[:-1]}b" for a, b in zip(ids(records)[::2], ids(records)[1::2], strict=True))
