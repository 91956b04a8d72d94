"""Bytes from anywhere as numbered JSON values: gunzipped, without byte-order mark, every unreadable line named."""

import zlib
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from clew.errors import BadInput
from clew.store.archive.field import loads
from clew.store.archive.imported import BadLine

FORMATS = (
    "clew", "claude-code", "openclaw", "pi", "codex", "openai", "anthropic", "swe-agent", "openhands", "events",
)  # fmt: skip
"""What can be read."""

SQLITE = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Item(NamedTuple):
    """A JSON value and where it stood."""

    number: int
    """Its line, or its place in the document's list, counted from 1."""
    value: Any
    """An object or a list."""


class Content(msgspec.Struct):
    """A file, parsed: its lines, or the one document it is."""

    items: list[Item] = []
    bad: list[BadLine] = []
    document: Any = None
    """The value of a file that is one JSON document; None for a file of lines."""
    notes: list[str] = []


def refuse(what: str) -> BadInput:
    """The error for input that cannot be read: what it is, and what could be."""
    return BadInput(f"{what} Nothing was imported. Clew reads these formats: {', '.join(FORMATS)} (JSON lines, JSON, "
                    "or OpenClaw's SQLite file; also gzipped).")  # fmt: skip


def fetch(data: bytes | str | Path) -> bytes:
    """The bytes of a file, or `data` itself. Raises BadInput for what is no readable file."""
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    if isinstance(data, bytes):
        return data
    if data.is_dir():
        raise refuse(f"{data} is a directory; name one session file in it.")
    try:
        return data.read_bytes()
    except FileNotFoundError as error:
        raise refuse(f"There is no file {data}.") from error
    except OSError as error:
        raise refuse(f"{data} cannot be read ({error.strerror}).") from error


def unpack(data: bytes, notes: list[str]) -> bytes:
    """`data` without gzip and without byte-order mark, as UTF-8. What a cut-off archive still holds is returned."""
    if data.startswith(_GZIP):
        data = _gunzip(data, notes)
    if data.startswith(_UTF16):
        notes.append("The file was UTF-16 and was read as such.")
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf")


def _gunzip(data: bytes, notes: list[str]) -> bytes:
    parts: list[bytes] = []
    while data.startswith(_GZIP):
        inflate = zlib.decompressobj(wbits=31)
        try:
            parts.append(inflate.decompress(data))
        except zlib.error as error:
            raise refuse(f"The gzip file is damaged ({error}).") from error
        if not inflate.eof:
            notes.append("The gzip file is cut off; what is left of it was read.")
        data = inflate.unused_data
    return b"".join(parts)


def parse(data: bytes) -> Content:
    """The JSON values in `data`. Raises BadInput if there is none."""
    content = Content()
    data = unpack(data, content.notes)
    _check(data)
    _check_text(data, content.notes)
    first, rest = _first_line(data)
    if rest and _is_container(first):
        return _lines(data, content)
    try:
        content.document = loads(data)
    except ValueError as error:
        return _lines(data, content, whole=error)
    if not isinstance(content.document, dict | list):
        raise refuse("The file is JSON, but no object and no list.")
    content.items = [Item(1, content.document)]
    return content


def _check(data: bytes) -> None:
    head = data[:4096].strip()
    if not data.strip():
        raise refuse("The file is empty.")
    if b"\0" in head:
        raise refuse("The file is binary.")
    if head.startswith(b"<"):
        raise refuse("The file looks like HTML or XML.")


def _check_text(data: bytes, notes: list[str]) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        notes.append(f"Bytes that are no UTF-8 (the first at byte {error.start}) were replaced by U+FFFD.")


def _first_line(data: bytes) -> tuple[bytes, bytes]:
    first, _, rest = data.strip().partition(b"\n")
    return first, rest


def _is_container(line: bytes) -> bool:
    try:
        return isinstance(loads(line), dict | list)
    except ValueError:
        return False


def _lines(data: bytes, content: Content, whole: ValueError | None = None) -> Content:
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = loads(line)
        except ValueError as error:
            content.bad.append(BadLine(number, f"not JSON: {error}"))
            continue
        if isinstance(value, dict | list):
            content.items.append(Item(number, value))
        else:
            content.bad.append(BadLine(number, "JSON, but no object"))
    if not any(item.value for item in content.items):
        where = f" As one document: {whole}." if whole else ""
        raise refuse(f"No line of the file is a JSON object; line {content.bad[0].number} is {content.bad[0].why}."
                     f"{where}" if content.bad else "The file holds only empty objects.")  # fmt: skip
    return content
