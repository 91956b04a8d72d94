"""The words of a session in a SQLite file: caught up before a search, in batches, and gone with their session.

Few of them are looked through one by one, many have a table of FTS5.
"""

import re
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from clew.errors import DamagedStore, NewerSchema, StoreError
from clew.recall.message import ROLES, role, searchable
from clew.recall.terms import VERSION, spaced
from clew.store.audit import Indexed
from clew.store.inmemory_search import Spoken, WordScan
from clew.store.port import Phrase, Search
from clew.store.rank import Index
from clew.store.sql import migrations, queries
from clew.transcript import Said, decode

SQL = queries("sqlite-search")
BATCH = 2000
"""Entries that are taken into the index in one transaction, so that other writers get their turn."""
SCANNED = 1_000_000
"""Characters of terms up to which a session is looked through word by word: some thousand messages, in milliseconds."""
_TABLES = tuple(
    re.sub(r"^CREATE (TABLE|INDEX)", r"CREATE \1 IF NOT EXISTS", statement, flags=re.MULTILINE)
    for statement in migrations("sqlite")[3]
)
"""What makes those of the index's tables that are missing."""
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


class Reached(NamedTuple):
    """How far the index knows a session, and in what form."""

    seq: int = 0
    size: int = 0
    """Characters of its terms."""
    latest: int = 0
    """The greatest time of a message."""
    tabled: int = 0
    """1 where its words have a table of their own."""


def reached(db: sqlite3.Connection, session: int) -> Reached:
    """How far the index knows a session; nothing of it also where other rules made it."""
    found = db.execute(SQL["reached"], {"session": session, "version": VERSION}).fetchone()
    return Reached(*found) if found else Reached()


def last(db: sqlite3.Connection, session: int) -> int:
    """The `seq` of a session's last entry, 0 without one. A damaged row may say another."""
    return int(db.execute(SQL["last"], {"session": session}).fetchone()[0])


def audited(db: sqlite3.Connection, session: int) -> Indexed:
    """What the index holds of a session, and where it disagrees with itself."""
    here = reached(db, session)
    if here.tabled:
        roles = {one: _said_by(db, session, one) for one in ROLES}
        count, at, latest, length = db.execute(SQL["audit_spoken"], {"session": session}).fetchone()
        # The table gives no texts back: a term has a character at least, and a blank behind it but for the last one.
        wrong = here.size < length - count or count != sum(roles.values()) or here.latest != max(at, latest)
    else:
        found = db.execute(SQL["audit_sayings"], {"session": session}).fetchall()
        roles = {role: count for role, count, _, _ in found}
        sums = sum(size for _, _, size, _ in found), max([0, *(at for *_, at in found)])
        wrong = here.seq > 0 and sums != (here.size, here.latest)
    faults = ("what search counts of its messages, their words and times is not what it holds",) if wrong else ()
    return Indexed(here.seq, roles, faults)


def _said_by(db: sqlite3.Connection, session: int, role: str) -> int:
    return int(db.execute(_of("audit_words", session), {"match": f"role : {_quoted(role)}"}).fetchone()[0])


def unread(db: sqlite3.Connection, session: int) -> Unread:
    """The next batch for the index."""
    after, rows, size = reached(db, session).seq, [], 0
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
        except (DamagedStore, NewerSchema):
            continue
        if isinstance(entry.body, Said):
            message = entry.body.message
            said = spaced(searchable(message))
            rows.append({"seq": seq, "at": entry.at, "role": role(message), "said": said})
    return rows


def add(db: sqlite3.Connection, session: int, batch: Unread, rows: list[dict[str, Any]]) -> None:
    """Take a batch into the index; nothing happens where another has been faster. Raises StoreError without FTS5."""
    here = reached(db, session)
    if here.seq != batch.after:
        return
    if batch.after == 0:
        forget(db, session)
    size = here.size + sum(len(row["said"]) for row in rows)
    if size > SCANNED and not here.tabled:
        rows = [*_sayings(db, session), *rows]
        _make_table(db, session)
        here = Reached(tabled=1)
    if here.tabled:
        latest = _add_words(db, session, here.latest, rows)
    else:
        latest = max([here.latest, *(row["at"] for row in rows)])
        db.executemany(SQL["add_sayings"], [row | {"session": session} for row in rows])
    now = Reached(batch.last, size, latest, here.tabled)
    db.execute(SQL["reach"], {"session": session, "version": VERSION, **now._asdict()})


