"""Contract suites that authors of stores can inherit. They need pytest, which Clew itself does not."""

from clew.testing.store import DurableStoreContract, StoreContract

__all__ = ["DurableStoreContract", "StoreContract"]
