"""Transcripts in a SQLite file: what a machine of its own uses. Any number of threads and processes may share it."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Self

import msgspec

from clew.store import sqlite_search
from clew.store.audit import BEFORE_ALL, Indexed, Stored, stored, streamed
from clew.store.place import (
    PAGE,
    Known,
    Placed,
    appended,
    chosen,
    described,
    fresh,
    is_new,
    json_bytes,
    moved,
    named_by,
    named_by_move,
    pages,
    place,
    same_generation,
    session_exists,
    sliced,
    unknown_session,
    window_start,
)
from clew.store.port import Draft, Event, Found, Owed, Record, Search, SessionRow, Slice
from clew.store.rank import best, tidy
from clew.store.sql import queries
from clew.store.sqlite_file import SqliteFile
from clew.store.sqlite_rows import legible, record_of, session_row, sound
from clew.store.trim import at_least_one, cut_at, trimmed
from clew.transcript import SCHEMA, clean

SQL = queries("sqlite")
_ALL = -1
"""SQLite's word for no limit."""


class SqliteStore:
    """The store in one SQLite file; a missing file is made, folders and all.

    Raises ForeignStore, NewerSchema, DamagedStore or StoreError for a file it cannot use, which stays as it is.
    `busy_seconds` is how long one writer waits for another before StoreBusy.
    """

    def __init__(self, path: str | PathLike[str], *, busy_seconds: float = 10.0) -> None:
        self._file = SqliteFile(Path(path), busy_seconds)

    def create(self, key: str, *, at: int, meta: dict[str, Any] | None = None) -> SessionRow:
        """See the port."""
        row = fresh(key, at, meta)
        with self._file.writing() as db:
            if db.execute(SQL["session"], {"key": key}).fetchone():
                raise session_exists(key)
            ident = db.execute(SQL["create"], _columns(row) | {"meta": json_bytes(row.meta)}).lastrowid
            _happened(db, ident, at, "created", {})
        return row

    def session(self, key: str) -> SessionRow:
        """See the port."""
        with self._file.reading() as db:
            return sound(_session(db, key)[1])

    def sessions(
        self, *, prefix: str = "", active_since: int | None = None, limit: int | None = None
    ) -> list[SessionRow]:
        """See the port."""
        wanted = {"prefix": clean(prefix), "active_since": active_since, "limit": limit}
        with self._file.reading() as db:
            return [session_row(found) for found in db.execute(SQL["sessions"], wanted)]

    def audit(
        self, key: str, *, after: int = BEFORE_ALL, kind: str | None = None, ids: Sequence[str] | None = None
    ) -> Iterator[Stored]:
        """See `clew.store.audit.Audited`."""
        named = None if ids is None else json_bytes(list(ids)).decode()
        return streamed(partial(self._stored, key, {"kind": kind, "ids": named, "limit": PAGE}), after)

    def audit_index(self, key: str) -> Indexed:
        """See `clew.store.audit.Audited`."""
        with self._file.reading() as db:
            return sqlite_search.audited(db, _session(db, key)[0])

    def append(self, key: str, drafts: Sequence[Draft], *, owed: Owed | None = None) -> list[Record]:
        """See the port."""
        with self._file.writing() as db:
            ident, row = _session(db, key)
            placed = place(row, drafts, _known(db, ident, named_by(drafts)))
            _insert(db, ident, placed)
            _update(db, ident, appended(row, placed))
            if owed is not None:
                found = db.execute(SQL["owed_turn"], {"key": key, "turn": owed.turn}).fetchone()
                if is_new(_owed(found) if found else None, owed):
                    db.execute(SQL["owe"], msgspec.structs.asdict(owed) | {"session": ident})
        return [one.record for one in placed]

    def owed(self, key: str | None = None) -> list[Owed]:
        """See the port."""
        with self._file.reading() as db:
            return [_owed(found) for found in db.execute(SQL["owed"], {"key": None if key is None else clean(key)})]

    def settle(self, key: str, turn: str, *, error: str | None = None, blocked: bool = False) -> None:
        """See the port."""
        with self._file.writing() as db:
            ident, _ = _session(db, key)
            wanted = {"session": ident, "turn": turn, "error": clean(error or ""), "blocked": int(blocked)}
            db.execute(SQL["settled" if error is None else "unsettled"], wanted)

    def reopen(self, key: str) -> int:
        """See the port."""
        with self._file.writing() as db:
            ident, _ = _session(db, key)
            return db.execute(SQL["reopened"], {"session": ident}).rowcount

    def commit(
        self,
        key: str,
        draft: Draft,
        *,
        generation: int,
        boundary: str | None,
        start: str | None,
        event: str,
        data: dict[str, Any],
    ) -> Record:
        """See the port."""
        with self._file.writing() as db:
            ident, row = _session(db, key)
            same_generation(row, generation)
            known = _known(db, ident, named_by_move(draft, boundary, start))
            [one] = place(row, [draft], known)
            first = window_start(one, known, boundary, start)
            _insert(db, ident, [one])
            sums = db.execute(SQL["sums"], {"session": ident, "start": first, "boundary": boundary}).fetchone()
            _update(db, ident, moved(row, one, known, boundary=boundary, start=first, sums=sums))
            _happened(db, ident, draft.at, event, data)
        return one.record

    def describe(self, key: str, meta: dict[str, Any]) -> None:
        """See the port."""
        with self._file.writing() as db:
            ident, row = _session(db, key)
            db.execute(SQL["describe"], {"session": ident, "meta": json_bytes(described(sound(row), meta))})

    def window(self, key: str) -> Slice:
        """See the port."""
        with self._file.reading() as db:
            ident, row = _session(db, key)
            boundary = _many(db, ident, [row.boundary]).get(row.boundary) if row.boundary else None
            return sliced(sound(row), _page(db, ident, row.start - 1, _ALL), boundary)

    def entries(self, key: str, *, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """See the port."""
        with self._file.reading() as db:
            _session(db, key)
        return pages(partial(self._read, key), after, limit)

    def entry(self, key: str, name: str) -> Record:
        """See the port."""
        with self._file.reading() as db:
            ident, _ = _session(db, key)
            found = _records(db, "named", {"session": ident, "name": clean(name)})
        return chosen(name, [(key, record) for record in found])[1]

    def entry_many(self, key: str, ids: Sequence[str]) -> dict[str, Record]:
        """See the port."""
        with self._file.reading() as db:
            ident, _ = _session(db, key)
            return _many(db, ident, ids)

    def compactions(self, key: str) -> list[Record]:
        """See the port."""
        with self._file.reading() as db:
            ident, _ = _session(db, key)
            return _records(db, "compactions", {"session": ident})

    def find_compaction(self, name: str) -> tuple[str, Record]:
        """See the port."""
        with self._file.reading() as db:
            found = [(key, record_of(rest)) for key, *rest in db.execute(SQL["find_compaction"], {"name": clean(name)})]
        return chosen(name, found)

    def search(self, key: str, wanted: Search) -> list[Found]:
        """See the port."""
        wanted = tidy(wanted)
        self._catch_up(key)
        with self._file.reading() as db:
            ident, row = _session(db, key)
            index, limit = sqlite_search.index(db, ident, wanted), wanted.limit
            while True:
                fits = best(index, msgspec.structs.replace(wanted, limit=limit), row.entries)
                seqs = sqlite_search.json_list([seq for seq, _ in fits])
                records = legible(db.execute(sqlite_search.SQL["records"], {"session": ident, "seqs": seqs}))
                found = [Found(records[seq], score) for seq, score in fits if seq in records]
                if len(found) >= wanted.limit or len(fits) < limit:
                    return found[: wanted.limit]
                limit += wanted.limit - len(found)  # others in the place of those that cannot be read

    def indexed(self, key: str) -> tuple[int, int]:
        """See the port."""
        with self._file.reading() as db:
            ident, _ = _session(db, key)
            return sqlite_search.reached(db, ident).seq, sqlite_search.last(db, ident)

    def reindex(self, key: str) -> int:
        """See the port."""
        with self._file.writing() as db:
            ident, _ = _session(db, key)
            sqlite_search.forget(db, ident)
        self._catch_up(key)
        return self.indexed(key)[0]

    def events(self, key: str | None = None, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """See the port."""
        query, wanted = ("events", {}) if key is None else ("events_of", {"key": clean(key)})
        with self._file.reading() as db:
            found = db.execute(SQL[query], {"after": after, "limit": limit, **wanted}).fetchall()
        return [Event(seq, owner, at, kind, msgspec.json.decode(data)) for seq, owner, at, kind, data in found]

    def claim(self, key: str, owner: str, *, now: int, until: int) -> str | None:
        """See the port."""
        with self._file.writing(lasting=False) as db:  # a claim is of a process, and gone with it
            ident, _ = _session(db, key)
            db.execute(SQL["claim"], {"session": ident, "owner": owner, "now": now, "until": until})
            (holder,) = db.execute(SQL["holder"], {"session": ident}).fetchone()
            return None if holder == owner else str(holder)

    def release(self, key: str, owner: str) -> None:
        """See the port."""
        with self._file.writing(lasting=False) as db:
            ident, _ = _session(db, key)
            db.execute(SQL["release"], {"session": ident, "owner": owner})

    def trim(self, key: str, keep: int, *, at: int) -> int:
        """See the port."""
        at_least_one(keep)
        with self._file.writing() as db:
            ident, row = _session(db, key)
            records = _page(db, ident, 0, _ALL)
            if not (cut := cut_at(records, keep, row.leaf)):
                return 0
            done = trimmed(row, records, cut, at)
            for query in ("cut_off", "lifted", "lowered"):
                db.execute(SQL[query], {"session": ident, "cut": cut})
            mended = ({"session": ident, "seq": one.record.seq, "size": one.record.size, "version": SCHEMA,
                       "data": one.data} for one in done.mended)  # fmt: skip
            db.executemany(SQL["mended"], mended)
            _update(db, ident, done.row)
            db.execute(SQL["owed_no_more"], {"session": ident})
            sqlite_search.forget(db, ident)
            _happened(db, ident, at, "trim", {"removed": cut, "kept": len(done.records)})
        return cut

    def delete(self, key: str) -> None:
        """See the port."""
        with self._file.writing() as db:
            ident, _ = _session(db, key)
            sqlite_search.forget(db, ident)
            db.execute(SQL["delete"], {"session": ident})

    def close(self) -> None:
        """See the port."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _catch_up(self, key: str) -> None:
        """Bring the index of a session up to where the session is now; what is stored meanwhile is for the next call.

        Each batch is read and turned into terms first, and only then is everybody else kept from writing.
        """
        goal: int | None = None
        while True:
            with self._file.reading() as db:
                ident, _ = _session(db, key)
                goal = sqlite_search.last(db, ident) if goal is None else goal
                batch = sqlite_search.unread(db, ident)
            if batch.after >= goal or not batch.rows:
                return
            rows = sqlite_search.prepared(batch)
            with self._file.writing() as db:
                if _session(db, key)[0] == ident:
                    sqlite_search.add(db, ident, batch, rows)

    def _read(self, key: str, after: int, limit: int) -> list[Record]:
        with self._file.reading() as db:
            ident, _ = _session(db, key)
            return _page(db, ident, after, limit)

    def _stored(self, key: str, wanted: dict[str, Any], after: int) -> list[Stored]:
        with self._file.reading() as db:
            ident, _ = _session(db, key)
            return [stored(*found) for found in db.execute(SQL["audit"], wanted | {"session": ident, "after": after})]


def _session(db: sqlite3.Connection, key: str) -> tuple[int, SessionRow]:
    """A session's number in the tables, and its row. A key with a lone surrogate is looked for, and not found."""
    found = db.execute(SQL["session"], {"key": clean(key)}).fetchone()
    if found is None or found[1] != key:
        raise unknown_session(key)
    return found[0], session_row(found)


def _columns(row: SessionRow) -> dict[str, Any]:
    columns = msgspec.structs.asdict(row)
    del columns["meta"]
    return columns


def _update(db: sqlite3.Connection, ident: int, row: SessionRow) -> None:
    db.execute(SQL["update"], _columns(row) | {"session": ident})


def _known(db: sqlite3.Connection, ident: int, names: Iterable[str]) -> dict[str, Known]:
    found = db.execute(SQL["known"], {"session": ident, "ids": json_bytes(list(names)).decode()})
    return {name: Known(seq, kind) for name, seq, kind in found}


def _insert(db: sqlite3.Connection, ident: int, placed: Sequence[Placed]) -> None:
    db.executemany(
        SQL["insert"],
        (
            {
                "session": ident, "seq": one.record.seq, "id": one.record.entry.id, "kind": one.kind,
                "tokens": one.record.tokens, "size": one.record.size, "version": SCHEMA, "data": one.data,
            }
            for one in placed
        ),
    )  # fmt: skip


def _page(db: sqlite3.Connection, ident: int, after: int, limit: int) -> list[Record]:
    return _records(db, "page", {"session": ident, "after": after, "limit": limit})


def _many(db: sqlite3.Connection, ident: int, ids: Sequence[str]) -> dict[str, Record]:
    found = _records(db, "many", {"session": ident, "ids": json_bytes(list(ids)).decode()})
    return {record.entry.id: record for record in found}


def _records(db: sqlite3.Connection, query: str, wanted: dict[str, Any]) -> list[Record]:
    return [record_of(found) for found in db.execute(SQL[query], wanted)]


def _owed(found: Sequence[Any]) -> Owed:
    columns = dict(zip(Owed.__struct_fields__, found, strict=True))
    return Owed(**columns | {"blocked": bool(columns["blocked"])})


def _happened(db: sqlite3.Connection, ident: int | None, at: int, kind: str, data: dict[str, Any]) -> None:
    db.execute(SQL["happened"], {"session": ident, "at": at, "kind": kind, "data": json_bytes(data)})
