"""Both stores that ship keep the published contract."""

from pathlib import Path

from clew.store.inmemory import InMemoryStore
from clew.store.port import Store
from clew.store.sqlite import SqliteStore
from clew.testing import DurableStoreContract, StoreContract


class TestInMemory(StoreContract):
    def open(self, place: Path) -> Store:
        return InMemoryStore()


class TestSqlite(DurableStoreContract):
    def open(self, place: Path) -> Store:
        return SqliteStore(place / "store.db")
