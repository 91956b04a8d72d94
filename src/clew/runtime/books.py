"""The account of a session while it is worked on: fed by events, kept with the session's small facts.

What happened is gathered in memory and added to what is stored once a turn, by whoever holds the session: a request
pays nothing for it, and two processes that take turns on a session add up.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clew.runtime import events
from clew.runtime.events import Event
from clew.store.port import Store
from clew.tokens.billing import Account, Billing, Pricing
from clew.transcript import Compaction

FACT = "cost"
"""Under which a session's row remembers its account."""

PriceOf = Callable[[str], Pricing | None]
"""What the model of a name costs; None where that is not known."""


def account_in(meta: Mapping[str, Any]) -> Account:
    """The account among a session's small facts; an empty one where there is none, or none that can be read.

    An account is no part of the conversation: one that an import brought damaged must not stop a session.
    """
    try:
        return msgspec.convert(meta.get(FACT, {}), Account)
    except msgspec.ValidationError:
        return Account()


class Books:
    """Keeps the account of one session."""

    def __init__(self, store: Store, key: str, price: PriceOf) -> None:
        self._store, self._key, self.price = store, key, price
        self._new: Account | None = None
        self._start, self._began = Account(), ""
        self._freed, self._id, self._own = 0, "", Billing()

    def total(self) -> Account:
        """The account with what was not stored yet."""
        row = self._store.session(self._key)
        stored = account_in(row.meta)
        return stored.merge(self._new, began=self._began, boundary=row.boundary) if self._new else stored

    def __call__(self, event: Event) -> None:
        """Take one event in. What a shortening freed counts with the break of the prefix that follows it."""
        match event:
            case events.Answered():
                self.spent(events.Spent("turn", event.model, event.usage))
            case events.Spent():
                self.spent(event)
            case events.Asking() | events.Compacting():
                self._here()  # while the view starts where the request's does, or where the compaction's did
            case events.Trimmed():
                self._freed, self._id = event.tokens, event.id
            case events.Compacted() if event.outcome == "compacted":
                self._freed, self._id = event.tokens_before - event.tokens_after, event.id
            case events.PrefixBreak():
                self.broke(event.cause)

    def spent(self, event: events.Spent) -> None:
        """A request was answered, or lost."""
        price = self.price(event.model)
        self._new = self._open().spend(event.model, event.purpose, event.usage, price)
        if event.purpose == "compaction":
            self._own = self._own.add(event.usage, price)

    def compacted(self, id: str, body: Compaction) -> None:
        """A compaction was committed: the next request starts from its brief."""
        self._open(body.previous)
        self._freed, self._id = body.tokens_before - body.tokens_after, id
        self.broke("compaction")

    def broke(self, cause: str) -> None:
        """The next request does not extend the one before."""
        own, self._own = (self._own, Billing()) if cause == "compaction" else (Billing(), self._own)
        before = self._open() if cause == "compaction" else self._here()
        self._new = before.broke(cause, freed=self._freed, id=self._id, own=own)
        self._freed, self._id = 0, ""

    def save(self) -> None:
        """Add what is new to what is stored."""
        if self._new is not None and self._new != self._start:
            self._store.describe(self._key, {FACT: msgspec.to_builtins(self.total())})
        self._new = None

    def _here(self) -> Account:
        """What is new so far, on the view as it starts now: another process may have compacted it meanwhile."""
        if self._new is not None and self._new.newest != (self._store.session(self._key).boundary or ""):
            self.save()
        return self._open()

    def _open(self, *boundary: str | None) -> Account:
        """What is new so far; the first entry of a turn goes on from what is stored, on the view as it starts now.

        Around a compaction the view is one that starts elsewhere: the `boundary` before it is given, or was taken.
        """
        if self._new is None:
            row = self._store.session(self._key)
            stored = account_in(row.meta)
            self._began, self._start = stored.newest, stored.carried(*boundary or (row.boundary,))
            self._new = self._start
        return self._new
