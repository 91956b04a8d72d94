"""Both stores that ship keep the published contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.store import sqlite_search
from clew.store.inmemory import InMemoryStore
from clew.store.port import Store
from clew.store.sqlite import SqliteStore
from clew.testing import DurableStoreContract, StoreContract
from clew.testing.scene import KEY
from clew.testing.store_search import SearchContract


class TestInMemory(StoreContract):
    def open(self, place: Path) -> Store:
        return InMemoryStore()


class TestSqlite(DurableStoreContract):
    def open(self, place: Path) -> Store:
        return SqliteStore(place / "store.db")


class TestSqliteWithWordTables(SearchContract):
    """Searches of sessions that are long enough for a table of FTS5."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
        monkeypatch.setattr(sqlite_search, "SCANNED", 0)
        with SqliteStore(tmp_path / "store.db") as store:
            store.create(KEY, at=500)
            yield store
