"""A whole history brought in: once, sized, its older briefs given ledgers, its window where the source left it."""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from clew.clock import NewId, Now
from clew.compact.ledger import gather
from clew.errors import BadInput, SessionExists
from clew.runtime import books, engine_host, house, notetaking, pruning
from clew.runtime.compaction import LATCH
from clew.runtime.lane import is_dead, owner
from clew.store import archive
from clew.store.archive import Imported
from clew.store.port import Draft, SessionRow, Store
from clew.tokens import estimate
from clew.transcript import Compaction, Entry, Ledger, Reset, Said, Undo

UNFINISHED = "importing"
"""The fact in a session's row that names who is importing it: a crash leaves it, and the next import clears up."""

TIP = "tip"
"""The fact that names the entry its source went on from."""

NOT_TAKEN = (
    books.FACT, pruning.FACT, notetaking.FACT, house.LEARNT, LATCH, engine_host.FACT, UNFINISHED, TIP,
)  # fmt: skip
"""Facts of the session in a file that are not this one's: money it did not spend, caches it did not touch, windows and
troubles of other days, an import that is not under way. What describes the conversation is taken over."""

IMPORT_POLL_S = 0.2
"""Seconds between two looks at an import of the same file by another process."""


class Arrival(msgspec.Struct, frozen=True):
    """A conversation brought into the store."""

    key: str
    imported: Imported
    tokens: int
    """The estimated size of all of it."""
    again: bool = False
    """True where the same file was there already: nothing was stored twice."""
    added: int | None = None
    """How many entries were added to a session that an earlier state of the file is; None for a new session."""


def bring(
    store: Store,
    path: Path,
    *,
    now: Now,
    new_id: NewId,
    key: str | None = None,
    format: str = "auto",
    index: int | str = 0,
) -> Arrival:
    """Import a file. The same file brought twice is found again and stored once. Raises BadInput, SessionExists."""
    imported = archive.read(path, format, index=index)
    if not any(isinstance(draft.body, Said | Compaction) for draft in imported.drafts):
        raise BadInput(f"{path.name} holds no message in the format {imported.format}; nothing was changed.")
    digest = _digest(path, f"{index}:{imported.format}")
    # The key is chosen before the look for the file: whoever brings it in after the look takes the same key first.
    chosen = key or _free_key(store, f"{imported.format}:{imported.meta.get('session') or path.name.split('.')[0]}")
    if known := _known(store, digest, key):
        return Arrival(known.key, imported, known.meta.get("tokens", 0), again=True)
    drafts = with_ledgers(with_sizes(imported.drafts))
    tokens = sum(draft.tokens for draft in drafts)
    meta = {**_described(imported.meta), "format": imported.format, "digest": digest, "tokens": tokens}
    if (grown := _grown(store, imported, key)) and (added := extend(store, grown.key, drafts, meta)) >= 0:
        return Arrival(grown.key, imported, tokens, added=added)
    try:
        settle(store, chosen, drafts, at=now(), meta=meta, by=owner(new_id()))
    except SessionExists:
        if key:
            raise
        # Another process was faster: it is there by now.
        return bring(store, path, now=now, new_id=new_id, format=format, index=index)
    return Arrival(chosen, imported, tokens)


