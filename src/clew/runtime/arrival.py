"""A whole history stored at once: sized, its older briefs given ledgers, its window set where the source left it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from clew.compact.ledger import gather
from clew.store.port import Draft, Store
from clew.tokens import estimate
from clew.transcript import Compaction, Entry, Ledger, Reset, Undo

UNFINISHED = "importing"
"""The fact in a session's row that says its import has not ended: a crash leaves it, and the next import clears up."""


def with_sizes(drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts with their estimated sizes."""
    return [d if d.tokens else msgspec.structs.replace(d, tokens=estimate.entry(entry_of(d))) for d in drafts]


def with_ledgers(drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts whose compactions carry the ledger of all they stand for, so that the next one loses nothing of it."""
    ledger, since, filled = Ledger(), 0, []  # type: Ledger, int, list[Draft]
    for index, draft in enumerate(drafts):
        if draft.leaf and isinstance(body := draft.body, Compaction):
            ledger = body.ledger
            if ledger == Ledger():
                before = [entry_of(one) for one in drafts[since:index] if one.leaf]
                ledger = gather(before, filled_ledger(filled))
                draft = msgspec.structs.replace(draft, body=msgspec.structs.replace(body, ledger=ledger))
            since = index + 1
        filled.append(draft)
    return filled


def filled_ledger(drafts: Sequence[Draft]) -> Ledger | None:
    """The ledger of the newest compaction among drafts."""
    return next((d.body.ledger for d in reversed(drafts) if d.leaf and isinstance(d.body, Compaction)), None)


def settle(store: Store, key: str, drafts: Sequence[Draft], *, at: int, meta: dict[str, Any]) -> None:
    """Store a history under a new key, compactions, resets and undos moving the window as they did in the source.

    A failure takes the half-made session away again; a crash leaves it marked as unfinished.
    """
    store.create(key, at=at, meta={**meta, UNFINISHED: True})
    try:
        _fill(store, key, drafts)
        store.describe(key, {UNFINISHED: None})
    except BaseException:
        store.delete(key)
        raise


def _fill(store: Store, key: str, drafts: Sequence[Draft]) -> None:
    waiting: list[Draft] = []
    boundaries: list[Draft] = []
    for draft in drafts:
        if not (draft.leaf and isinstance(draft.body, Compaction | Reset | Undo)):
            waiting.append(draft)
            continue
        store.append(key, waiting)
        waiting, boundaries = [], _after(boundaries, draft)
        newest = boundaries[-1] if boundaries else None
        store.commit(
            key,
            draft,
            generation=store.session(key).generation,
            boundary=newest.id if newest else None,
            start=newest.body.first_kept if newest and isinstance(newest.body, Compaction | Reset) else None,
            event="imported",
            data={},
        )
    store.append(key, waiting)


def _after(boundaries: Sequence[Draft], draft: Draft) -> list[Draft]:
    """The boundaries that stand once a draft is stored."""
    if isinstance(draft.body, Undo):
        return [boundary for boundary in boundaries if boundary.id != draft.body.target]
    return [*boundaries, draft]


def entry_of(draft: Draft) -> Entry:
    """A draft as the entry it will be, without its place."""
    return Entry(draft.id, None, draft.at, draft.body)
