"""A session to try stores on: drafts with few words, and the moves that shift its window."""

from typing import Any

from clew.store.port import Draft, Record, SessionRow, Slice, Store
from clew.transcript import Compaction, Ledger, Said, Undo, Verdict, user

KEY = "agent:main"
WORDS = "naïve 日本語 👩‍👩‍👧 \u202etfel \x00 end"
"""Accents, wide characters, a joined emoji, a direction mark, a zero byte: text that careless stores break."""


def said(id: str, text: str = "hello", **more: Any) -> Draft:
    """A message of ten tokens."""
    return Draft(id, more.pop("at", 1000), Said(user(text)), more.pop("tokens", 10), **more)


def brief(id: str, first_kept: str | None = None, **more: Any) -> Draft:
    """A compaction of five tokens."""
    body = Compaction(f"Brief {id}", first_kept, 100, 15, "manual", Verdict("accepted"), Ledger())
    return Draft(id, more.pop("at", 2000), body, 5, **more)


def undo(id: str, target: str) -> Draft:
    """A compaction taken back."""
    return Draft(id, 3000, Undo(target))


def wind_up(store: Store, id: str, start: str | None = None) -> Record:
    """Compact the session: a boundary `id`, the window from `start` on."""
    now = store.session(KEY).generation
    draft = brief(id, start)
    return store.commit(KEY, draft, generation=now, boundary=id, start=start, event="compaction", data={"id": id})


def take_back(store: Store, id: str, target: str, boundary: str | None, start: str | None) -> Record:
    """Undo a compaction: the window as it was."""
    now, draft = store.session(KEY).generation, undo(id, target)
    return store.commit(KEY, draft, generation=now, boundary=boundary, start=start, event="undo", data={"of": target})


def ids(records: Slice | list[Record]) -> list[str]:
    """The ids alone."""
    return [record.entry.id for record in (records.records if isinstance(records, Slice) else records)]


def state(store: Store) -> tuple[SessionRow, Slice, list[Record]]:
    """All there is to know of the session."""
    return store.session(KEY), store.window(KEY), list(store.entries(KEY))
