"""An answer that the window cut off is known by the provider's count, and by nothing else."""

import pytest

from clew.models.port import Request
from clew.models.silent import silent_overflow
from clew.transcript import Usage, assistant, user

CASES = {
    "llama.cpp: one token, the window full": (Usage(8191, 1), "length", 500, 8192, True),
    "one token, the window not known": (Usage(8191, 1), "length", 500, None, True),
    "one token, with the rest in the cache": (Usage(100, 1, cache_read=900), "length", None, 2000, True),
    "cut in the middle by the window": (Usage(900, 124), "length", 500, 1024, True),
    "cut in the middle, no length asked for": (Usage(900, 124), "length", None, 1024, True),
    "nothing at all, the window all but full": (Usage(1015, 0), "length", 500, 1024, True),
    "more input than the window that was told, and answered": (Usage(9000, 300), "stop", 500, 8192, False),
    "one token was asked for": (Usage(500, 1), "length", 1, 8192, False),
    "the length that was asked for": (Usage(500, 200), "length", 200, 8192, False),
    "the length that was asked for, to the window's end": (Usage(824, 200), "length", 200, 1024, False),
    "a bound of the server's own": (Usage(500, 128), "length", 500, 8192, False),
    "an answer of one token": (Usage(500, 1), "stop", 500, 8192, False),
    "an answer that just fits": (Usage(1000, 24), "stop", 500, 1024, False),
    "a call that ends a full window": (Usage(1000, 24), "tools", 500, 1024, False),
    "cancelled": (Usage(8191, 1), "aborted", 500, 8192, False),
    "not counted": (None, "length", 500, 8192, False),
}


@pytest.mark.parametrize(("usage", "stop", "asked", "window", "silent"), CASES.values(), ids=CASES)
def test_a_silent_overflow(usage, stop, asked, window, silent):
    answer = assistant("…", usage=usage, stop=stop)
    assert silent_overflow(answer, Request((user("hi"),), max_output=asked), window) is silent


def test_nothing_said_to_more_input_than_the_window_is_an_overflow():
    answer = assistant("", usage=Usage(9000, 3), stop="stop")
    assert silent_overflow(answer, Request((user("hi"),), max_output=500), 8192)