def forget(db: sqlite3.Connection, session: int) -> None:
    """Take a session out of the index. Tables of it that are missing are made again: they hold nothing to lose."""
    for statement in _TABLES:
        db.execute(statement)
    try:
        db.execute(_of("drop", session))
    except sqlite3.DatabaseError as error:
        if "vtable constructor failed" not in str(error):
            raise
        _tear_out(db, session)
    for query in ("forget_sayings", "forget_spoken", "forget_searched"):
        db.execute(SQL[query], {"session": session})


def _tear_out(db: sqlite3.Connection, session: int) -> None:
    """Take a table of words away that FTS5 cannot open, and so not drop: its entry in the schema, then what it kept its
    words in, plain tables from then on."""
    db.execute("PRAGMA writable_schema = ON")
    try:
        db.execute(SQL["tear_out"], {"name": f"words_{session}"})
    finally:
        db.execute("PRAGMA writable_schema = RESET")
    for part in ("data", "idx", "config", "docsize", "content"):
        db.execute(f"DROP TABLE IF EXISTS words_{session}_{part}")


def index(db: sqlite3.Connection, session: int, wanted: Search) -> Index:
    """What the index says of a session's messages that pass a search's filters."""
    here = reached(db, session)
    if here.tabled:
        return WordTable(db, session, here.seq, wanted)
    return WordScan([Spoken(**row) for row in _sayings(db, session)], wanted)


def _sayings(db: sqlite3.Connection, session: int) -> list[dict[str, Any]]:
    found = db.execute(SQL["sayings"], {"session": session})
    return [{"seq": seq, "at": at, "role": role, "said": said} for seq, at, role, said in found]


def _make_table(db: sqlite3.Connection, session: int) -> None:
    if not db.execute(SQL["fts5"]).fetchone():
        raise StoreError(
            "This SQLite was built without FTS5, which searching a long session needs; nothing was written. "
            "Use a Python whose SQLite has it."
        )
    db.execute(SQL["forget_sayings"], {"session": session})
    db.execute(_of("make", session))


def _add_words(db: sqlite3.Connection, session: int, latest: int, rows: Sequence[dict[str, Any]]) -> int:
    """Put messages into the session's table and return the greatest time so far."""
    facts = []
    for row in rows:
        latest = max(latest, row["at"])
        length = row["said"].count(" ") + 1
        facts.append({"session": session, "seq": row["seq"], "at": row["at"], "latest": latest, "terms": length})
    db.executemany(_of("add_words", session), rows)
    db.executemany(SQL["add_spoken"], facts)
    return latest


class WordTable:
    """One session's table of words, for the messages that pass one search's filters. See `clew.store.rank.Index`."""

    def __init__(self, db: sqlite3.Connection, session: int, last: int, wanted: Search) -> None:
        self._db, self._session, self._wanted = db, session, wanted
        last = last if wanted.before is None else min(last, wanted.before - 1)
        first = 1 if wanted.since is None else self._bound("first_since", last + 1)
        last = last if wanted.until is None else min(last, self._bound("last_until", 0))
        self._bounds = self._times() | {"first": first, "last": last}
        self._query = "newest" if wanted.since is None and wanted.until is None else "newest_at"

    def newest(self, limit: int, any_of: Sequence[Phrase], all_of: Sequence[Phrase] = ()) -> list[int]:
        """See the port."""
        wanted = self._bounds | {"match": _expression(any_of, all_of, self._wanted), "limit": limit}
        return [seq for (seq,) in self._db.execute(_of(self._query, self._session), wanted)]

    def lengths(self, seqs: Sequence[int]) -> dict[int, int]:
        """See the port."""
        return dict(self._db.execute(SQL["lengths"], {"session": self._session, "seqs": json_list(seqs)}))

    def _bound(self, query: str, otherwise: int) -> int:
        found = self._db.execute(SQL[query], self._times()).fetchone()
        return int(found[0]) if found else otherwise

    def _times(self) -> dict[str, Any]:
        return {"session": self._session, "since": self._wanted.since, "until": self._wanted.until}


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
