"""The names in old messages that are likely to be needed again: found around what was searched for, each told once.

A list of names recalls far more for its size than excerpts do: with a path or a function's name the model can look
again by itself. What is a name is told by the caller; words that nobody writes in prose are added.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from math import log

import msgspec

from clew.recall.hit import Hit
from clew.recall.terms import GAP, spaced, terms

Finder = Callable[[str], Iterable[str]]
"""What finds the identifiers of a text, such as `clew.compact.identifiers.find`."""

NEAR = 2
"""Lines around one that fits the search whose names count in full."""
AFAR = 0.15
"""What a name counts elsewhere in a message that was found; 1 is beside the best line there can be."""
HALF = 4.0
"""The weight of the terms in a line, as `rarity` gives it, that makes it half as good as it can be."""
LIKE = 3.0
"""How much more a name counts that is made of nothing but terms of the search."""
SIZE = 0.5
"""The power of a name's size that its worth is divided by: with room for less, short names win."""
PLAIN = 0.5
"""How much less a name counts that may be no more than prose or plain code."""
LINE, LINES = 400, 1000
"""Characters of a line and lines of a message that are read, the first ones."""

_RUN = re.compile(r"[A-Za-z0-9_.@~+/-]{4,}")
_ODD = re.compile(r"[A-Za-z]\d|\d[A-Za-z]|\w_\w|[a-z][A-Z]|\w/\w|\w\.[a-z]|^--\w")
_ESCAPE = re.compile(r"\\[nrt]")
_PLACE = re.compile(r"(\.[a-z]{1,5})[-:]\d+(?:[-:].*)?$")
"""What grep and compilers write behind a file's name."""
_MEASURE = re.compile(
    r"(?:T\+)?\d[\d.]*(?:[mn]?s|m|min|h|[KMG]i?B|x|px|Z)"  # 3.2s, 24.6KB
    r"|\d{1,4}/\d{1,4}|\d{4}-\d\d-\d\d(?:T.*)?|\d\d?(?:st|nd|rd|th)|0o\d{1,5}"  # 10/15, a date, 2nd, 0o644
)
"""Sizes, durations, dates, shares: they were true once."""
_COMMON = re.compile(r"[A-Za-z]+/[A-Za-z]+|\w{1,2}\.\w+|[A-Za-z]\w*\.(?![a-z0-9]{1,5}$)\w+")
"""Two words with a slash, a field or a function behind a dot: often no more than prose and plain code."""
_ROW = re.compile(r"([A-Za-z]+)\d{1,2}")
_FILE = re.compile(r"\.[a-z0-9]{1,5}$")
_LONGEST = 120


def names(text: str, find: Finder) -> list[str]:
    """The names of a text, each once and as short as it still tells.

    A path is told by its last two parts, `result.UserLines` by `UserLines`, `main.go:12:` by `main.go`.
    """
    plain = _ESCAPE.sub(" ", text)
    found = (*find(plain), *(run for run in map(_bare, _RUN.findall(plain)) if _ODD.search(run)))
    kept = (name for name in dict.fromkeys(map(short, found)) if 4 <= len(name) <= _LONGEST)
    return [name for name in kept if not _MEASURE.fullmatch(name)]


def short(name: str) -> str:
    """A name as it is told."""
    if "://" in name:
        return name
    parts = [part for part in _PLACE.sub(r"\1", name).split("/") if part not in ("", ".", "..", "~")]
    if len(parts) == 1 and "." in parts[0] and not _FILE.search(parts[0]):
        last = parts[0].rpartition(".")[2]
        return last if len(last) >= 4 and _ODD.search(last) else parts[0]
    return "/".join(parts[-2:])


