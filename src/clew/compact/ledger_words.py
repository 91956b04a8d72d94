"""Words cut to a length without losing their two ends, and room shared out among texts of many lengths."""

import re
from collections.abc import Sequence

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
ROOMY = 400
"""Characters from which a cut text says how much of it is left out; a shorter one has no room for that."""


def ends(text: str, most: int) -> str:
    """`text` in at most about `most` characters: two thirds from its head, one third from its tail, the gap marked."""
    if len(text) <= most:
        return text
    mark = f" [… {len(text) - most} characters left out …] " if most >= ROOMY else " […] "
    head = max(0, most - len(mark)) * 2 // 3
    tail = max(0, most - len(mark) - head)
    if most <= 4 * len(mark):
        return f"{text[: max(1, most - 1)]}…"
    return f"{_whole(text[: head + 1])}{mark}{_whole(text[: -tail - 2 : -1])[::-1]}"


def _whole(text: str) -> str:
    """A text one character too long, without the word that it cuts."""
    at = max(text.rfind(" "), text.rfind("\n"))
    return (text[:at] if at > len(text) * 3 // 4 else text[:-1]).rstrip()


def level(lengths: Sequence[int], room: int) -> int:
    """The length to which each may go so that all fit `room`: short ones stay whole, long ones share the rest."""
    left = room
    for nth, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - nth)
        if length > share:
            return max(share, 0)
        left -= length
    return max(lengths, default=0)


def asked(text: str) -> str:
    """A user's message without what a harness put into it."""
    return (_REMINDER.sub("", text) if "<system-reminder>" in text else text).strip()
