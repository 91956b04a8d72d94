"""Entries as canonical JSON and back: sorted keys, no blanks, a schema version, and only valid Unicode."""

import re
from typing import Any

import msgspec

from clew.errors import DamagedStore, NewerSchema
from clew.transcript.entry import Entry

SCHEMA = 1
"""The version of the entry format. A reader refuses a higher one instead of guessing."""

_ENCODER = msgspec.json.Encoder(order="sorted")
_DECODER = msgspec.json.Decoder(Entry)
_LONE = re.compile("[\ud800-\udfff]")
"""A surrogate in a Python string is always a lone one: pairs have become one character."""


def clean(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD, so that it can be stored and sent."""
    return _LONE.sub("�", text) if _LONE.search(text) else text


def scrub(value: Any) -> Any:
    """A plain JSON value with every string in it cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): scrub(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(item) for item in value]
    return value


def encode(entry: Entry) -> bytes:
    """The canonical bytes of an entry: equal entries give equal bytes. Lone surrogates become U+FFFD."""
    try:
        return _ENCODER.encode(entry)
    except UnicodeEncodeError:
        return _ENCODER.encode(scrub(msgspec.to_builtins(entry)))


def decode(data: bytes | str, *, schema: int = SCHEMA) -> Entry:
    """The entry that `data` stands for.

    Raises NewerSchema if it was written by a newer Clew, DamagedStore if it is no entry at all.
    """
    if schema > SCHEMA:
        raise NewerSchema(
            f"An entry has schema {schema}, this Clew reads up to {SCHEMA}. "
            "It was left untouched; upgrade Clew to read it."
        )
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedStore(f"An entry cannot be read ({error}). It was left untouched.") from error
