"""What every store must do when a history is cut short for good."""

from typing import Any

import pytest

from clew.errors import BadInput, UnknownEntry
from clew.store.port import Draft, Owed, Search, Store
from clew.testing.scene import KEY, WORDS, brief, ids, said, state, take_back, wind_up
from clew.transcript import Assistant, Call, Compaction, Node, Reset, Said, Text, ToolResult, view


def calling(id: str, *calls: str) -> Draft:
    """An answer that calls a tool, under the id of each call."""
    return Draft(id, 1000, Said(Assistant(tuple(Call(call, "read", {}) for call in calls))), 10)


def returned(id: str, call: str) -> Draft:
    """The result of a call."""
    return Draft(id, 1000, Said(ToolResult(call, "read", (Text("done"),))), 10)


def trim(store: Store, keep: int) -> list[str]:
    """Cut the session and say what is left of it, numbers and sums looked at."""
    before = store.session(KEY)
    removed = store.trim(KEY, keep, at=9000)
    row, left = store.session(KEY), list(store.entries(KEY))
    assert removed == before.entries - row.entries
    assert [record.seq for record in left] == list(range(1, row.entries + 1))
    window = [one for one in left[row.start - 1 :]
              if one.entry.id == row.boundary or not isinstance(one.entry.body, Compaction | Reset)]  # fmt: skip
    assert row.window_tokens == sum(record.tokens for record in window)
    assert row.window_bytes == sum(record.size for record in window)
    assert row.generation == before.generation + bool(removed)
    names = ids(left)
    assert all(record.entry.parent in (None, *names) for record in left)
    assert store.entry_many(KEY, names) == {record.entry.id: record for record in left}
    return names


