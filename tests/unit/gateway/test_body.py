"""A body's depth, and what reads it."""

import asyncio
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.gateway.body import DEEP, DEPTH, FULL, GONE, HELD, Bodies, flat

VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def levels(value) -> int:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(levels, inner), default=0)
    return 0


@given(VALUES, st.integers(0, 6))
def test_depth_is_what_a_parser_would_find(value, most):
    assert flat(json.dumps(value).encode(), most) == (levels(value) <= most)


def test_brackets_in_strings_do_not_count():
    assert flat(json.dumps("[" * 1_000 + '\\"' + "{" * 1_000).encode())


@pytest.mark.parametrize("piece", [b"[],", b'\\"', b'"[', b'"\\'])
def test_a_large_body_is_looked_at_in_good_time(piece):
    began = time.monotonic()
    flat(piece * (2_000_000 // len(piece)))
    assert time.monotonic() - began < 5


def read(bodies: Bodies, *messages):
    left = list(messages)

    async def receive():
        return left.pop(0)

    async def whole():
        with bodies.counted() as body:
            return await body.read(receive), body.bytes

    return asyncio.run(whole())


def piece(data: bytes, more: bool = False):
    return {"type": "http.request", "body": data, "more_body": more}


def test_a_body_comes_whole_however_it_came():
    assert read(Bodies(100), piece(b"ab", True), piece(b"", True), piece(b"c")) == (None, b"abc")


def test_what_is_too_large_too_deep_or_cut_off_is_refused():
    bodies = Bodies(1_000)
    assert read(bodies, piece(b"x" * 600, True), piece(b"x" * 600))[0] == bodies.large
    assert read(bodies, piece(b"[" * (DEPTH + 1)))[0] == DEEP
    assert read(bodies, piece(b"x", True), {"type": "http.disconnect"})[0] == GONE


def test_many_large_bodies_at_once_are_too_many_and_then_there_is_room_again():
    bodies = Bodies(1_000)
    bodies.hold(HELD * 1_000, 0)
    assert read(bodies, piece(b"x"))[0] == FULL
    bodies.hold(-HELD * 1_000, 0)
    assert read(bodies, piece(b"x"))[0] is None
