"""Where a text may be cut: never inside what a reader sees as one character."""

import unicodedata

LONGEST = 32
"""Code points a cut is moved at most, so that a row of accents without end is cut all the same."""

_JOINER = "\u200d"


def head(text: str, most: int) -> str:
    """The first `most` characters, or a few less."""
    return text if most >= len(text) else text[: next(at for at in _nearby(text, most, -1))]


def tail(text: str, most: int) -> str:
    """The last `most` characters, or a few less."""
    return text if most >= len(text) else text[next(at for at in _nearby(text, len(text) - most, 1)) :]


def _nearby(text: str, at: int, step: int) -> list[int]:
    """The places that part nothing, the nearest first; the wanted one where there is none near."""
    places = range(at, at + step * LONGEST, step)
    return [*(place for place in places if 0 <= place <= len(text) and not _parted(text, place)), at]


def _parted(text: str, at: int) -> bool:
    """Whether a cut at `at` goes through one visible character."""
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    return (
        _JOINER in (before, behind)
        or unicodedata.category(behind) in ("Mn", "Me", "Mc")  # accents, vowel signs, variation selectors
        or "\U0001f3fb" <= behind <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= behind <= "\U000e007f"  # tags of a flag
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= behind <= "\udfff")
        or (_flag(behind) and _flags_before(text, at) % 2 == 1)
        or (before == "\r" and behind == "\n")
    )


def _flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    start = at
    while start and _flag(text[start - 1]):
        start -= 1
    return at - start
