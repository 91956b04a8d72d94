"""What every store must do when a compaction, a reset or an undo moves the window."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from clew.errors import BadInput, Conflict
from clew.store.port import Draft, Store
from clew.testing.scene import KEY, brief, ids, said, state, take_back, wind_up
from clew.transcript import Custom, Reset, view


class WindowContract:
    """A part of `clew.testing.StoreContract`."""

    def test_a_compaction_moves_the_window_and_tells_of_it(self, store: Store) -> None:
        store.append(KEY, [said(name) for name in "abcd"])
        stored = wind_up(store, "one", "c")
        row = store.session(KEY)
        assert (row.leaf, row.boundary, row.start, row.generation, row.compactions) == ("one", "one", 3, 1, 1)
        assert (row.entries, row.window_tokens, row.updated) == (5, 25, 2000)
        assert row.window_bytes == sum(record.size for record in store.window(KEY).records)
        assert store.window(KEY).boundary == stored
        assert ids(store.window(KEY)) == ["c", "d", "one"]
        assert (store.events()[-1].kind, store.events()[-1].data) == ("compaction", {"id": "one"})

    def test_messages_that_arrive_during_a_compaction_stay_after_it(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("b")])
        snapshot = store.session(KEY)
        store.append(KEY, [said("meanwhile")])
        store.commit(
            KEY, brief("c", "b"), generation=snapshot.generation, boundary="c", start="b", event="compaction", data={}
        )
        store.append(KEY, [said("later")])
        assert ids(store.window(KEY)) == ["b", "meanwhile", "c", "later"]
        assert store.session(KEY).window_tokens == 35
        assert [entry.id for entry in view(store.window(KEY).entries).entries] == ["b", "meanwhile", "later"]

    def test_the_second_of_two_compactions_is_refused_whole(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("b")])
        wind_up(store, "one", "b")
        before, events = state(store), store.events()
        with pytest.raises(Conflict, match="generation 1, not 0"):
            store.commit(KEY, brief("two"), generation=0, boundary="two", start=None, event="compaction", data={})
        assert (state(store), store.events()) == (before, events)

    def test_of_many_compactions_at_once_one_wins(self, store: Store) -> None:
        store.append(KEY, [said("a")])

        def attempt(number: int) -> str:
            try:
                store.commit(
                    KEY, brief(f"c{number}"), generation=0, boundary=f"c{number}", start=None, event="compaction",
                    data={},
                )  # fmt: skip
            except Conflict:
                return "conflict"
            return "won"

        with ThreadPoolExecutor(4) as pool:
            outcomes = list(pool.map(attempt, range(8)))
        assert sorted(outcomes) == ["conflict"] * 7 + ["won"]
        assert (store.session(KEY).compactions, len(store.compactions(KEY)), store.session(KEY).generation) == (1, 1, 1)

    @pytest.mark.parametrize(
        ("draft", "boundary", "start", "reason"),
        [
            pytest.param(brief("c"), "zz", None, "boundary 'zz'", id="boundary"),
            pytest.param(brief("c"), "c", "zz", "start 'zz'", id="start"),
            pytest.param(brief("a"), "a", None, "'a'", id="id taken"),
            pytest.param(brief("c", parent="zz"), "c", None, "'zz'", id="parent"),
        ],
    )
    def test_a_commit_that_names_what_is_not_there_changes_nothing(
        self, store: Store, draft: Draft, boundary: str, start: str | None, reason: str
    ) -> None:
        store.append(KEY, [said("a")])
        before, events = state(store), store.events()
        with pytest.raises(BadInput, match=reason):
            store.commit(KEY, draft, generation=0, boundary=boundary, start=start, event="compaction", data={})
        assert (state(store), store.events()) == (before, events)

    def test_a_commit_whose_event_cannot_be_stored_changes_nothing(self, store: Store) -> None:
        store.append(KEY, [said("a")])
        before = state(store)
        with pytest.raises(BadInput):
            store.commit(KEY, brief("c"), generation=0, boundary="c", start=None, event="x", data={"x": object()})
        assert state(store) == before

    def test_undo_gives_the_old_window_back_byte_for_byte(self, store: Store) -> None:
        store.append(KEY, [said(name) for name in "abcd"])
        wind_up(store, "one", "b")
        before = store.window(KEY)
        wind_up(store, "two", "d")
        take_back(store, "back", "two", "one", "b")
        after = store.window(KEY)
        assert after.boundary == before.boundary
        assert after.records[: len(before.records)] == before.records
        assert ids(after)[len(before.records) :] == ["two", "back"]
        assert view(after.entries).messages() == view(before.entries).messages()
        assert (after.session.compactions, after.session.generation) == (1, 3)

    def test_undo_of_the_first_compaction_gives_the_beginning_back(self, store: Store) -> None:
        store.append(KEY, [said(name) for name in "abcd"])
        before = store.window(KEY)
        wind_up(store, "one", "d")
        take_back(store, "back", "one", None, None)
        after = store.window(KEY)
        assert (after.boundary, after.session.start, after.records[:4]) == (None, 1, before.records)
        kept = [record for record in store.entries(KEY) if record.entry.id != "one"]
        assert after.session.window_bytes == sum(record.size for record in kept)

    def test_an_undone_compaction_can_be_put_back(self, store: Store) -> None:
        store.append(KEY, [said(name) for name in "abcd"])
        wind_up(store, "one", "c")
        take_back(store, "back", "one", None, None)
        wind_up(store, "again", "c")
        assert ids(store.window(KEY)) == ["c", "d", "one", "back", "again"]
        assert (store.session(KEY).compactions, store.session(KEY).boundary) == (1, "again")

    def test_a_boundary_outside_the_window_is_handed_out_with_it(self, store: Store) -> None:
        store.append(KEY, [said("a")])
        wind_up(store, "one")
        store.append(KEY, [said("b"), said("c")])
        store.commit(
            KEY, Draft("mark", 1, Custom("mark")), generation=1, boundary="one", start="c", event="mark", data={}
        )
        found = store.window(KEY)
        assert ids(found) == ["c", "mark"]
        assert found.boundary == store.entry(KEY, "one")

    def test_a_reset_starts_afresh_and_its_undo_counts_no_compaction(self, store: Store) -> None:
        store.append(KEY, [said("a")])
        wind_up(store, "one")
        reset = Draft("r", 1, Reset())
        store.commit(KEY, reset, generation=1, boundary="r", start=None, event="reset", data={})
        assert (ids(store.window(KEY)), store.session(KEY).window_tokens) == (["r"], 0)
        take_back(store, "back", "r", "one", None)
        assert (ids(store.window(KEY)), store.session(KEY).compactions) == (["one", "r", "back"], 1)

    def test_fewer_than_no_compactions_never_stand(self, store: Store) -> None:
        store.append(KEY, [said("a")])
        wind_up(store, "one")
        take_back(store, "back", "one", None, None)
        take_back(store, "twice", "one", None, None)
        assert store.session(KEY).compactions == 0
