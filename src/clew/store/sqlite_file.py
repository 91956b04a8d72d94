"""A SQLite file of ours: recognised before it is touched, made or brought up to date, and its connections."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from os import R_OK, W_OK, access
from pathlib import Path

from clew.errors import DamagedStore, ForeignStore, NewerSchema, StoreBusy, StoreError
from clew.store.sql import migrations

APPLICATION = int.from_bytes(b"clew")
"""What the header of a SQLite file says about whose it is."""

MIGRATIONS = migrations("sqlite")
SCHEMA = max(MIGRATIONS)
"""The version of the tables; a file with a higher one is refused."""

OLDEST = (3, 37)
"""The first SQLite with STRICT tables."""

_MAGIC = b"SQLite format 3\0"
_HEADER = 100
"""Bytes of a SQLite header: https://sqlite.org/fileformat2.html#the_database_header"""
_WAL_LIMIT = 64 * 1024 * 1024
"""Bytes a log file is cut back to after a large import."""
_IDLE_READERS = 8
"""Connections kept for the next reader."""
_RETRY_S = 0.01


class SqliteFile:
    """One writer behind a lock, and as many readers as there are threads reading at once."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path = path.resolve()
        self._busy = busy_seconds
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        if sqlite3.sqlite_version_info < OLDEST:
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old for Clew's store; 3.37 or newer is needed.")
        recognise(path)
        with complaints(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)  # conversations are their owner's alone; the log beside it takes on the same rights
            self._writer = self._connect()
            try:
                self._prepare()
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def writing(self, *, lasting: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction: everything in it is on the disk when it ends, or nothing of it if it raises.

        One that is not `lasting` survives a killed process and may be lost with the power: it waits for no disk.
        """
        if not self._lock.acquire(timeout=self._busy):
            raise StoreBusy(
                f"Another thread has been writing to {self.path} for {self._busy:g} s; nothing was written."
            )
        try:
            with complaints(self.path):
                self._not_closed()
                if not lasting:
                    self._writer.execute("PRAGMA synchronous = NORMAL")
                try:
                    self._writer.execute("BEGIN IMMEDIATE")
                    yield self._writer
                    self._writer.execute("COMMIT")
                finally:
                    if self._writer.in_transaction:
                        self._writer.execute("ROLLBACK")
                    if not lasting:
                        self._writer.execute("PRAGMA synchronous = FULL")
        finally:
            self._lock.release()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One state of the file, unmoved by writers. To be left soon: the log cannot shrink below a reader."""
        with complaints(self.path):
            reader = self._reader()
            try:
                reader.execute("BEGIN")
                yield reader
            finally:
                if reader.in_transaction:
                    reader.execute("ROLLBACK")
                self._put_back(reader)

    def close(self) -> None:
        """Close what is idle now, and a reader that is still at work when it is done."""
        with self._lock:
            self._closed = True
            self._drain()
            self._writer.close()

    def _not_closed(self) -> None:
        if self._closed:
            raise StoreError(f"The store {self.path} was closed; open it again.")

    def _reader(self) -> sqlite3.Connection:
        self._not_closed()
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _put_back(self, reader: sqlite3.Connection) -> None:
        if len(self._idle) >= _IDLE_READERS:
            reader.close()
            return
        self._idle.append(reader)
        if self._closed:
            self._drain()

    def _drain(self) -> None:
        while self._idle:
            with suppress(IndexError):  # another thread may have taken the last one
                self._idle.pop().close()

    def _connect(self) -> sqlite3.Connection:
        """A connection any thread may use, one at a time; transactions are begun by hand."""
        connection = sqlite3.connect(self.path, timeout=self._busy, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
        return connection

    def _prepare(self) -> None:
        """Tables first, in one transaction, the log after them: a killed beginner leaves an empty file or a store."""
        if self._version() < SCHEMA or self._application() != APPLICATION:
            self._migrate()
        deadline = time.monotonic() + self._busy
        while not self._logging() and time.monotonic() < deadline:
            time.sleep(_RETRY_S)

    def _migrate(self) -> None:
        with self.writing() as db:
            here = self._version()
            for number in range(here + 1, SCHEMA + 1):
                for statement in MIGRATIONS[number]:
                    db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {max(here, SCHEMA)}")

    def _logging(self) -> bool:
        """Whether the file has its write-ahead log. SQLite gives up at once where another process holds the file."""
        try:
            self._writer.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True

    def _version(self) -> int:
        return int(self._writer.execute("PRAGMA user_version").fetchone()[0])

    def _application(self) -> int:
        return int(self._writer.execute("PRAGMA application_id").fetchone()[0])


def recognise(path: Path) -> None:
    """Raises ForeignStore, NewerSchema, DamagedStore or StoreError for a file that is not ours to open.

    It looks at bytes only, so nothing appears beside a file that is refused.
    """
    try:
        if not path.exists():
            return
        if not path.is_file():
            raise StoreError(f"{path} is not a file, so it cannot be a store; it was left untouched. Name a file.")
        if not access(path, R_OK | W_OK):
            raise StoreError(f"{path} may not be read and written by this user; it was left untouched.")
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except OSError as error:
        raise StoreError(f"{path} cannot be looked at ({error.strerror}); it was left untouched.") from error
    if header:
        _recognise_header(path, header)


def _recognise_header(path: Path, header: bytes) -> None:
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise DamagedStore(
            f"{path} is no SQLite database: it is another kind of file, or its beginning is torn. "
            "It was left untouched; name another file, or put a backup in its place."
        )
    if _number(header, 68) != APPLICATION:
        raise ForeignStore(f"{path} is a SQLite database of another program. It was left untouched; name another file.")
    logged, beginning = (path.with_name(path.name + suffix).exists() for suffix in ("-wal", "-journal"))
    if (version := _logged_version(path) if logged else _number(header, 60)) > SCHEMA:
        raise NewerSchema(
            f"{path} has schema {version}, this Clew reads up to {SCHEMA}. It was left untouched; upgrade Clew."
        )
    size = path.stat().st_size
    if not (logged or beginning) and _number(header, 24) == _number(header, 92) and size < _pages(header):
        raise DamagedStore(
            f"{path} is torn: it has {size} of {_pages(header)} bytes. "
            "It was left untouched; put a backup in its place, or try `sqlite3 FILE .recover` on a copy."
        )


def _logged_version(path: Path) -> int:
    """The schema's version where a log lies beside the file and may hold a newer header: asked without writing."""
    with complaints(path), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _number(header: bytes, offset: int) -> int:
    return int.from_bytes(header[offset : offset + 4])


def _pages(header: bytes) -> int:
    """The bytes a database has by its own account. A page of 65,536 bytes is written down as 1."""
    size = int.from_bytes(header[16:18])
    return _number(header, 28) * (65536 if size == 1 else size)


@contextmanager
def complaints(path: Path) -> Iterator[None]:
    """What SQLite and the disk complain of, in our words and in our tree."""
    try:
        yield
    except sqlite3.Error as error:
        raise _complaint(path, error) from error
    except OSError as error:
        raise StoreError(f"{path} cannot be opened ({error.strerror}); nothing was written.") from error


def _complaint(path: Path, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"Another process is writing to {path}; nothing was written. Try again.")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DamagedStore(
            f"{path} is damaged ({error}). It was left untouched; put a backup in its place, "
            "or try `sqlite3 FILE .recover` on a copy."
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreError(f"The disk that holds {path} is full; nothing was written. Make room and try again.")
    return StoreError(f"{path} cannot be used ({error}); nothing was written. Check the file, its folder and the disk.")
