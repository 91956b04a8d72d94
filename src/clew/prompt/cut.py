"""A text cut to a number of characters: head and tail are kept, and a line says what is missing and where to read it.

Characters are code points; what readers see as one character (an emoji with its modifiers, a letter with its accents, a
flag) is never parted.
"""

from clew.transcript import clean
from clew.transcript.characters import head, tail

HEAD_SHARE = 75
"""Percent of the room that goes to the head; the tail gets the rest (spec/context.md 8.5)."""
LEAST = 16
"""Characters of the text that have to fit beside the full marker; below that a marker without words stands."""
BARE = "\n[…]\n"
"""The marker where there is no room for words."""


def normal(text: str) -> str:
    """`text` as it stands in a prompt: line feeds only, no blanks at the ends of lines or around it, valid Unicode."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return clean("\n".join(line.rstrip(" \t") for line in lines)).strip()


def to_size(text: str, most: int, name: str) -> str:
    """`text` in at most `most` characters, cut in its middle where it is longer."""
    if len(text) <= most:
        return text
    # The number that is missing has no more digits than the whole, so the room for the marker is known beforehand.
    room = most - len(marker(name, len(text), len(text)))
    if room < LEAST:
        return _bare(text, most)
    first = head(text, room * HEAD_SHARE // 100)
    last = tail(text, room - room * HEAD_SHARE // 100)
    return f"{first}{marker(name, len(text) - len(first) - len(last), len(text))}{last}"


def marker(name: str, missing: int, whole: int) -> str:
    """The line that stands where text was taken out."""
    return f"\n[… {missing:,} of {whole:,} characters left out here; read {name} for them …]\n"


def _bare(text: str, most: int) -> str:
    room = most - len(BARE)
    if room < 2:
        return head(text, most)
    first = head(text, -(-room * HEAD_SHARE // 100))
    return f"{first}{BARE}{tail(text, room - len(first))}"
