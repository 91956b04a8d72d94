"""Where a text may be cut: never inside what people see as one character, however many code points it has.

Which code points are one character is Unicode's rule for grapheme clusters (UAX 29). A cut looks at so many code points
around it and no more, however long the text is.
"""

import regex

LONGEST = 64
"""Code points after which a character, such as a letter with a row of accents, is cut all the same."""
ROW = 8_192
"""Letters of flags in a row that are looked at: they pair from the row's start, and in a longer row that is a guess."""

_CHARACTER = regex.compile(r"\X")
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def head(text: str, most: int) -> str:
    """The first `most` code points, or a few less."""
    return text[: border(text, most, -1)]


def tail(text: str, most: int) -> str:
    """The last `most` code points, or a few less."""
    return text[border(text, len(text) - most, 1) :]


def border(text: str, at: int, step: int) -> int:
    """The nearest position in a direction (1 or -1) that parts no character that is written as several."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    around = text[at - 1 : at + 1]
    if around.isascii() and around != "\r\n":
        return at
    start = _start(text, max(0, at - 2 * LONGEST))  # a character that is cut there ends before the places that count
    stretch = text[start : at + LONGEST + 1]
    places = [start + found.start() for found in _CHARACTER.finditer(stretch)]
    near = [place for place in (*places, start + len(stretch)) if 0 <= (place - at) * step < LONGEST]
    whole = [place for place in near if not _pair(text[place - 1 : place + 1])]
    return min(whole, key=lambda place: abs(place - at), default=at)


def _start(text: str, place: int) -> int:
    """The place, or the one before it where a flag would be parted there."""
    row = text[max(0, place - ROW) : place]
    return place - (len(row) - len(row.rstrip(_FLAG_LETTERS))) % 2


def _pair(around: str) -> bool:
    """Whether two neighbours are halves of one code point, as they come from JSON that was written badly."""
    return len(around) == 2 and "\ud800" <= around[0] <= "\udbff" and "\udc00" <= around[1] <= "\udfff"
