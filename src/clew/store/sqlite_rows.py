"""Rows of a SQLite file as values, and what is said of those that cannot be read."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from clew.errors import DamagedStore, NewerSchema
from clew.store.port import DAMAGED, Record, SessionRow
from clew.transcript import decode


def session_row(found: Sequence[Any]) -> SessionRow:
    """A session's row. Where its facts cannot be read, DAMAGED stands in their place and says why."""
    columns = dict(zip(SessionRow.__struct_fields__, found[1:], strict=True))
    try:
        facts = msgspec.json.decode(columns["meta"], type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        facts = {DAMAGED: str(error)}
    return SessionRow(**columns | {"meta": facts})


def sound(row: SessionRow) -> SessionRow:
    """The row of a session whose facts are wanted. Raises DamagedStore where they cannot be read."""
    if DAMAGED in row.meta:
        raise DamagedStore(
            f"The facts of session {row.key!r} cannot be read ({row.meta[DAMAGED]}). They were left untouched, and its "
            f"entries are there; `clew doctor {row.key}` says what to do."
        )
    return row


def record_of(found: Sequence[Any]) -> Record:
    """An entry. Raises DamagedStore, NewerSchema."""
    seq, tokens, size, version, data = found
    try:
        return Record(seq, decode(data, schema=version), tokens, size)
    except (DamagedStore, NewerSchema) as error:
        raise type(error)(str(error).replace("An entry", f"Entry #{seq}", 1)) from error


def legible(rows: Iterable[Sequence[Any]]) -> dict[int, Record]:
    """Entries by number, without those that cannot be read: whoever opens one of these is told."""
    found: dict[int, Record] = {}
    for row in rows:
        with suppress(DamagedStore, NewerSchema):
            found[row[0]] = record_of(row)
    return found
