"""The arithmetic of windows, against the table of spec/compaction.md 2.1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.tokens.window import LADDER, Thresholds, next_step, reserve, thresholds

TABLE = [
    # window, reserve, compact at, flush at, brief, brief of a prefix
    (4_096, 1_024, 3_072, 1_536, 819, 512),
    (8_192, 2_048, 6_144, 3_072, 1_638, 1_024),
    (16_000, 4_000, 12_000, 8_000, 3_200, 2_000),
    (16_384, 4_096, 12_288, 8_288, 3_276, 2_048),
    (32_768, 8_192, 24_576, 20_576, 6_553, 4_096),
    (64_000, 16_000, 48_000, 44_000, 12_800, 8_000),
    (79_999, 19_999, 60_000, 56_000, 15_999, 9_999),
    (80_000, 20_000, 60_000, 56_000, 16_000, 10_000),
    (128_000, 20_000, 108_000, 104_000, 16_000, 10_000),
    (200_000, 20_000, 180_000, 176_000, 16_000, 10_000),
    (1_000_000, 20_000, 980_000, 976_000, 16_000, 10_000),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row[0]))
def test_the_thresholds_are_those_of_the_table(row):
    window, *expected = row
    got = thresholds(window)
    assert [got.reserve, got.compact_at, got.flush_at, got.summary_output, got.prefix_output] == expected
    assert (got.trim_at, got.clear_at) == (window * 30 // 100, window * 50 // 100)


@given(st.integers(1, 3_000_000), st.none() | st.integers(0, 10**7))
def test_no_window_compacts_when_it_is_empty(window, asked):
    got = thresholds(window, reserve_tokens=asked)
    assert got.reserve <= window // 4
    assert 0 < got.flush_at <= got.compact_at <= window
    assert got.prefix_output <= got.summary_output <= max(1, got.reserve)


def test_a_reserve_can_be_raised_but_neither_lowered_nor_past_a_quarter():
    assert thresholds(200_000, reserve_tokens=30_000).reserve == 30_000
    assert thresholds(200_000, reserve_tokens=100).reserve == 20_000
    assert thresholds(16_384, reserve_tokens=20_000).reserve == 4_096
    assert reserve(200_000) == 20_000


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_that_is_not_known_has_no_thresholds(window):
    with pytest.raises(ValueError, match="no window"):
        thresholds(window)


def test_the_ladder_goes_from_light_to_heavy():
    limits = thresholds(200_000)
    assert [step.name for step in LADDER] == ["soft-trim", "hard-clear", "compact", "overflow"]
    assert [step.at(limits) for step in LADDER] == [60_000, 100_000, 180_000, None]
    assert {step.field for step in LADDER if step.field} <= set(Thresholds.__struct_fields__)


@pytest.mark.parametrize(
    ("tokens", "name"),
    [(0, None), (59_999, None), (60_000, "soft-trim"), (100_000, "hard-clear"), (180_000, "compact")],
)
def test_the_heaviest_step_that_is_due_is_taken(tokens, name):
    step = next_step(tokens, thresholds(200_000))
    assert (step.name if step else None) == name
