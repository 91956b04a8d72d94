"""Numbers, ages and quoted words as people read them; nothing quoted can move a cursor or reorder a line."""

import re
import unicodedata

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Control characters, escapes and direction marks: a transcript may hold any, a terminal must see none."""


def visible(text: str) -> str:
    """`text` without characters that act on a terminal instead of being seen."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\t", "    "))


def one_line(text: str, width: int) -> str:
    """`text` on one line of at most `width` columns, wide characters counted as two."""
    line = " ".join(visible(text).split())
    if columns(line) <= width:
        return line
    taken, used = [], 0
    for char in line:
        used += columns(char)
        if used > width - 1:
            break
        taken.append(char)
    return "".join(taken) + "…"


def columns(text: str) -> int:
    """The columns a text takes in a terminal."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def number(count: int | None) -> str:
    """A count with its thousands parted; `unknown` for None."""
    return "unknown" if count is None else f"{count:,}"


def short(count: int | None) -> str:
    """A count of tokens in few characters: 950, 4.1k, 162k, 1.2M; `?` for None."""
    if count is None:
        return "?"
    for limit, divisor, unit in ((1_000, 1, ""), (1_000_000, 1_000, "k"), (10**12, 1_000_000, "M")):
        if count < limit:
            value = count / divisor
            return f"{value:.1f}{unit}" if unit and value < 10 else f"{value:.0f}{unit}"
    return f"{count:,}"


def percent(part: int, whole: int) -> str:
    """A share in whole percent."""
    return f"{100 * part / whole:.0f} %" if whole else "–"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """A count with its noun in the right number."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def age(then: int, now: int) -> str:
    """How long ago `then` was (both in milliseconds), in one unit."""
    seconds = max(0, now - then) // 1000
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"), (10**12, 86_400, "d")):
        if seconds < limit:
            return f"{seconds // size} {unit}"
    return "long"
