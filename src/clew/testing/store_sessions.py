"""What every store must do with sessions, their rows, facts and events."""

from typing import Any

import pytest

from clew.errors import BadInput, SessionExists, StoreError, UnknownEntry, UnknownSession
from clew.store.port import SessionRow, Slice, Store
from clew.testing.scene import KEY, brief, ids, said, wind_up


class SessionsContract:
    """A part of `clew.testing.StoreContract`."""

    def test_new_session_is_empty_and_its_first_event_says_so(self, store: Store) -> None:
        assert store.session(KEY) == SessionRow(KEY, 500, 500, None, 0, None, 1, 0, 0, 0, 0, {"title": "first"})
        assert store.window(KEY) == Slice(store.session(KEY), None, ())
        assert [(event.key, event.at, event.kind) for event in store.events()] == [(KEY, 500, "created")]

    def test_a_key_is_given_once(self, store: Store) -> None:
        with pytest.raises(SessionExists, match=KEY):
            store.create(KEY, at=9)
        assert store.session(KEY).created == 500

    @pytest.mark.parametrize("key", ["", "half \ud83d an emoji", "zero\0byte"])
    def test_a_key_that_is_no_text_is_refused(self, store: Store, key: str) -> None:
        with pytest.raises(BadInput):
            store.create(key, at=1)
        store.create("half � an emoji", at=1)
        with pytest.raises(UnknownSession):
            store.session(key)

    @pytest.mark.parametrize(
        "call",
        [
            lambda store: store.session("no"),
            lambda store: store.append("no", [said("a")]),
            lambda store: store.append("no", []),
            lambda store: store.commit("no", brief("c"), generation=0, boundary="c", start=None, event="x", data={}),
            lambda store: store.describe("no", {}),
            lambda store: store.window("no"),
            lambda store: store.entries("no"),
            lambda store: store.entry("no", "a"),
            lambda store: store.entry_many("no", ["a"]),
            lambda store: store.compactions("no"),
            lambda store: store.claim("no", "me", now=0, until=9),
            lambda store: store.release("no", "me"),
            lambda store: store.trim("no", 1, at=1),
            lambda store: store.delete("no"),
        ],
    )
    def test_an_unknown_session_is_named(self, store: Store, call: Any) -> None:
        with pytest.raises(UnknownSession, match="'no'"):
            call(store)
        assert [row.key for row in store.sessions()] == [KEY]

    def test_sessions_come_most_recently_used_first(self, store: Store) -> None:
        for key, at in (("b", 600), ("a", 600), ("old", 100)):
            store.create(key, at=at)
        store.append("old", [said("x", at=900)])
        assert [row.key for row in store.sessions()] == ["old", "a", "b", KEY]
        assert [row.key for row in store.sessions(limit=2)] == ["old", "a"]
        assert [row.key for row in store.sessions(active_since=600)] == ["old", "a", "b"]

    def test_a_prefix_is_text_and_no_pattern(self, store: Store) -> None:
        for key in ("a_b", "aXb", "a%b", "日本", "日本語", "A_b"):
            store.create(key, at=1)
        assert [row.key for row in store.sessions(prefix="a_")] == ["a_b"]
        assert [row.key for row in store.sessions(prefix="a%")] == ["a%b"]
        assert [row.key for row in store.sessions(prefix="日本")] == ["日本", "日本語"]

    def test_facts_are_added_changed_and_taken_away(self, store: Store) -> None:
        store.describe(KEY, {"model": "p/m", "title": None, "deep": {"list": (1, None)}})
        store.describe(KEY, {"model": "p/n", "absent": None})
        assert store.session(KEY).meta == {"model": "p/n", "deep": {"list": [1, None]}}
        with pytest.raises(BadInput):
            store.describe(KEY, {"model": object()})
        assert store.session(KEY).meta["model"] == "p/n"

    def test_a_deleted_session_leaves_nothing_behind(self, store: Store) -> None:
        store.create("other", at=1)
        store.append(KEY, [said("a")])
        wind_up(store, "c")
        store.delete(KEY)
        assert [row.key for row in store.sessions()] == ["other"]
        assert [event.key for event in store.events()] == ["other"]
        with pytest.raises(UnknownEntry):
            store.find_compaction("c")
        store.create(KEY, at=2)
        assert (ids(store.window(KEY)), store.session(KEY).entries) == ([], 0)

    def test_a_closed_store_says_so(self, store: Store) -> None:
        store.close()
        store.close()
        for call in (lambda: store.session(KEY), lambda: store.append(KEY, [said("a")]), lambda: store.events()):
            with pytest.raises(StoreError, match="was closed"):
                call()

    def test_a_claimed_session_is_its_owners_until_it_is_let_go(self, store: Store) -> None:
        assert store.claim(KEY, "one", now=100, until=200) is None
        assert store.claim(KEY, "two", now=150, until=300) == "one"
        store.release(KEY, "two")
        assert store.claim(KEY, "two", now=150, until=300) == "one"
        store.release(KEY, "one")
        assert store.claim(KEY, "two", now=150, until=300) is None

    def test_a_claim_is_renewed_by_its_owner_and_free_once_its_time_has_passed(self, store: Store) -> None:
        store.claim(KEY, "one", now=100, until=200)
        assert store.claim(KEY, "one", now=190, until=400) is None
        assert store.claim(KEY, "two", now=399, until=500) == "one"
        assert store.claim(KEY, "two", now=400, until=500) is None

    def test_a_claim_goes_with_its_session(self, store: Store) -> None:
        store.claim(KEY, "one", now=100, until=10**12)
        store.delete(KEY)
        store.create(KEY, at=1)
        assert store.claim(KEY, "two", now=101, until=200) is None
