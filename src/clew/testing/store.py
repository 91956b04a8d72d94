"""What every store must do, as tests to inherit; the laws stand in `clew.store.port`.

    class TestMyStore(DurableStoreContract):
        def open(self, place):
            return MyStore(place / "somewhere")

`StoreContract` suits any store, `DurableStoreContract` those that outlive their handle.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clew.errors import Conflict
from clew.store.port import Store
from clew.testing.scene import KEY, WORDS, brief, ids, said, state, wind_up
from clew.testing.store_append import AppendContract
from clew.testing.store_lookup import LookupContract
from clew.testing.store_owed import OwedContract
from clew.testing.store_search import SearchContract, fits
from clew.testing.store_sessions import SessionsContract
from clew.testing.store_trim import TrimContract
from clew.testing.store_window import WindowContract


class StoreContract(
    SessionsContract, AppendContract, WindowContract, LookupContract, OwedContract, SearchContract, TrimContract, ABC
):
    """The tests for any store. A subclass says how to open one."""

    @abstractmethod
    def open(self, place: Path) -> Store:
        """A store that keeps what it keeps in the folder `place`, if it keeps anything in files.

        Another kind of store makes sure that equal places hold the same sessions and new places hold none.
        """

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """A store with one empty session."""
        with self.open(tmp_path) as store:
            store.create(KEY, at=500, meta={"title": "first"})
            yield store


class DurableStoreContract(StoreContract):
    """More tests, for stores that outlive their handle and may be opened twice at once."""

    def test_what_was_stored_is_there_when_opened_again(self, store: Store, tmp_path: Path) -> None:
        store.append(KEY, [said("a", WORDS), said("b")])
        wind_up(store, "c", "b")
        before, events = state(store), store.events()
        store.close()
        with self.open(tmp_path) as again:
            assert (state(again), again.events()) == (before, events)

    def test_two_handles_see_each_other(self, store: Store, tmp_path: Path) -> None:
        with self.open(tmp_path) as other:
            store.append(KEY, [said("a")])
            other.append(KEY, [said("b")])
            store.append(KEY, [said("c")])
            assert state(store) == state(other)
        assert ids(store.window(KEY)) == ["a", "b", "c"]

    def test_a_compaction_through_one_handle_stops_the_other_s(self, store: Store, tmp_path: Path) -> None:
        store.append(KEY, [said("a")])
        with self.open(tmp_path) as other:
            wind_up(other, "one")
            with pytest.raises(Conflict):
                store.commit(KEY, brief("two"), generation=0, boundary="two", start=None, event="x", data={})
        assert ids(store.compactions(KEY)) == ["one"]

    def test_a_reader_never_sees_half_of_a_call(self, store: Store, tmp_path: Path) -> None:
        def write() -> None:
            for turn in range(150):
                store.append(KEY, [said(f"{turn}-{number}") for number in range(7)])
                wind_up(store, f"{turn}-c", f"{turn}-0")

        with self.open(tmp_path) as other, ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            while not writing.done():
                found = other.window(KEY)
                assert found.session.entries % 8 in (0, 7)
                assert found.session.window_bytes == sum(record.size for record in found.records)
                assert found.session.boundary == (found.boundary and found.boundary.entry.id)
            writing.result()
        assert store.session(KEY).entries == 1200

    def test_an_index_serves_every_handle(self, store: Store, tmp_path: Path) -> None:
        store.append(KEY, [said(f"e{number}", f"needle hay{number}") for number in range(3000)])
        with self.open(tmp_path) as other, ThreadPoolExecutor(2) as pool:
            found = [pool.submit(fits, one, "needle hay7") for one in (store, other, store, other)]
            assert {one.result()[0] for one in found} == {"e7"}
            other.append(KEY, [said("late", "needle late")])
            assert fits(store, "late") == ["late"]
            assert store.indexed(KEY) == other.indexed(KEY) == (3001, 3001)
            other.delete(KEY)
            store.create(KEY, at=1)
            assert fits(store, "needle") == fits(other, "needle") == []
