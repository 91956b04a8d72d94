"""What every store must do with turns that a context engine has still to take over."""

import msgspec
import pytest

from clew.errors import BadInput, UnknownSession
from clew.store.port import Owed, Store
from clew.testing.scene import KEY, said, state


def owed(turn: str, last: str, **more: object) -> Owed:
    """A turn of one entry, or of two."""
    return msgspec.structs.replace(Owed(KEY, turn, "mine", turn, last, at=1000), **more)


class OwedContract:
    """A part of `clew.testing.StoreContract`."""

    def test_a_turn_is_owed_from_its_last_entry_on_until_it_is_settled(self, store: Store) -> None:
        store.append(KEY, [said("a")])
        store.append(KEY, [said("b")], owed=owed("a", "b"))
        assert store.owed() == store.owed(KEY) == [owed("a", "b")]
        store.settle(KEY, "a")
        store.settle(KEY, "a")
        assert store.owed() == []

    def test_turns_are_handed_out_in_the_order_they_ended(self, store: Store) -> None:
        for name in "dbca":
            store.append(KEY, [said(name)], owed=owed(name, name))
        assert [one.turn for one in store.owed(KEY)] == list("dbca")

    def test_of_a_call_that_fails_nothing_is_owed(self, store: Store) -> None:
        before = state(store)
        with pytest.raises(BadInput):
            store.append(KEY, [said("a"), said("a")], owed=owed("a", "a"))
        assert (state(store), store.owed()) == (before, [])

    def test_a_failure_is_counted_and_keeps_its_place(self, store: Store) -> None:
        store.append(KEY, [said("a")], owed=owed("a", "a"))
        store.append(KEY, [said("b")], owed=owed("b", "b"))
        store.settle(KEY, "a", error="no disk")
        store.settle(KEY, "a", error="no \ud83d disk", blocked=True)
        first, second = store.owed(KEY)
        assert (first.turn, first.attempts, first.blocked, "disk" in first.error) == ("a", 2, True, True)
        assert second == owed("b", "b")

    def test_blocked_turns_are_tried_again_when_asked_for(self, store: Store) -> None:
        store.append(KEY, [said("a")], owed=owed("a", "a"))
        store.settle(KEY, "a", error="gone", blocked=True)
        assert (store.reopen(KEY), store.reopen(KEY)) == (1, 0)
        assert store.owed(KEY) == [owed("a", "a", error="gone")]

    def test_the_same_turn_twice_is_owed_once_and_another_under_its_name_is_refused(self, store: Store) -> None:
        store.append(KEY, [said("a")], owed=owed("a", "a"))
        store.append(KEY, [], owed=owed("a", "a", at=2000))
        assert store.owed() == [owed("a", "a")]
        before = state(store)
        with pytest.raises(BadInput, match="mine"):
            store.append(KEY, [said("b")], owed=owed("a", "b"))
        assert (state(store), store.owed()) == (before, [owed("a", "a")])

    def test_deleting_a_session_takes_what_it_owes(self, store: Store) -> None:
        store.append(KEY, [said("a")], owed=owed("a", "a"))
        store.delete(KEY)
        assert store.owed() == []
        with pytest.raises(UnknownSession):
            store.settle(KEY, "a")
