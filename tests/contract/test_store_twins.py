"""Any run of calls leaves both stores that ship in the same state, and the sums of a row are true."""

from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ClewError
from clew.store.inmemory import InMemoryStore
from clew.store.port import Draft, Store
from clew.store.sqlite import SqliteStore
from clew.testing.scene import brief, ids, said, undo
from clew.transcript import Compaction, Reset

KEYS = st.sampled_from(["a", "ab", "日本"])
NAMES = st.sampled_from([f"e{number}" for number in range(12)] + ["e", ""])
PARENTS = st.one_of(st.just(msgspec.UNSET), st.none(), NAMES)
TEXTS = st.text(max_size=8) | st.just("half \ud83d")
SIZES = st.integers(0, 100)
MESSAGES = st.builds(
    lambda name, text, parent, leaf, tokens, at: said(name, text, parent=parent, leaf=leaf, tokens=tokens, at=at),
    NAMES, TEXTS, PARENTS, st.booleans(), SIZES, SIZES,
)  # fmt: skip
BOUNDARIES = st.one_of(
    st.builds(brief, NAMES), st.builds(undo, NAMES, NAMES), st.builds(lambda name: Draft(name, 1, Reset()), NAMES)
)
Call = Callable[[Store], Any]


def commit(key: str, draft: Draft, generation: int, boundary: str | None, start: str | None) -> Call:
    return lambda store: store.commit(
        key, draft, generation=generation, boundary=boundary, start=start, event="moved", data={"to": boundary}
    )


CALLS = st.one_of(
    st.builds(lambda key, at: lambda store: store.create(key, at=at), KEYS, SIZES),
    st.builds(lambda key, drafts: lambda store: store.append(key, drafts), KEYS, st.lists(MESSAGES, max_size=4)),
    st.builds(commit, KEYS, BOUNDARIES, st.integers(0, 3), st.none() | NAMES, st.none() | NAMES),
    st.builds(lambda key, draft, now: commit(key, draft, now, draft.id, None), KEYS, BOUNDARIES, st.integers(0, 3)),
    st.builds(lambda key, name: lambda store: store.entry(key, name), KEYS, NAMES),
    st.builds(lambda name: lambda store: store.find_compaction(name), NAMES),
    st.builds(lambda key, text: lambda store: store.describe(key, {"title": text}), KEYS, st.none() | TEXTS),
    st.builds(lambda key, keep: lambda store: store.trim(key, keep, at=50), KEYS, st.integers(0, 9)),
    st.builds(lambda key: lambda store: store.delete(key), KEYS),
)


def outcome(store: Store, call: Call) -> Any:
    try:
        return call(store)
    except ClewError as error:
        return type(error), str(error)


def everything(store: Store) -> Any:
    keys = [row.key for row in store.sessions()]
    read = (store.window, lambda key: list(store.entries(key)), store.compactions)
    return store.sessions(), store.events(), [[look(key) for look in read] for key in keys]


def true_sums(store: Store) -> bool:
    for row in store.sessions():
        history = list(store.entries(row.key))
        past = {r.entry.id for r in history if isinstance(r.entry.body, Compaction | Reset)} - {row.boundary}
        window = [record for record in history if record.seq >= row.start and record.entry.id not in past]
        assert [record.seq for record in history] == list(range(1, row.entries + 1))
        assert row.window_tokens == sum(record.tokens for record in window)
        assert row.window_bytes == sum(record.size for record in window)
        assert row.leaf is None or ids(store.window(row.key))[-1:] in ([row.leaf], [])
    return True


@settings(max_examples=60, deadline=None)
@given(st.lists(CALLS, min_size=3, max_size=25))
def test_the_twins_agree(calls):
    with TemporaryDirectory() as folder, InMemoryStore() as one, SqliteStore(f"{folder}/store.db") as two:
        for store in (one, two):
            store.create("a", at=0)
            store.append("a", [said("e0"), said("e1")])
        for call in calls:
            assert outcome(one, call) == outcome(two, call)
        assert everything(one) == everything(two)
        assert true_sums(two)
