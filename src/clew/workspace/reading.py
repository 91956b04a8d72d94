"""A file as the model reads it: lines from any place on, an image as an image, a folder as a list, and no more than fits."""

import base64
import codecs
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from clew.errors import BadInput
from clew.transcript import Media
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

IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF87a": "image/gif", b"GIF89a": "image/gif",
}  # fmt: skip
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Byte order marks and the encodings they announce."""


def read(workspace: Workspace, path: str, offset: int, limit: int | None, column: int) -> Output:
    """A file from the `column`th character of its `offset`th line on. Raises BadInput where there is none to read."""
    real = workspace.find(path)
    kind = _kind(workspace, real, path)
    if stat.S_ISDIR(kind.st_mode):
        return listing(workspace, real, offset, limit)
    with real.open("rb") as file:
        start = file.read(LOOKED_AT)
    if image := image_type(start):
        return _image(workspace, real, image, kind.st_size)
    if encoding := encoding_of(start):
        return _text(workspace, real, encoding, offset, limit, column)
    raise BadInput(f"{path} is no text ({kind.st_size:,} bytes of other data); it was not read.")


def _kind(workspace: Workspace, real: Path, path: str) -> "stat.os.stat_result":  # type: ignore[name-defined]
    raise NotImplementedError
