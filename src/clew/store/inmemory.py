"""Transcripts in memory: the twin for tests and for programs that keep nothing. Gone when the process ends."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Self

import msgspec

from clew.errors import StoreError
from clew.store.audit import BEFORE_ALL, Indexed, Stored, sound
from clew.store.inmemory_search import Spoken, WordScan, spoken
from clew.store.place import (
    Known,
    Placed,
    appended,
    chosen,
    described,
    fresh,
    is_new,
    json_value,
    moved,
    named_by,
    named_by_move,
    pages,
    place,
    same_generation,
    session_exists,
    shown,
    sliced,
    unknown_session,
    window_start,
)
from clew.store.port import Draft, Event, Found, Owed, Record, Search, SessionRow, Slice
from clew.store.rank import best, tidy
from clew.store.trim import at_least_one, cut_at, trimmed
from clew.transcript import Compaction, kind_of


class _Session:
    def __init__(self, row: SessionRow) -> None:
        self.row = row
        self.records: list[Record] = []
        self.by_id: dict[str, Record] = {}
        self.claim = ("", 0)
        self.spoken: list[Spoken] = []
        self.searched = 0
        self.owed: dict[str, Owed] = {}


class InMemoryStore:
    """The store in a dictionary."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[str, _Session] | None = {}
        self._events: list[Event] = []
        self._happenings = 0

    def create(self, key: str, *, at: int, meta: dict[str, Any] | None = None) -> SessionRow:
        """See the port."""
        row = fresh(key, at, meta)
        with self._lock:
            if key in self._open():
                raise session_exists(key)
            self._open()[key] = _Session(row)
            self._happened(key, at, "created", {})
        return row

    def session(self, key: str) -> SessionRow:
        """See the port."""
        with self._lock:
            return self._session(key).row

    def sessions(
        self, *, prefix: str = "", active_since: int | None = None, limit: int | None = None
    ) -> list[SessionRow]:
        """See the port."""
        with self._lock:
            rows = [session.row for session in self._open().values()]
        wanted = [row for row in rows if row.key.startswith(prefix) and row.updated >= (active_since or row.updated)]
        return sorted(wanted, key=lambda row: (-row.updated, row.key))[:limit]

    def audit(
        self, key: str, *, after: int = BEFORE_ALL, kind: str | None = None, ids: Sequence[str] | None = None
    ) -> Iterator[Stored]:
        """See `clew.store.audit.Audited`."""
        shown = (sound(record) for record in self.entries(key, after=max(0, after)))
        return (one for one in shown if kind in (None, one.kind) and (ids is None or one.id in ids))

    def audit_index(self, key: str) -> Indexed:
        """See `clew.store.audit.Audited`."""
        with self._lock:
            session = self._session(key)
            return Indexed(session.searched, dict(Counter(one.role for one in session.spoken)))

    def append(self, key: str, drafts: Sequence[Draft], *, owed: Owed | None = None) -> list[Record]:
        """See the port."""
        with self._lock:
            session = self._session(key)
            placed = place(session.row, drafts, _known(session, named_by(drafts)))
            new = owed is not None and is_new(session.owed.get(owed.turn), owed)
            _insert(session, placed)
            session.row = appended(session.row, placed)
            if owed is not None and new:
                session.owed[owed.turn] = owed
        return [one.record for one in placed]

    def owed(self, key: str | None = None) -> list[Owed]:
        """See the port."""
        with self._lock:
            held = [session for name, session in self._open().items() if key in (None, name)]
            found = [one for session in held for one in session.owed.values()]
        return sorted(found, key=lambda one: one.at)

    def settle(self, key: str, turn: str, *, error: str | None = None, blocked: bool = False) -> None:
        """See the port."""
        with self._lock:
            owed = self._session(key).owed
            if error is None:
                owed.pop(turn, None)
            elif turn in owed:
                more = {"attempts": owed[turn].attempts + 1, "error": error, "blocked": blocked}
                owed[turn] = msgspec.structs.replace(owed[turn], **more)

    def reopen(self, key: str) -> int:
        """See the port."""
        with self._lock:
            owed = self._session(key).owed
            blocked = [one for one in owed.values() if one.blocked]
            for one in blocked:
                owed[one.turn] = msgspec.structs.replace(one, blocked=False, attempts=0)
        return len(blocked)

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
        facts = json_value(data)
        with self._lock:
            session = self._session(key)
            same_generation(session.row, generation)
            known = _known(session, named_by_move(draft, boundary, start))
            [one] = place(session.row, [draft], known)
            first = window_start(one, known, boundary, start)
            _insert(session, [one])
            window = shown(session.records[first - 1 :], boundary)
            sums = sum(record.tokens for record in window), sum(record.size for record in window)
            session.row = moved(session.row, one, known, boundary=boundary, start=first, sums=sums)
            self._happened(key, draft.at, event, facts)
        return one.record

    def describe(self, key: str, meta: dict[str, Any]) -> None:
        """See the port."""
        with self._lock:
            session = self._session(key)
            session.row = msgspec.structs.replace(session.row, meta=described(session.row, meta))

    def window(self, key: str) -> Slice:
        """See the port."""
        with self._lock:
            session = self._session(key)
            row, records = session.row, session.records[session.row.start - 1 :]
            boundary = session.by_id[row.boundary] if row.boundary else None
        return sliced(row, records, boundary)

    def entries(self, key: str, *, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """See the port."""
        self.session(key)
        return pages(partial(self._read, key), after, limit)

    def entry(self, key: str, name: str) -> Record:
        """See the port."""
        with self._lock:
            found = list(self._session(key).records)
        return chosen(name, [(key, record) for record in found])[1]

    def entry_many(self, key: str, ids: Sequence[str]) -> dict[str, Record]:
        """See the port."""
        with self._lock:
            by_id = self._session(key).by_id
            return {name: by_id[name] for name in ids if name in by_id}

    def compactions(self, key: str) -> list[Record]:
        """See the port."""
        with self._lock:
            return [record for record in self._session(key).records if isinstance(record.entry.body, Compaction)]

    def find_compaction(self, name: str) -> tuple[str, Record]:
        """See the port."""
        with self._lock:
            return chosen(name, [(key, record) for key in self._open() for record in self.compactions(key)])

    def search(self, key: str, wanted: Search) -> list[Found]:
        """See the port."""
        wanted = tidy(wanted)
        with self._lock:
            session = self._session(key)
            _catch_up(session)
            fits = best(WordScan(session.spoken, wanted), wanted, session.row.entries)
            return [Found(session.records[seq - 1], score) for seq, score in fits]

    def indexed(self, key: str) -> tuple[int, int]:
        """See the port."""
        with self._lock:
            session = self._session(key)
            return session.searched, session.row.entries

    def reindex(self, key: str) -> int:
        """See the port."""
        with self._lock:
            session = self._session(key)
            session.spoken, session.searched = [], 0
            _catch_up(session)
            return session.searched

    def events(self, key: str | None = None, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """See the port."""
        with self._lock:
            self._open()
            return [event for event in self._events if event.seq > after and key in (None, event.key)][:limit]

    def claim(self, key: str, owner: str, *, now: int, until: int) -> str | None:
        """See the port."""
        with self._lock:
            session = self._session(key)
            holder, end = session.claim
            if holder == owner or end <= now:
                session.claim = owner, until
                return None
            return holder

    def release(self, key: str, owner: str) -> None:
        """See the port."""
        with self._lock:
            session = self._session(key)
            if session.claim[0] == owner:
                session.claim = "", 0

    def trim(self, key: str, keep: int, *, at: int) -> int:
        """See the port."""
        at_least_one(keep)
        with self._lock:
            session = self._session(key)
            if not (cut := cut_at(session.records, keep, session.row.leaf)):
                return 0
            done = trimmed(session.row, session.records, cut, at)
            session.row, session.records = done.row, done.records
            session.by_id = {record.entry.id: record for record in done.records}
            session.spoken, session.searched = [], 0
            session.owed = {
                turn: one for turn, one in session.owed.items() if {one.first, one.last} <= session.by_id.keys()
            }
            self._happened(key, at, "trim", {"removed": cut, "kept": len(done.records)})
        return cut

    def delete(self, key: str) -> None:
        """See the port."""
        with self._lock:
            self._session(key)
            del self._open()[key]
            self._events = [event for event in self._events if event.key != key]

    def close(self) -> None:
        """See the port."""
        with self._lock:
            self._sessions, self._events = None, []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _read(self, key: str, after: int, limit: int) -> list[Record]:
        with self._lock:
            return self._session(key).records[after : after + limit]

    def _open(self) -> dict[str, _Session]:
        if self._sessions is None:
            raise StoreError("The store was closed, and what it held is gone; open a new one.")
        return self._sessions

    def _session(self, key: str) -> _Session:
        if (session := self._open().get(key)) is None:
            raise unknown_session(key)
        return session

    def _happened(self, key: str, at: int, kind: str, data: dict[str, Any]) -> None:
        self._happenings += 1
        self._events.append(Event(self._happenings, key, at, kind, data))


def _known(session: _Session, names: Iterable[str]) -> dict[str, Known]:
    found = (session.by_id[name] for name in names if name in session.by_id)
    return {record.entry.id: Known(record.seq, kind_of(record.entry.body)) for record in found}


def _insert(session: _Session, placed: Sequence[Placed]) -> None:
    session.records += [one.record for one in placed]
    session.by_id |= {one.record.entry.id: one.record for one in placed}


def _catch_up(session: _Session) -> None:
    session.spoken += spoken(session.records[session.searched :])
    session.searched = len(session.records)
