"""What a person or a model types to find something again, as phrases, exclusions and filters."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
import regex

from clew.errors import BadInput
from clew.recall.terms import alone, terms

Phrase = tuple[str, ...]
"""Terms in a row."""

MATCH_SECONDS = 0.5
"""How long a pattern may look through one text: a thousand times what an honest one needs."""
LONGEST_PATTERN = 1000
"""Characters."""

_WORD = re.compile(r'(?:^|(?<=\s))(-(?=["“\w]))?(?:["“]([^"”]*)(?:["”]|$)|(\S+))')
_SHORT, _LONG = 3, 8
"""Characters of a script without blanks: up to the first a word; beyond it also each two in a row are asked for, and
beyond the second only these, since nobody says a sentence twice in the same way."""
_STOPS = re.compile(r"[\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20\u2026]+")


class Query(msgspec.Struct, frozen=True):
    """What is asked for."""

    phrases: tuple[Phrase, ...] = ()
    every: bool = False
    """Whether all phrases must be there; else more and rarer ones are better."""
    without: tuple[Phrase, ...] = ()
    roles: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    """Milliseconds since 1970-01-01 UTC, both included."""
    regex: str | None = None
    """A pattern the text has to fit as well; `pattern` compiles it."""


class Pattern:
    """A regular expression that cannot hang."""

    def __init__(self, compiled: regex.Pattern[str]) -> None:
        self._compiled = compiled

    def find(self, text: str) -> tuple[int, int] | None:
        """Where it first fits a text. Raises BadInput where it takes too long."""
        try:
            found = self._compiled.search(text, timeout=MATCH_SECONDS)
        except TimeoutError:
            raise BadInput(
                f"The pattern {self._compiled.pattern!r} takes too long: nested repeats such as (a+)+ do. "
                "Nothing was searched to the end; write it without them."
            ) from None
        return found.span() if found else None


def parse(
    words: str,
    *,
    regex: str | None = None,
    every: bool = False,
    roles: Sequence[str] = (),
    since: int | None = None,
    until: int | None = None,
) -> Query:
    """A query of words: `"a phrase"`, a word (a phrase where punctuation parts it), `-word` for what must not be there.

    Raises BadInput for a query that asks for nothing, a broken pattern, or a time that ends before it begins.
    """
    if regex is not None:
        pattern(regex)
    if since is not None and until is not None and since > until:
        raise BadInput("The time to search ends before it begins; nothing was searched. Give `since` before `until`.")
    wanted, without = list[Phrase](), list[Phrase]()
    for minus, quoted, word in _WORD.findall(words):
        if minus:
            without.append(tuple(terms(quoted or word)))
        else:
            wanted += _phrases(word, every) if word else [tuple(terms(quoted))]
    query = Query(_settled(wanted), every, _settled(without), tuple(roles), since, until, regex)
    filtered = regex is not None or query.roles or since is not None or until is not None
    if not (query.phrases or query.without or (filtered and not words.strip())):
        raise BadInput("The query holds no word, letter or digit to look for; nothing was searched. Give a word.")
    return query


def pattern(text: str) -> Pattern:
    """A pattern ready for use. Raises BadInput for one that is broken."""
    if not text or len(text) > LONGEST_PATTERN:
        raise BadInput(f"A pattern has 1 to {LONGEST_PATTERN} characters; nothing was searched. Shorten it.")
    try:
        return Pattern(regex.compile(text))
    except (regex.error, RecursionError, OverflowError, ValueError) as error:
        raise BadInput(f"The pattern {text!r} is broken ({error}); nothing was searched. Mend it.") from error


def loose(text: str, most: int = 48) -> tuple[Phrase, ...]:
    """The phrases of a whole message that a search can rank by, each once, in their order.

    Of more than `most` the longer ones are kept: length stands for rarity.
    """
    listed = list(dict.fromkeys(phrase for word in text.split() for phrase in _phrases(word, every=False)))
    telling = sorted(listed, key=lambda phrase: -sum(map(len, phrase)))[:most]
    return tuple(phrase for phrase in listed if phrase in set(telling))


def _settled(phrases: Sequence[Phrase]) -> tuple[Phrase, ...]:
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))


def _phrases(word: str, every: bool) -> Iterator[Phrase]:
    """One word as a phrase; a sentence in a script without blanks also as its pairs."""
    for part in [word] if every else _STOPS.split(word):
        phrase = tuple(terms(part))
        length = 0 if every else sum(map(alone, phrase))
        if length <= _LONG:
            yield phrase
        if length > _SHORT:
            yield from (pair for pair in pairwise(phrase) if all(map(alone, pair)))
            yield from ((one,) for one in phrase if not alone(one))
