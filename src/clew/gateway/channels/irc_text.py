"""Text on IRC: what came in made plain, whom a line is meant for, an answer cut into lines that fit. Pure."""

import re
from collections.abc import Iterator

from clew.gateway.channels.rules import fold
from clew.transcript import clean
from clew.transcript.characters import border

LINE_BYTES = 512
"""Of a line with its prefix and its end, as the protocol has it."""

USER_BYTES, HOST_BYTES = 11, 64
"""The longest user and host a server puts into the prefix of our lines."""

MOST_LINES = 30
"""Of one answer."""

_COLOURS = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9A-Fa-f]{6}(?:,[0-9A-Fa-f]{6})?)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MENTION = re.compile(r"[:,]?\s+|[:,]")


def plain(text: str) -> str:
    """A line without colours, marks of style, and anything else that is no text."""
    return _CONTROL.sub("", _COLOURS.sub("", clean(text))).strip()


def addressed(line: str, nicks: tuple[str, ...]) -> str | None:
    """What a line says to one of these nicks, which it begins with; None for a line that is meant for others."""
    for nick in nicks:
        rest = line[len(nick) :]
        if nick and fold(line[: len(nick)]) == fold(nick) and (found := _MENTION.match(rest)):
            return rest[found.end() :].strip()
    return None


def room_for(nick: str, target: str, command: str = "PRIVMSG") -> int:
    """Bytes of text that a line to a target has room for, whatever prefix the server gives it."""
    prefix = 1 + len(nick.encode()) + 1 + USER_BYTES + 1 + HOST_BYTES + 1
    return LINE_BYTES - prefix - len(f"{command} {target} :\r\n".encode())


def lines(text: str, most_bytes: int, *, most_lines: int = MOST_LINES) -> list[str]:
    """An answer in lines of so many bytes of UTF-8 at most, cut between words where that can be, and never inside what
    is seen as one character. Blank lines and control codes are left out."""
    found = [piece for line in clean(text).splitlines() for piece in _pieces(_kept(line), most_bytes)]
    if len(found) <= most_lines:
        return found
    left = len(found) - most_lines + 1
    return [*found[: most_lines - 1], f"… ({left} more lines are left out)"]


def _kept(line: str) -> str:
    return _CONTROL.sub("", line.replace("\t", "    ")).rstrip()


def _pieces(line: str, most: int) -> Iterator[str]:
    while line.strip():
        at = _cut(line, most)
        if piece := line[:at].rstrip():
            yield piece
        line = line[at:].lstrip() if at < len(line) else ""


def _cut(line: str, most: int) -> int:
    """Where to cut a line: after the most that fits."""
    raw = line[: most + 1].encode()
    if len(raw) <= most:
        return len(line)
    fits = max(1, len(raw[:most].decode(errors="ignore")))
    blank = line.rfind(" ", fits // 2, fits + 1)
    return blank if blank > 0 else border(line, fits, -1) or fits
