"""What two texts have in common, in any script: stems of words, or pairs of characters where no blanks part words."""

import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping

STEM = 6
"""Letters of a word that count: enough to take `migrate` and `migration`, `миграция` and `миграции` for one."""

_ENDING = re.compile(r"(?<=[a-z]{3})(?:ings?|ed|es|s)$")
"""English endings that are taken off before, so that `fixing`, `fixes` and `fix` are one."""

_UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HANGUL = r"\uac00-\ud7af"
_RUN = re.compile(rf"[{_UNSPACED}]+|[{_HANGUL}]+|[^\W_{_UNSPACED}{_HANGUL}]+")
_PAIRED = re.compile(rf"[{_UNSPACED}{_HANGUL}]")

STOP = frozenset(
    """a an and are as at be been but by can could did do does for from had has have how i if in into is it its just me
    my no not of on or our out please should so some that the their them then there these they this to too up us was we
    were what when where which who will with would you your let now also any all make use using used need want
    de la el en y que los las un una por con para del se es le les des et est une dans der die das und ist ein eine den
    zu mit auf von""".split()
)
"""Words too common to tell one text from another."""

_STOP_PAIRS = frozenset(
    "请帮 帮我 一下 这个 那个 我们 你们 可以 现在 然后 需要 です ます する して から ください この".split()
)


def normal(text: str) -> str:
    """A text with compatible forms folded, case dropped and white space made single."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def features(text: str) -> set[str]:
    """What a text can be compared by: stems of words; pairs of neighbouring characters in Chinese and Japanese.

    Korean particles hang on their words, so a Hangul word counts by its pairs of syllables. Common words are left out.
    """
    found: set[str] = set()
    for run in _RUN.findall(normal(text)):
        if _PAIRED.match(run):
            found.update(_pairs(run))
        elif len(run) > 1 and run not in STOP:
            found.add(_ENDING.sub("", run)[:STEM])
    return found


def _pairs(run: str) -> Iterable[str]:
    if len(run) == 1:
        return (run,)
    return (pair for pair in map("".join, itertools.pairwise(run)) if pair not in _STOP_PAIRS)


PAIR_WEIGHT = 1.6
"""What a found pair of characters counts: of a phrase put in another order only about every other pair is left."""


def share(of: Collection[str] | Mapping[str, float], found_in: Collection[str]) -> float:
    """How much of `of` is in `found_in`, by features: 1.0 where there is nothing to look for.

    As a mapping, `of` says what each feature weighs; else all weigh the same.
    """
    weights = of if isinstance(of, Mapping) else dict.fromkeys(of, 1.0)
    pairs = {feature: weight for feature, weight in weights.items() if _PAIRED.match(feature)}
    words = sum(weight for feature, weight in weights.items() if feature in found_in and feature not in pairs)
    paired = PAIR_WEIGHT * sum(weight for feature, weight in pairs.items() if feature in found_in)
    total = sum(weights.values())
    return (words + min(sum(pairs.values()), paired)) / total if total else 1.0


SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("Han", re.compile(r"[\u4e00-\u9fff]")),
    ("Kana", re.compile(r"[\u3040-\u30ff]")),
    ("Hangul", re.compile(r"[\uac00-\ud7af]")),
    ("Cyrillic", re.compile(r"[\u0400-\u04ff]")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]")),
    ("Latin", re.compile(r"[A-Za-z\u00c0-\u024f]")),
)
"""Scripts by which the language of a session can be told at a glance."""

DENSITY = {"Latin": 5.0, "Cyrillic": 5.0, "Arabic": 4.0, "Hangul": 2.0}
"""Letters a word has in a script: one Chinese character weighs as much as a Latin word of five letters."""


def scripts(text: str) -> dict[str, float]:
    """The share of each script in a text, by words; empty for a text without letters."""
    weights = {name: len(pattern.findall(text)) / DENSITY.get(name, 1.5) for name, pattern in SCRIPTS}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items() if weight} if total else {}
