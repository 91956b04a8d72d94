"""How a text becomes search terms, in one way for what is searched and for what it is searched with.

A term is a run of letters and digits, without case and accents; punctuation parts terms, so `AUTH-731`, `src/app.py`
and `snake_case` are terms in a row. In scripts without blanks every character is a term, so that a word of two
characters is two terms in a row. Emoji and other signs are no terms. Vowel signs of scripts that have them part terms.
"""

import re
import unicodedata

VERSION = 1
"""Grows with every change of these rules: an index made by others has to be made anew."""

LONGEST = 128
"""Characters of a term that count: what is longer is data, and a hash of 512 bits has just as many."""

GAP = "·"
"""Stands between runs of terms that are no neighbours. It is part of no term, so no phrase reaches over it."""

_ALONE = (
    "\u3005\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"  # Hangul
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3"  # Thai to Khmer
)
_TERM = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")
_SINGLE = re.compile(f"[{_ALONE}]")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_HUMP = re.compile("[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_HUMPS = re.compile("[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+|[^A-Za-z0-9]+")
_NAME = re.compile(rf"[^\W{_ALONE}]+")


def terms(text: str) -> list[str]:
    """The terms of a text in their order: what a query is made of."""
    return _folded(_words(_plain(text)))


def alone(term: str) -> bool:
    """Whether a term is a character of a script without blanks."""
    return _SINGLE.fullmatch(term) is not None


def spaced(text: str) -> str:
    """What an index keeps of a text: its terms, blanks between them, so that any plain tokenizer finds just these.

    Behind a GAP stand the parts of names written in one (`retryBudget`: retry budget) and the joined forms of
    `snake_case`, each once.
    """
    plain = _plain(text)
    words = _words(plain)
    body, parts = _folded(words), _parts(plain, words)
    return f" {GAP} ".join([" ".join(body), *parts]) if parts else " ".join(body)


def _plain(text: str) -> str:
    """Without accents and widths: `é` as `e`, a full-width letter as a letter."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def _words(plain: str) -> list[str]:
    found: list[str] = _TERM.findall(plain)
    return [word[:LONGEST] for word in found]


def _folded(words: list[str]) -> list[str]:
    return " ".join(words).casefold().split(" ") if words else []


def _parts(plain: str, words: list[str]) -> list[str]:
    """The other ways in which the names of a text may be asked for, each once."""
    humps = (" ".join(_HUMPS.findall(word)) for word in dict.fromkeys(words) if _HUMP.search(word))
    names = dict.fromkeys(_NAME.findall(plain)) if "_" in plain else ()
    joined = (name.replace("_", "")[:LONGEST] for name in names if "_" in name.strip("_"))
    return [part.casefold() for part in dict.fromkeys([*humps, *joined])]
