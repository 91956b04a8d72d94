"""OpenClaw's SQLite file: which sessions it holds, and the events of one of them as lines. It is never written to."""

import importlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from clew.store.archive import pi
from clew.store.archive.field import loads
from clew.store.archive.imported import BadLine, Imported
from clew.store.archive.source import Content, Item, refuse

_SESSIONS = """
SELECT w.session_id, w.session_key, n.display_name, n.label, COUNT(e.seq)
FROM session_windows w
LEFT JOIN session_nodes n ON n.session_key = w.session_key
LEFT JOIN transcript_events e ON e.session_id = w.session_id
GROUP BY w.session_id ORDER BY w.updated_at DESC, w.session_id
"""
_EVENTS = "SELECT seq, event_json, event_zstd FROM transcript_events WHERE session_id = ? ORDER BY seq"
_NO_ZSTD = "compressed with zstd; install the package `zstandard` and import again"


def read(data: bytes | Path, *, index: int | str = 0, at: int = 0) -> Imported:
    """One session: by its place among them (the most recently used first), or by its id or key.

    Raises BadInput if the file is no OpenClaw agent file, or has no such session.
    """
    try:
        with closing(_open(data)) as connection:
            sessions = [row for row in connection.execute(_SESSIONS) if row[4]]
            session = _choose(sessions, index)
            content = Content()
            items = [*_events(connection, session[0], content.bad)]
    except sqlite3.Error as error:
        raise refuse(f"The SQLite file is not an OpenClaw agent's, or is damaged ({error}).") from error
    done = pi.read(content, items, format="openclaw", at=at)
    done.meta.update({"session": session[0], "key": session[1], "sessions": len(sessions)})
    title = session[2] or session[3]
    if title:
        done.meta["title"] = title
    return done


def _open(data: bytes | Path) -> sqlite3.Connection:
    """The file, for reading. One without a write-ahead log is read into memory, so that nothing appears beside it."""
    if isinstance(data, Path):
        if Path(f"{data}-wal").exists():
            return sqlite3.connect(f"{data.absolute().as_uri()}?mode=ro", uri=True)
        data = data.read_bytes()
    connection = sqlite3.connect(":memory:")
    # Bytes 18 and 19 say that a write-ahead log is in use (2), which a database in memory cannot have.
    connection.deserialize(data[:18] + b"\1\1" + data[20:])
    return connection


def _choose(sessions: list[Any], index: int | str) -> Any:
    if not sessions:
        raise refuse("The OpenClaw file holds no session with entries; archived ones are not read.")
    if isinstance(index, int) and 0 <= index < len(sessions):
        return sessions[index]
    for session in sessions:
        if index in session[:2]:
            return session
    keys = ", ".join(str(session[1]) for session in sessions[:10])
    raise refuse(f"The OpenClaw file holds {len(sessions)} sessions, but not {index}; their keys begin with: {keys}.")


def _events(connection: sqlite3.Connection, session: str, bad: list[BadLine]) -> Iterator[Item]:
    """The events of a session, numbered from 1 in their order."""
    for number, (_, plain, packed) in enumerate(connection.execute(_EVENTS, (session,)), 1):
        try:
            value = loads(_unzstd(packed) if plain is None else plain)
        except ValueError as error:
            bad.append(BadLine(number, str(error)))
            continue
        if isinstance(value, dict):
            yield Item(number, value)
        else:
            bad.append(BadLine(number, "JSON, but no object"))


def _unzstd(packed: bytes) -> bytes:
    """The JSON of a compressed event. Raises ValueError if it cannot be had."""
    try:
        # Looked for only when an event needs it: an optional package.
        zstandard = importlib.import_module("zstandard")
    except ImportError as error:
        raise ValueError(_NO_ZSTD) from error
    try:
        unpacked: bytes = zstandard.ZstdDecompressor().decompress(packed, max_output_size=4_194_304)
    except zstandard.ZstdError as error:
        raise ValueError(f"zstd: {error}") from error
    return unpacked
