"""Contract suites that authors of stores and engines can inherit. They need pytest, which Clew itself does not."""

import pytest

pytest.register_assert_rewrite(
    "clew.testing.engine", "clew.testing.engine_scene", "clew.testing.store", "clew.testing.store_append",
    "clew.testing.store_lookup", "clew.testing.store_owed", "clew.testing.store_search", "clew.testing.store_sessions",
    "clew.testing.store_window",
)  # fmt: skip
# Only what is imported after this says, where it fails, which values it compared.
from clew.testing.engine import EngineContract  # noqa: E402
from clew.testing.store import DurableStoreContract, StoreContract  # noqa: E402

__all__ = ["DurableStoreContract", "EngineContract", "StoreContract"]
