"""Lasting notes: one file a day in the workspace, added to and never overwritten."""

import fcntl
import os
import re

import msgspec

from clew.errors import BadInput
from clew.transcript import clean
from clew.workspace.place import Workspace

FOLDER = "memory"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Noted(msgspec.Struct, frozen=True):
    """A note is in its file."""

    path: str
    """As the workspace knows it."""
    bytes: int
    """What was added."""


class NotNoted(msgspec.Struct, frozen=True):
    """A note was not written; the file is as it was."""

    reason: str


def note_path(day: str) -> str:
    """The file of a day's notes, as the workspace knows it."""
    return f"{FOLDER}/{day}.md"


def append_note(workspace: Workspace, day: str, text: str) -> Noted | NotNoted:
    """Add a text to the notes of a day (`YYYY-MM-DD`) in one write that a crash leaves whole or out.

    The file and its folder are made where they are missing. Whatever keeps it from being written is a value.
    """
    if not _DAY.fullmatch(day):
        return NotNoted(f"{day!r} is no day: it is written YYYY-MM-DD")
    if not text.strip():
        return NotNoted("there is nothing to note")
    path = note_path(day)
    try:
        real = workspace.to_change(path)
        real.parent.mkdir(parents=True, exist_ok=True)
        return Noted(path, _append(os.fspath(real), clean(text).strip("\n") + "\n"))
    except BadInput as error:
        return NotNoted(str(error))
    except OSError as error:
        return NotNoted(f"{path} cannot be written: {error.strerror or error}")


def _append(path: str, text: str) -> int:
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        size = os.fstat(handle).st_size
        apart = size and os.pread(handle, 1, size - 1) != b"\n"
        data = (("\n" if apart else "") + text).encode()
        written = os.write(handle, data)
        if written != len(data):
            os.ftruncate(handle, size)
            raise OSError(f"only {written:,} of {len(data):,} bytes were written")
        os.fsync(handle)
        return written
    finally:
        os.close(handle)  # which gives the lock back
