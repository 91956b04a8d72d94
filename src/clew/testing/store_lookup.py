"""What every store must find again: the history, entries, compactions, events."""

import pytest

from clew.errors import AmbiguousName, UnknownEntry, UnknownSession
from clew.store.port import Store
from clew.testing.scene import KEY, brief, ids, said, take_back, wind_up


class LookupContract:
    """A part of `clew.testing.StoreContract`."""

    def test_the_history_is_whole_after_compactions(self, store: Store) -> None:
        store.append(KEY, [said("a"), said("s", leaf=False), said("b")])
        wind_up(store, "c")
        assert ids(list(store.entries(KEY))) == ["a", "s", "b", "c"]
        assert ids(list(store.entries(KEY, after=1, limit=2))) == ["s", "b"]
        assert ids(list(store.entries(KEY, limit=0))) == ids(list(store.entries(KEY, after=4))) == []

    def test_a_long_history_is_read_in_pages_while_others_write(self, store: Store) -> None:
        store.append(KEY, [said(f"e{number}") for number in range(1000)])
        reading = store.entries(KEY)
        first = next(reading)
        store.append(KEY, [said("late")])
        assert ids([first, *reading])[:1000] == [f"e{number}" for number in range(1000)]

    def test_a_history_that_is_deleted_halfway_does_not_pass_for_whole(self, store: Store) -> None:
        store.append(KEY, [said(f"e{number}") for number in range(1000)])
        reading = store.entries(KEY)
        next(reading)
        store.delete(KEY)
        with pytest.raises(UnknownSession):
            list(reading)

    def test_an_entry_is_found_by_the_start_of_its_id(self, store: Store) -> None:
        store.append(KEY, [said("abc"), said("abd"), said("ab"), said("x\U0010ffffy")])
        assert store.entry(KEY, "abc").seq == store.entry(KEY, "abc").seq == 1
        assert store.entry(KEY, "ab").seq == 3
        assert store.entry(KEY, "x").seq == store.entry(KEY, "x\U0010ffff").seq == 4
        with pytest.raises(AmbiguousName, match="abc"):
            store.entry(KEY, "a")

    @pytest.mark.parametrize("name", ["", "b", "abcd", "A", "%", "ab_", "\ud83d"])
    def test_a_name_that_fits_no_entry_is_said_so(self, store: Store, name: str) -> None:
        store.append(KEY, [said("abc")])
        with pytest.raises(UnknownEntry):
            store.entry(KEY, name)

    def test_many_entries_are_fetched_in_one_look(self, store: Store) -> None:
        store.append(KEY, [said(name) for name in "abc"])
        found = store.entry_many(KEY, ["c", "zz", "a", "a"])
        assert found == {"a": store.entry(KEY, "a"), "c": store.entry(KEY, "c")}
        assert store.entry_many(KEY, []) == {}

    def test_compactions_are_listed_also_when_taken_back(self, store: Store) -> None:
        store.append(KEY, [said("a")])
        one, two = wind_up(store, "one"), wind_up(store, "two")
        take_back(store, "back", "two", "one", None)
        assert store.compactions(KEY) == [one, two]

    def test_a_compaction_is_found_in_any_session(self, store: Store) -> None:
        one = wind_up(store, "cc1")
        store.create("other", at=1)
        for name in ("cc2", "cc1"):
            now = store.session("other").generation
            store.commit("other", brief(name), generation=now, boundary=name, start=None, event="x", data={})
        store.append(KEY, [said("cc9")])
        assert store.find_compaction("cc2")[0] == "other"
        for name in ("cc1", "cc"):
            with pytest.raises(AmbiguousName):
                store.find_compaction(name)
        store.delete("other")
        assert store.find_compaction("c") == (KEY, one)
        with pytest.raises(UnknownEntry):
            store.find_compaction("cc9")

    def test_events_are_numbered_over_all_sessions(self, store: Store) -> None:
        store.create("other", at=1)
        wind_up(store, "c")
        everything = store.events()
        assert [(event.key, event.kind) for event in everything] == [
            (KEY, "created"), ("other", "created"), (KEY, "compaction"),
        ]  # fmt: skip
        assert store.events(KEY) == [everything[0], everything[2]]
        assert store.events(after=everything[0].seq, limit=1) == [everything[1]]
        assert store.events("nobody") == store.events("half \ud83d an emoji") == []