class TrimContract:
    """A part of `clew.testing.StoreContract`."""

    def test_the_newest_entries_are_left_and_the_others_gone(self, store: Store) -> None:
        store.append(KEY, [said(name, WORDS) for name in "abcde"])
        assert trim(store, 2) == ["d", "e"]
        assert ids(store.window(KEY)) == ["d", "e"]
        assert store.entry(KEY, "d").entry.parent is None
        with pytest.raises(UnknownEntry):
            store.entry(KEY, "a")
        assert (store.events()[-1].kind, store.events()[-1].data) == ("trim", {"removed": 3, "kept": 2})
        assert store.session(KEY).updated == 9000

    @pytest.mark.parametrize("keep", [5, 6, 10**9])
    def test_as_many_as_there_are_or_more_change_nothing(self, store: Store, keep: int) -> None:
        store.append(KEY, [said(name) for name in "abcde"])
        before, events = state(store), store.events()
        assert store.trim(KEY, keep, at=9000) == 0
        assert (state(store), store.events()) == (before, events)

    @pytest.mark.parametrize("keep", [0, -1])
    def test_nothing_at_all_cannot_be_kept(self, store: Store, keep: int) -> None:
        store.append(KEY, [said("a")])
        before = state(store)
        with pytest.raises(BadInput, match="At least 1"):
            store.trim(KEY, keep, at=9000)
        assert state(store) == before

    def test_an_empty_session_has_nothing_to_lose(self, store: Store) -> None:
        assert trim(store, 1) == []

    @pytest.mark.parametrize(("keep", "left"), [(6, "bcdefg"), (5, "fg"), (4, "fg"), (2, "fg"), (1, "g")])
    def test_a_call_goes_with_its_results(self, store: Store, keep: int, left: str) -> None:
        store.append(KEY, [said("a"), calling("b", "1", "2"), returned("c", "1"), said("d"), returned("e", "2")])
        store.append(KEY, [said("f"), said("g")])
        assert trim(store, keep) == list(left)

    def test_the_last_call_is_left_with_its_results_however_many(self, store: Store) -> None:
        store.append(KEY, [said("a"), calling("b", "1", "2"), returned("c", "1"), returned("d", "2")])
        assert trim(store, 1) == ["b", "c", "d"]

    def test_a_session_goes_on_where_it_was(self, store: Store) -> None:
        store.append(KEY, [said(name) for name in "abc"])
        trim(store, 1)
        [record] = store.append(KEY, [said("d")])
        assert (record.seq, record.entry.parent) == (2, "c")
        store.append(KEY, [said("a", "a name that went is free again")])
        wind_up(store, "e", "d")
        assert ids(store.window(KEY)) == ["d", "a", "e"]

    def test_the_end_of_the_branch_is_left_behind_newer_side_entries(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("b")])
        store.append(KEY, [said("x", leaf=False), said("y", leaf=False)])
        assert trim(store, 1) == ["b", "x", "y"]
        assert ids(store.window(KEY)) == ["b"]

    def test_a_brief_whose_tail_is_cut_keeps_what_is_left_of_it(self, store: Store) -> None:
        store.append(KEY, [said(name) for name in "abcd"])
        wind_up(store, "one", "b")
        store.append(KEY, [said("e")])
        assert trim(store, 3) == ["d", "one", "e"]
        row, found = store.session(KEY), store.window(KEY)
        assert (row.boundary, row.start, row.compactions) == ("one", 1, 1)
        assert found.boundary == store.entry(KEY, "one")
        kept: Any = store.entry(KEY, "one").entry.body
        assert kept.first_kept == "d"
        assert [entry.id for entry in view(found.entries).entries] == ["d", "e"]

    def test_a_brief_that_is_the_oldest_left_keeps_nothing_before_it(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("b")])
        wind_up(store, "one", "b")
        store.append(KEY, [said("c")])
        assert trim(store, 2) == ["one", "c"]
        body: Any = store.entry(KEY, "one").entry.body
        assert (store.session(KEY).start, body.first_kept) == (1, None)

    def test_without_its_brief_a_view_is_what_is_left(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("b")])
        wind_up(store, "one", "b")
        store.append(KEY, [said("c"), said("d")])
        assert trim(store, 2) == ["c", "d"]
        row = store.session(KEY)
        assert (row.boundary, row.start, row.compactions) == (None, 1, 0)
        assert ids(store.window(KEY)) == ["c", "d"]

    def test_a_brief_does_not_name_the_one_before_it_that_went(self, store: Store) -> None:
        store.append(KEY, [said("a")])
        wind_up(store, "one")
        store.append(KEY, [said("b")])
        node = Node("n", 0, "a", "a", "what was said")
        body: Any = brief("two").body
        draft = Draft("two", 1, type(body)(**{name: getattr(body, name) for name in body.__struct_fields__}
                                           | {"previous": "one", "nodes": (node,)}), 5)  # fmt: skip
        store.commit(KEY, draft, generation=1, boundary="two", start=None, event="compaction", data={})
        assert trim(store, 2) == ["b", "two"]
        mended: Any = store.entry(KEY, "two").entry.body
        assert (mended.previous, mended.nodes, mended.summary) == (None, (), "Brief two")

    def test_compactions_that_were_taken_back_do_not_count(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("b")])
        wind_up(store, "one", "b")
        wind_up(store, "two", "b")
        take_back(store, "back", "two", "one", "b")
        assert trim(store, 4) == ["b", "one", "two", "back"]
        assert (store.session(KEY).compactions, store.session(KEY).boundary) == (1, "one")
        assert trim(store, 1) == ["back"]
        assert (store.session(KEY).compactions, store.session(KEY).boundary) == (0, None)

    def test_a_reset_that_is_left_stays_where_the_view_begins(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("b")])
        store.commit(KEY, Draft("r", 1, Reset()), generation=0, boundary="r", start=None, event="reset", data={})
        store.append(KEY, [said("c")])
        assert trim(store, 3) == ["b", "r", "c"]
        assert (store.session(KEY).start, ids(store.window(KEY))) == (2, ["r", "c"])

    def test_search_finds_what_is_left_and_nothing_else(self, store: Store) -> None:
        store.append(KEY, [said(name, f"needle {name}hay") for name in "abc"])
        assert len(store.search(KEY, Search((("needle",),)))) == 3
        trim(store, 1)
        found = store.search(KEY, Search((("needle",),)))
        assert [(one.record.seq, one.record.entry.id) for one in found] == [(1, "c")]
        assert store.indexed(KEY) == (1, 1)

    def test_a_turn_of_which_a_part_went_is_owed_no_more(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("b")], owed=Owed(KEY, "a", "mine", "a", "b", at=1))
        store.append(KEY, [said("c"), said("d")], owed=Owed(KEY, "c", "mine", "c", "d", at=1))
        trim(store, 3)
        assert [one.turn for one in store.owed(KEY)] == ["c"]

    def test_other_sessions_are_left_alone(self, store: Store) -> None:
        store.create("other", at=1)
        store.append("other", [said(name) for name in "abc"])
        store.append(KEY, [said(name) for name in "abc"])
        trim(store, 1)
        assert ids(list(store.entries("other"))) == ["a", "b", "c"]