def _described(meta: dict[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in meta.items() if name not in NOT_TAKEN}


def _known(store: Store, digest: str, key: str | None) -> SessionRow | None:
    """The session this file was brought into before (under this key, where one is named).

    One that another process is bringing in is waited for; one that a crash cut short is taken away.
    """
    while rows := [r for r in store.sessions() if r.meta.get("digest") == digest and key in (None, r.key)]:
        if not (by := rows[0].meta.get(UNFINISHED)):
            return rows[0]
        if is_dead(str(by)):
            store.delete(rows[0].key)
        else:
            time.sleep(IMPORT_POLL_S)
    return None


def _grown(store: Store, imported: Imported, key: str | None) -> SessionRow | None:
    """The session an earlier state of the same conversation was brought into."""
    source = imported.meta.get("session")
    wanted = {"session": source, "format": imported.format}
    rows = store.sessions() if source else []
    return next((r for r in rows if wanted.items() <= r.meta.items() and key in (None, r.key)), None)


def _free_key(store: Store, wanted: str) -> str:
    taken = {row.key for row in store.sessions(prefix=wanted)}
    return next(key for n in range(1, len(taken) + 2) if (key := wanted if n == 1 else f"{wanted}-{n}") not in taken)


def _digest(path: Path, taken: str) -> str:
    """What a file is known by, so that it is stored once: the hash of its bytes, and what was taken of it, as what."""
    with path.open("rb") as file:
        return f"{hashlib.file_digest(file, 'sha256').hexdigest()}:{taken}"


def with_sizes(drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts with their estimated sizes."""
    return [d if d.tokens else msgspec.structs.replace(d, tokens=estimate.entry(entry_of(d))) for d in drafts]


def with_ledgers(drafts: Sequence[Draft]) -> list[Draft]:
    """Drafts whose compactions carry the ledger of all they stand for, so that the next one loses nothing of it."""
    since, filled, boundaries = 0, [], []  # type: int, list[Draft], list[Draft]
    for index, draft in enumerate(drafts):
        if draft.leaf and isinstance(body := draft.body, Compaction):
            before = [entry_of(one) for one in drafts[since:index] if one.leaf]
            body = _linked(body, boundaries[-1] if boundaries else None)
            if body.ledger == Ledger():
                body = msgspec.structs.replace(body, ledger=gather(before, filled_ledger(filled)))
            draft, since = msgspec.structs.replace(draft, body=body), index + 1
        if draft.leaf and isinstance(draft.body, Compaction | Reset | Undo):
            boundaries = _after(boundaries, draft)
        filled.append(draft)
    return filled


def _linked(body: Compaction, before: Draft | None) -> Compaction:
    """A compaction that names the boundary it took up, so that it can be taken back to it."""
    return msgspec.structs.replace(body, previous=before.id) if before and body.previous is None else body


def filled_ledger(drafts: Sequence[Draft]) -> Ledger | None:
    """The ledger of the newest compaction among drafts."""
    return next((d.body.ledger for d in reversed(drafts) if d.leaf and isinstance(d.body, Compaction)), None)


def settle(store: Store, key: str, drafts: Sequence[Draft], *, at: int, meta: dict[str, Any], by: str) -> None:
    """Store a history under a new key, compactions, resets and undos moving the window as they did in the source.

    A failure takes the half-made session away again; a crash leaves it marked with who made it (`by`).
    """
    store.create(key, at=at, meta={**meta, UNFINISHED: by})
    try:
        _fill(store, key, drafts)
        store.describe(key, {UNFINISHED: None, TIP: tip(drafts)})
    except BaseException:
        store.delete(key)
        raise


def tip(drafts: Sequence[Draft]) -> str | None:
    """The entry the source goes on from."""
    return next((draft.id for draft in reversed(drafts) if draft.leaf), None)


def extend(store: Store, key: str, drafts: Sequence[Draft], meta: dict[str, Any]) -> int:
    """Add to a session what its source has gained since it was brought in; how many entries that is.

    What followed the source's last entry then follows the session's leaf now, behind its compactions and pins. Returns
    -1, and stores nothing, where the source no longer holds that entry: it was rewritten.
    """
    last = store.session(key).meta.get(TIP)
    if last is None or all(draft.id != last for draft in drafts):
        return -1
    known = {record.entry.id for record in store.entries(key)}
    fresh = [
        msgspec.structs.replace(draft, parent=msgspec.UNSET) if draft.parent == last and draft.leaf else draft
        for draft in drafts
        if draft.id not in known
    ]
    _fill(store, key, fresh)
    store.describe(key, {**meta, TIP: tip(drafts)})
    return len(fresh)


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
