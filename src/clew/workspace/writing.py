"""Files written whole or changed in one place: the old content stands until the new one is complete."""

import os
import secrets
from difflib import SequenceMatcher
from pathlib import Path

from clew.errors import BadInput
from clew.transcript import clean
from clew.workspace.place import Workspace
from clew.workspace.reading import kind_of

LARGEST = 16 * 1024 * 1024
"""Bytes of a file that can be edited."""
NEAR_LINES, NEAR_CHARS = 20_000, 400
"""Lines of a file that are looked through for a near match, and how much of one is shown."""
NEAR_ENOUGH = 0.6
"""How alike two lines are, from 0 to 1, for one to be shown in place of the other."""


def write(workspace: Workspace, path: str, content: str) -> str:
    """Write a file; folders on the way are made. Says what was done. Raises BadInput."""
    real = workspace.to_change(path)
    if real.is_dir():
        raise BadInput(f"{clean(path)} is a folder; nothing was written. Give the path of a file.")
    there = real.exists()
    if there:
        kind_of(real, path)
    data = clean(content).encode()
    real.parent.mkdir(parents=True, exist_ok=True)
    replace(real, data)
    return f"{'Replaced' if there else 'Created'} {workspace.shown(real)} ({len(data):,} bytes)."


def edit(workspace: Workspace, path: str, old: str, new: str, every: bool) -> str:
    """Put `new` in the place of `old`, which has to be there once, or wherever it is. Raises BadInput."""
    real = workspace.to_change(path)
    text = _text(real, path)
    if not old:
        raise BadInput("`old` is empty; nothing was changed. Give the text to replace, or use `write`.")
    if old not in text and "\r\n" in text:
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    found = text.count(old)
    if found == 0:
        raise BadInput(f"`old` is not in {clean(path)}; nothing was changed.{_near(text, old)}")
    if found > 1 and not every:
        raise BadInput(
            f"`old` is in {clean(path)} {found} times (lines {_places(text, old)}); nothing was changed. Give more of "
            "the text around the one you mean, or set `all` to change every one."
        )
    if old == new:
        raise BadInput("`old` and `new` are the same; nothing was changed.")
    replace(real, clean(text.replace(old, new)).encode())
    line = text.count("\n", 0, text.index(old)) + 1
    return f"Changed {workspace.shown(real)}: {found} {'place' if found == 1 else 'places'}, the first in line {line}."


def replace(real: Path, data: bytes) -> None:
    """Give a file new content and its old permissions, in one step: whoever reads it sees the old one or the new."""
    beside = real.with_name(f".{real.name[:40]}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if real.exists():
            beside.chmod(real.stat().st_mode & 0o7777)
        beside.replace(real)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _text(real: Path, path: str) -> str:
    kind = kind_of(real, path)
    if real.is_dir():
        raise BadInput(f"{clean(path)} is a folder; nothing was changed.")
    if kind.st_size > LARGEST:
        raise BadInput(f"{clean(path)} has {kind.st_size:,} bytes, too many to edit; nothing was changed. Use `exec`.")
    try:
        return real.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{clean(path)} is not UTF-8 (byte {error.start:,}); nothing was changed. Use `exec`.") from None


def _places(text: str, old: str) -> str:
    """The lines a text is found in: the first few."""
    at, lines = text.find(old), []  # type: int, list[str]
    while at >= 0 and len(lines) < 6:
        lines.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return ", ".join(lines[:5]) + (", …" if len(lines) > 5 else "")


def _near(text: str, old: str) -> str:
    """Where the file says something like it: but for blanks the same, or alike in the line that tells most."""
    squeezed = " ".join(old.split())
    lines = text.splitlines()[:NEAR_LINES]
    sought = max(old.splitlines(), key=lambda line: len(line.strip()), default="").strip()
    if not squeezed:
        return ""
    if squeezed in " ".join(text.split()):
        return " The same words are there with other blanks or line breaks: read the file and copy them exactly."
    matcher = SequenceMatcher(b=sought[:NEAR_CHARS], autojunk=False)
    best, at = NEAR_ENOUGH, None
    for number, line in enumerate(lines, 1):
        matcher.set_seq1(line.strip()[:NEAR_CHARS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, at = matcher.ratio(), number
    return f" The nearest line is {at}: {clean(lines[at - 1].strip()[:NEAR_CHARS])}" if at else ""
