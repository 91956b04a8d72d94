"""A few words around what was found in a text, on one line, and which of them were meant."""

import re
import unicodedata
from collections.abc import Sequence

import msgspec

from clew.recall.terms import alone
from clew.transcript.characters import border

WIDTH = 200
"""Characters of an excerpt, its marks of omission left out."""
BEFORE = 0.3
"""Of an excerpt, what stands before the first word that was meant."""
ELLIPSIS = "…"

Span = tuple[int, int]
"""From a character to the one behind the last."""

_ACCENTS = re.compile("[\u0300-\u036f]")
_BLANKS = re.compile(r"\s+")
_LETTER = r"[^\W_]"
_BETWEEN = r"[\W_]{0,8}"
"""What may stand between two terms in a row."""


class Excerpt(msgspec.Struct, frozen=True):
    """Words around a place."""

    text: str
    marks: tuple[Span, ...] = ()
    """Where in `text` what was looked for stands."""


def matches(text: str, phrases: Sequence[Sequence[str]]) -> list[Span]:
    """Where phrases stand in a text, in order, none over another; the spot of the longest phrase comes first."""
    plain = _plain(text)
    for loose in (False, True):
        found: list[Span] = []
        for phrase in sorted(phrases, key=lambda one: -sum(map(len, one))):
            found += [one.span() for one in _pattern(phrase, loose=loose).finditer(plain)]
        if found:
            return [found[0], *_apart([one for one in sorted(found[1:]) if not _over(one, found[0])])]
    return []


def _plain(text: str) -> str:
    """The text without accents and widths, where that leaves every character in its place."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    return plain if len(plain) == len(text) else text


def _pattern(phrase: Sequence[str], *, loose: bool) -> re.Pattern[str]:
    """A phrase as a pattern; `loose` finds it inside of names that are written in one, too."""
    words = _BETWEEN.join(re.escape(term) for term in phrase)
    if loose or not phrase:
        return re.compile(words or "(?!)", re.IGNORECASE)
    start = "" if alone(phrase[0]) else f"(?<!{_LETTER})"
    end = "" if alone(phrase[-1]) else f"(?!{_LETTER})"
    return re.compile(f"{start}{words}{end}", re.IGNORECASE)


def _over(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _apart(spans: Sequence[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in spans:
        if not kept or not _over(span, kept[-1]):
            kept.append(span)
    return kept


def excerpt(text: str, spans: Sequence[Span], width: int = WIDTH) -> Excerpt:
    """`width` characters around the first of the spans, all of them marked; the beginning of the text for none."""
    at = spans[0][0] if spans else 0
    start = border(text, max(0, min(at - int(width * BEFORE), len(text) - width)), -1)
    end = border(text, min(len(text), start + width), 1)
    inside = [(max(start, one), min(end, behind)) for one, behind in sorted(spans) if one < end and behind > start]
    made, marks, here = ELLIPSIS if start else "", [], start
    for one, behind in [*inside, (end, end)]:
        made = _joined(made, text[here:one])
        before = len(made)
        made = _joined(made, text[one:behind])
        if one < behind:
            marks.append((before, len(made)))
        here = behind
    if end < len(text):
        made = f"{made.rstrip()}{ELLIPSIS}"
    return Excerpt(made, tuple((one, min(behind, len(made))) for one, behind in marks if one < len(made)))


def _joined(before: str, behind: str) -> str:
    """Two parts with their line breaks and runs of blanks as one blank each."""
    line = _BLANKS.sub(" ", behind)
    return before + (line[1:] if before[-1:] in ("", " ", ELLIPSIS) and line[:1] == " " else line)
