"""A text cut to a number of characters: head and tail are kept, and a line says what is missing and where to read it.

Characters are code points, so no pair of surrogates is parted; what readers see as one character (an emoji with its
modifiers, a letter with its accents, a flag) is not parted either.
"""

import unicodedata

from clew.transcript import clean

HEAD_SHARE = 75
"""Percent of the room that goes to the head; the tail gets the rest (spec/context.md 8.5)."""
LEAST = 16
"""Characters of the text that have to fit beside the full marker; below that a marker without words stands."""
BARE = "\n[…]\n"
"""The marker where there is no room for words."""
LONGEST_CLUSTER = 32
"""Code points a cut is moved at most, so that a row of accents without end is cut all the same."""

_JOINER = "\u200d"


def normal(text: str) -> str:
    """`text` as it stands in a prompt: line feeds only, no blanks at the ends of lines or around it, valid Unicode."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return clean("\n".join(line.rstrip(" \t") for line in lines)).strip()


def head(text: str, most: int) -> str:
    """The first `most` characters, or a few less, so that no visible character is parted."""
    if most >= len(text):
        return text
    at = max(most, 0)
    for back in range(min(at, LONGEST_CLUSTER) + 1):
        if not _parted(text, at - back):
            return text[: at - back]
    return text[:at]


def tail(text: str, most: int) -> str:
    """The last `most` characters, or a few less, so that no visible character is parted."""
    if most >= len(text):
        return text
    at = len(text) - max(most, 0)
    for on in range(min(len(text) - at, LONGEST_CLUSTER) + 1):
        if not _parted(text, at + on):
            return text[at + on :]
    return text[at:]


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


def _parted(text: str, at: int) -> bool:
    """Whether a cut before `at` would part what a reader sees as one character."""
    if not 0 < at < len(text):
        return False
    if text[at].isascii():
        return text[at - 1] == _JOINER
    before, after = text[at - 1], text[at]
    if before == _JOINER or after == _JOINER or _extends(after):
        return True
    return _is_flag(before) and _is_flag(after) and _flags_before(text, at) % 2 == 1


def _extends(char: str) -> bool:
    """Accents, variation selectors, skin tones, tags, and the vowels and finals of Hangul syllables."""
    code = ord(char)
    return (
        unicodedata.category(char) in ("Mn", "Mc", "Me")
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
        or 0x1160 <= code <= 0x11FF
    )


def _is_flag(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF


def _flags_before(text: str, at: int) -> int:
    count = 0
    while count < min(at, LONGEST_CLUSTER) and _is_flag(text[at - 1 - count]):
        count += 1
    return count
