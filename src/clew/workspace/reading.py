"""A file as the model reads it: lines from any place on, an image as one, a folder as a list, and no more than fits."""

import base64
import codecs
import os
import stat
from difflib import get_close_matches
from pathlib import Path
from typing import TextIO

from clew.errors import BadInput
from clew.transcript import Media, clean
from clew.workspace.place import Workspace
from clew.workspace.port import Output

HELD = 256_000
"""Characters of a file that are read at once: more than a result may hold in the largest window."""
COUNTED = 64 * 1024 * 1024
"""Bytes of a file whose lines are counted to the end."""
LARGEST_IMAGE = 3_700_000
"""Bytes of an image, so that its base64 stays below the 5 MB that providers take."""
LOOKED_AT = 8_192
"""Bytes at the start that tell text from other data."""
CHUNK = 1 << 16

IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF87a": "image/gif", b"GIF89a": "image/gif",
}  # fmt: skip
OTHER_DATA = (b"%PDF-", b"PK\x03\x04", b"\x1f\x8b", b"\x7fELF")
"""How data starts that may look like text for a while."""
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Byte order marks and the encodings they announce."""


def read(workspace: Workspace, path: str, offset: int, limit: int | None, column: int) -> Output:
    """A file from the `column`th character of its `offset`th line on. Raises BadInput where there is none to read."""
    real = workspace.find(path)
    kind = kind_of(real, path)
    if stat.S_ISDIR(kind.st_mode):
        return _listing(workspace.shown(real), real, offset, limit)
    with real.open("rb") as file:
        start = file.read(LOOKED_AT)
    if image := image_type(start):
        return _image(workspace.shown(real), real, image, kind.st_size)
    if (encoding := encoding_of(start)) is None:
        raise BadInput(f"{clean(path)} is no text but {kind.st_size:,} bytes of other data; it was not read.")
    with real.open(encoding=encoding, errors="replace", newline="") as text:
        return _lines(text, workspace.shown(real), kind.st_size, offset, limit, column)


def kind_of(real: Path, path: str) -> os.stat_result:
    """What is at a path. Raises BadInput where nothing is, or neither a file nor a folder."""
    try:
        kind = real.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"There is no {clean(path)} in the workspace.{_near(real)}") from None
    except OSError as error:
        raise BadInput(f"{clean(path)} cannot be looked at: {error.strerror or error}.") from error
    if not stat.S_ISREG(kind.st_mode) and not stat.S_ISDIR(kind.st_mode):
        raise BadInput(f"{clean(path)} is neither a file nor a folder; it was not touched.")
    return kind


def _near(real: Path) -> str:
    """The names beside a missing one that look like it, as a sentence."""
    try:
        names = sorted(os.listdir(real.parent))
    except OSError:
        return f" There is no folder {clean(real.parent.name)} either."
    close = get_close_matches(real.name, names, n=3)
    return f" Did you mean {', '.join(map(clean, close))}?" if close else ""


def image_type(start: bytes) -> str | None:
    """The media type of an image that starts so, among those that models read; None for anything else."""
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for sign, kind in IMAGES.items() if start.startswith(sign)), None)


def encoding_of(start: bytes) -> str | None:
    """The encoding of a text that starts so; None for what is no text."""
    for mark, encoding in MARKS.items():
        if start.startswith(mark):
            return encoding
    return None if b"\0" in start or start.startswith(OTHER_DATA) else "utf-8"


def _image(shown: str, real: Path, media_type: str, size: int) -> Output:
    if size > LARGEST_IMAGE:
        raise BadInput(
            f"{shown} is an image of {size:,} bytes, and at most {LARGEST_IMAGE:,} can be shown; it was not read. "
            "Make it smaller first."
        )
    data = base64.b64encode(real.read_bytes()).decode()
    return Output(f"{shown}: {media_type}, {size:,} bytes", (Media(media_type, data, name=shown),))


def _listing(shown: str, real: Path, offset: int, limit: int | None) -> Output:
    """The entries of a folder, one a line: folders end with a slash, files have their size."""
    with os.scandir(real) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    chosen = entries[offset - 1 :][:limit]
    text = "\n".join(map(_entry, chosen)) or "(the folder is empty)"
    return Output(
        text, path=shown, line=offset, lines=len(entries), more=offset - 1 + len(chosen) < len(entries), keep="head"
    )


def _entry(entry: os.DirEntry[str]) -> str:
    name = clean(entry.name)
    if entry.is_symlink():
        return f"{name} -> {clean(os.readlink(entry.path))}"
    return f"{name}/" if entry.is_dir() else f"{name} ({entry.stat().st_size:,} bytes)"


def _lines(file: TextIO, shown: str, size: int, offset: int, limit: int | None, column: int) -> Output:
    held = _drop(file, _skip(file, offset, shown), column - 1, shown)
    held += file.read(max(0, HELD - len(held)))
    text = held if limit is None else "".join(part + "\n" for part in held.split("\n")[:limit])[: len(held)]
    behind = file.read(1)
    lines = offset - 1 + _count(file, held + behind) if size <= COUNTED else None
    said = text.replace("\r\n", "\n") or ("(the file is empty)" if size == 0 else "")
    more = len(text) < len(held) or bool(behind)
    return Output(said, path=shown, line=offset, column=column, lines=lines, more=more, keep="head")


def _skip(file: TextIO, offset: int, shown: str) -> str:
    """Read to the start of a line; what was read behind it. Raises BadInput where the file has fewer lines."""
    left, last = offset - 1, ""
    while left:
        chunk = file.read(CHUNK)
        if not chunk:
            had = offset - 1 - left + (last not in ("", "\n"))
            raise BadInput(f"{shown} has {had:,} lines; there is no line {offset:,}.")
        if (found := chunk.count("\n")) >= left:
            return chunk.split("\n", left)[left]
        left, last = left - found, chunk[-1]
    return ""


def _drop(file: TextIO, held: str, count: int, shown: str) -> str:
    """Take so many characters off the line read; what was read behind them. Raises BadInput where it is shorter."""
    passed = 0
    while count > passed + len(held) and "\n" not in held:
        passed += len(held)
        if not (held := file.read(CHUNK)):
            break
    if count and (count - passed > len(held) or "\n" in held[: count - passed]):
        raise BadInput(f"That line of {shown} has fewer than {count + 1:,} characters.")
    return held[count - passed :]


def _count(file: TextIO, held: str) -> int:
    """The lines from what is held to the end of the file."""
    count, last = held.count("\n"), held[-1:]
    while chunk := file.read(CHUNK):
        count, last = count + chunk.count("\n"), chunk[-1]
    return count + (last not in ("", "\n"))
