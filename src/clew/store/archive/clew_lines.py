"""Clew's own lines: a header with the session's facts, then every entry as it is stored, ids and parents included."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from clew.errors import DamagedStore, NewerSchema
from clew.store.archive.field import dumps, mapping, string, whole
from clew.store.archive.gather import Gather
from clew.store.archive.imported import Imported
from clew.store.archive.source import Content
from clew.store.port import Record
from clew.transcript import SCHEMA, Body, decode, encode, kind_of

HEADER = "clew-session"
"""The type of the first line."""


def write(records: Iterable[Record], meta: dict[str, Any], leaf: str | None) -> Iterator[bytes]:
    """A session, an entry a line. Nothing is left out."""
    yield dumps({"type": HEADER, "schema": SCHEMA, "leaf": leaf, "meta": meta}) + b"\n"
    for record in records:
        yield b'{"tokens":%d,"entry":%b}\n' % (record.tokens, encode(record.entry))


def read(content: Content, *, at: int = 0) -> Imported:
    """A session as it was exported. Raises NewerSchema if a newer Clew wrote it."""
    gather, leaf, tokens = Gather("clew", content, at=at), None, dict[str, int]()
    for number, raw in content.items:
        if isinstance(raw, dict) and raw.get("type") == HEADER:
            _check(whole(raw, "schema") or SCHEMA)
            gather.counts["header"] += 1
            gather.meta.update(mapping(raw, "meta"))
            leaf = string(raw, "leaf") or None
        elif isinstance(raw, dict) and "entry" in raw:
            name = _entry(gather, number, raw)
            tokens[name] = whole(raw, "tokens") or 0
        else:
            gather.custom(string(raw, "type") if isinstance(raw, dict) else "", raw, known=False, side=True)
    done = gather.finish(leaf if leaf in gather.ids else None, exact=True)
    sized = (msgspec.structs.replace(draft, tokens=tokens.get(draft.id, 0)) for draft in done.drafts)
    return msgspec.structs.replace(done, drafts=tuple(sized))


def _check(schema: int) -> None:
    if schema > SCHEMA:
        raise NewerSchema(
            f"The file has schema {schema}, this Clew reads up to {SCHEMA}. Nothing was imported; upgrade Clew."
        )


def _entry(gather: Gather, number: int, raw: dict[str, Any]) -> str:
    try:
        entry = decode(dumps(raw["entry"]))
    except DamagedStore as error:
        gather.spoil(number, str(error))
        return ""
    gather.counts[kind_of(entry.body)] += 1
    return gather.add(entry.body, id=entry.id, parent=entry.parent, at=entry.at)


def body_in(data: Any) -> Body | None:
    """The body that an export to another format wrapped up, or None if `data` is none."""
    try:
        body: Body = msgspec.convert(data, Body)
    except msgspec.ValidationError:
        return None
    return body
