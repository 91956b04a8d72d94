"""The index of a session's words in a SQLite file: caught up before a search, in batches, and gone with its session."""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from clew.errors import DamagedStore, StoreError
from clew.recall.message import ROLES, role, searchable
from clew.recall.terms import VERSION, spaced
from clew.store.port import Phrase, Search
from clew.store.sql import queries
from clew.transcript import Said, decode

SQL = queries("sqlite-search")
BATCH = 2000
"""Entries that are taken into the index in one transaction, so that other writers get their turn."""
BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of them, at most: tool results may be long."""


class Unread(NamedTuple):
    """Stored entries the index does not know yet, as they stand in the file."""

    after: int
    rows: list[tuple[int, str, int, bytes]]

    @property
    def last(self) -> int:
        """The `seq` of the last of them."""
        return self.rows[-1][0] if self.rows else self.after


def reached(db: sqlite3.Connection, session: int) -> int:
    """The `seq` up to which the index knows a session; 0 also where other rules made it."""
    found = db.execute(SQL["reached"], {"session": session, "version": VERSION}).fetchone()
    return int(found[0]) if found else 0


def unread(db: sqlite3.Connection, session: int) -> Unread:
    """The next batch for the index."""
    after, rows, size = reached(db, session), [], 0
    for row in db.execute(SQL["unread"], {"session": session, "after": after, "limit": BATCH}):
        rows.append(row)
        size += len(row[3])
        if size > BATCH_BYTES:
            break
    return Unread(after, rows)


def prepared(batch: Unread) -> list[dict[str, Any]]:
    """The messages of a batch as rows of the index: the slow part, for which nobody has to be kept from writing.

    An entry that is damaged is not found; whoever reads it is told.
    """
    rows = []
    for seq, kind, version, data in batch.rows:
        if kind != "message":
            continue
        try:
            entry = decode(data, schema=version)
        except DamagedStore:
            continue
        if isinstance(entry.body, Said):
            said = spaced(searchable(entry.body.message))
            who, length = role(entry.body.message), said.count(" ") + 1
            rows.append({"seq": seq, "said": said, "role": who, "at": entry.at, "terms": length})
    return rows


def add(db: sqlite3.Connection, session: int, batch: Unread, rows: Sequence[dict[str, Any]]) -> None:
    """Take a batch into the index; nothing happens where another has been faster. Raises StoreError without FTS5."""
    if reached(db, session) != batch.after:
        return
    if batch.after == 0:
        forget(db, session)
        if not db.execute(SQL["fts5"]).fetchone():
            raise StoreError("This SQLite was built without FTS5, which search needs; nothing was written.")
        db.execute(_of("make", session))
    db.executemany(_of("add_words", session), rows)
    db.executemany(SQL["add_spoken"], [row | {"session": session} for row in rows])
    db.execute(SQL["reach"], {"session": session, "seq": batch.last, "version": VERSION})


def forget(db: sqlite3.Connection, session: int) -> None:
    """Take a session out of the index."""
    db.execute(_of("drop", session))
    for query in ("forget_spoken", "forget_searched"):
        db.execute(SQL[query], {"session": session})


class WordIndex:
    """What the index says of one session's messages that pass one search's filters. See `clew.store.rank.Index`."""

    def __init__(self, db: sqlite3.Connection, session: int, last: int, wanted: Search) -> None:
        self._db, self._session, self._wanted = db, session, wanted
        bounds = {"session": session, "since": wanted.since, "until": wanted.until}
        first, last = 1, last if wanted.before is None else min(last, wanted.before - 1)
        if wanted.since is not None:
            first = db.execute(SQL["first_since"], bounds).fetchone()[0] or last + 1
        if wanted.until is not None:
            last = min(last, db.execute(SQL["last_until"], bounds).fetchone()[0] or 0)
        self._bounds = bounds | {"first": first, "last": last}
        self._query = "newest" if wanted.since is None and wanted.until is None else "newest_at"

    def newest(self, limit: int, any_of: Sequence[Phrase], all_of: Sequence[Phrase] = ()) -> list[int]:
        """See the port."""
        match = _expression(any_of, all_of, self._wanted)
        found = self._db.execute(_of(self._query, self._session), self._bounds | {"match": match, "limit": limit})
        return [seq for (seq,) in found]

    def lengths(self, seqs: Sequence[int]) -> dict[int, int]:
        """See the port."""
        return dict(self._db.execute(SQL["lengths"], {"session": self._session, "seqs": json_list(seqs)}))


def json_list(seqs: Sequence[int]) -> str:
    """Numbers as SQLite takes a list of them."""
    return msgspec.json.encode(list(seqs)).decode()


def _of(query: str, session: int) -> str:
    return SQL[query].replace("words_0", f"words_{session}")


def _expression(any_of: Sequence[Phrase], all_of: Sequence[Phrase], wanted: Search) -> str:
    """In FTS5's own language: https://sqlite.org/fts5.html#full_text_query_syntax"""
    parts = [_said(phrase) for phrase in all_of]
    if any_of:
        parts.append(" OR ".join(map(_said, any_of)))
    roles = wanted.roles or (() if parts else ROLES)
    if roles:
        parts.append(" OR ".join(f"role : {_quoted(one)}" for one in roles))
    matching = " AND ".join(f"({part})" for part in parts)
    return f"({matching}) NOT ({' OR '.join(map(_said, wanted.without))})" if wanted.without else matching


def _said(phrase: Phrase) -> str:
    return f"said : {_quoted(' '.join(phrase))}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