def telling(about: str, hits: Sequence[Hit], seen: str, find: Finder) -> list[str]:
    """The names in messages found for a text which are not in what the model sees, the likeliest first.

    Names the text itself holds come first of all, if they were ever said. A name counts more in a message that fits
    well, beside lines that hold rare terms of the text, and if it is made of such terms itself.
    """
    read = [_lines(hit, find) for hit in hits]
    rare = rarity(read)
    asked = {term: rare.get(term, 0.0) for term in terms(about) if len(term) > 2}
    worth: dict[str, float] = {}
    best = max((hit.score for hit in hits), default=1.0) or 1.0
    for hit, lines in zip(hits, read, strict=True):
        for name, near in _beside(lines, asked).items():
            worth[name] = worth.get(name, 0.0) + hit.score / best * (AFAR + near / (HALF + near))
    absent = [name for name in worth if not stands(name, seen)]
    value = {name: worth[name] * (1 + LIKE * _likeness(name, asked, rare)) * _plainness(name) for name in absent}
    own = [name for name in names(about, find) if name in value]
    return _apart(dict.fromkeys([*own, *sorted(absent, key=lambda name: (-value[name], name))]))


def _plainness(name: str) -> float:
    """What is left of a name's worth for its form and its size."""
    return float((PLAIN if _COMMON.fullmatch(name) else 1.0) / len(name) ** SIZE)


def _apart(listed: Iterable[str]) -> list[str]:
    """Without names that stand in one before them, and of a numbered row (`line1`, `line2`) the first alone."""
    kept: list[str] = []
    told, rows = "", set[str]()
    for name in listed:
        row = found[1] if (found := _ROW.fullmatch(name)) else name
        if row in rows or stands(name, told):
            continue
        rows.add(row)
        kept.append(name)
        told += f"{name} "
    return kept


def stands(name: str, text: str) -> bool:
    """Whether a name stands in a text with no letter, digit or underscore of ASCII beside it."""
    at = text.find(name)
    while at >= 0:
        around = text[max(0, at - 1) : at] + text[at + len(name) : at + len(name) + 1]
        if not any(mark.isascii() and (mark.isalnum() or mark == "_") for mark in around):
            return True
        at = text.find(name, at + 1)
    return False


class Line(msgspec.Struct, frozen=True):
    """A line of an old message as it is weighed."""

    text: str
    terms: frozenset[str]
    names: tuple[str, ...]


def _lines(hit: Hit, find: Finder) -> list[Line]:
    cut = [line[:LINE] for line in hit.text.split("\n", LINES)[:LINES] if line.strip()]
    return [Line(line, frozenset(terms(line)), tuple(names(line, find))) for line in cut]


def rarity(read: Sequence[Sequence[Line]]) -> dict[str, float]:
    """What each term weighs, by the share of messages that hold it."""
    holders: dict[str, int] = {}
    for lines in read:
        for term in frozenset[str]().union(*(line.terms for line in lines)):
            holders[term] = holders.get(term, 0) + 1
    return {term: log(1 + (len(read) - many + 0.5) / (many + 0.5)) for term, many in holders.items()}


def _beside(lines: Sequence[Line], asked: dict[str, float]) -> dict[str, float]:
    """Each name of a message with the weight of the best line near it."""
    weights = [sum(asked[term] for term in line.terms if term in asked) for line in lines]
    best: dict[str, float] = {}
    for at, line in enumerate(lines):
        near = max(weights[max(0, at - NEAR) : at + NEAR + 1]) if line.names else 0.0
        for name in line.names:
            best[name] = max(best.get(name, 0.0), near)
    return best


def _likeness(name: str, asked: dict[str, float], rare: dict[str, float]) -> float:
    """The share of a name's terms, by weight, that the text holds."""
    parts: Collection[str] = {part for part in spaced(name).split() if part != GAP}
    whole = sum(rare.get(part, 3.0) for part in parts)
    return sum(asked.get(part, 0.0) for part in parts) / whole if whole else 0.0


def _bare(run: str) -> str:
    return ("--" if run.startswith("--") else "") + run.strip(".,:;/-+~@")
