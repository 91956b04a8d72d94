"""Numbers, ages and quoted words as people read them; nothing quoted can move a cursor or reorder a line."""

import re
import unicodedata

from clew.clock import iso

_EMOJI = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff"
"""Pictures, and the selectors and skin tones that follow one."""

_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
    rf"|(?<![{_EMOJI}])\u200d|\u200d(?![{_EMOJI}])"
)
"""Control characters, escapes, direction marks and what else has no shape: a transcript may hold any, a terminal must
see none. A joiner (U+200D) stays between two pictures, which it makes one."""


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
    return "".join(taken).rstrip("\u200d") + "…"


def example(text: str, width: int = 60) -> str:
    """`text` as one example of many: short, on one line, words in quotes, a path by its end (`…/auth/login.py`)."""
    line = one_line(text, 10_000).removeprefix("- ")
    if " " in line:
        return f"“{one_line(line, width)}”"
    return path_end(line, min(width, PATH)) if "/" in line and "://" not in line else one_line(line, width)


PATH = 32
"""Columns of a path among examples."""


def path_end(path: str, width: int) -> str:
    """The last parts of a path that fit `width` columns, at least its name."""
    if columns(path) <= width:
        return path
    *folders, kept = path.rstrip("/").split("/")
    for folder in reversed(folders):
        if columns(f"…/{folder}/{kept}") > width:
            break
        kept = f"{folder}/{kept}"
    return one_line(f"…/{kept}", width)


def columns(text: str) -> int:
    """The columns a text takes in a terminal."""
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


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
    """How long ago `then` was (both in milliseconds), in one unit: 5m, 3h; `unknown` for a time of 0."""
    if not then:
        return "unknown"
    seconds = max(0, now - then) // 1000
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "m"), (86_400, 3600, "h")):
        if seconds < limit:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86_400}d"


def moment(at: int) -> str:
    """A time (milliseconds) to the minute, in UTC; `unknown` for 0."""
    return iso(at)[:16].replace("T", " ") if at else "unknown"
