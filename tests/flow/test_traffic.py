"""How much of what is sent a prompt cache could reuse, over long tool-heavy sessions: the bench's own, whole."""

import asyncio

import pytest

from bench.traffic import HEAVY, LIGHT, RUNS, session

SMALL, LARGE = RUNS


@pytest.mark.parametrize(
    ("most", "main", "everything"), [(LIGHT, 0.975, 0.96), (HEAVY, 0.95, 0.93)], ids=["light", "heavy"]
)
def test_a_small_window_that_is_compacted_again_and_again_shares_nearly_all_bytes(most, main, everything):
    found = asyncio.run(session(*SMALL, most))
    assert (found.untold, found.lost) == (0, 0)
    assert found.breaks == found.compactions >= 5
    assert found.main >= main
    assert found.all >= everything


def test_in_a_large_window_each_request_goes_on_from_the_one_before():
    found = asyncio.run(session(*LARGE, LIGHT))
    assert (found.breaks, found.untold, found.lost) == (found.compactions, 0, 0)
    assert min(found.main, found.all) >= 0.985
