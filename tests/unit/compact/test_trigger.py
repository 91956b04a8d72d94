"""When a compaction is due."""

import pytest

from clew.compact.trigger import Load, due
from clew.tokens.usage import Size


def load(tokens, incoming=0, stored=0):
    return Load(Size(tokens, "estimated" if tokens is not None else "unknown"), 0, incoming, stored)


@pytest.mark.parametrize(
    ("tokens", "window", "expected"),
    [
        pytest.param(24_575, 32_768, None, id="a token below the threshold of 32,768"),
        pytest.param(24_576, 32_768, "budget", id="at the threshold of 32,768"),
        pytest.param(1, 4_096, None, id="a small window is not over its threshold when empty"),
        pytest.param(3_072, 4_096, "budget", id="at the threshold of 4,096"),
        pytest.param(179_999, 200_000, None, id="a token below the threshold of 200,000"),
        pytest.param(206_000, 1_000_000, None, id="a larger window after a switch"),
        pytest.param(300_000, 272_000, "budget", id="a smaller window after a switch"),
        pytest.param(900_000, None, None, id="an unknown window is not exceeded"),
        pytest.param(None, 200_000, None, id="an unknown size is no overflow"),
    ],
)
def test_the_threshold_is_the_window_less_its_reserve(tokens, window, expected):
    assert due(load(tokens), window=window) == expected


def test_the_incoming_message_counts():
    assert due(load(24_000, incoming=600), window=32_768) == "budget"


@pytest.mark.parametrize(
    ("stored", "latched", "expected"), [(99, None, None), (100, None, "bytes"), (150, 120, None), (220, 120, "bytes")]
)
def test_bytes_trigger_once_and_again_only_after_as_much_growth(stored, latched, expected):
    assert due(load(10, stored=stored), window=200_000, max_bytes=100, latched=latched) == expected


def test_turned_off_nothing_is_due():
    assert due(load(10**6, stored=10**9), window=4_096, max_bytes=1, enabled=False) is None
