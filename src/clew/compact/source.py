"""What a brief may say: an index of what it stands for, which finds the entries behind a line."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from clew.compact import identifiers
from clew.compact.words import features, share
from clew.transcript import Assistant, Call, Compaction, Entry, Said, Text, Thinking, blocks_of

MAX_SOURCES = 3
"""Entries named for one line: the fewest that cover it."""

SUPPORTED = 0.5
"""Of a line's features, weighed by rarity, that its sources must hold. Of the lines of recorded summaries 4 % fall
short, most of them headings; of lines about another task in the same code base three in ten do."""

WORTH = 0.15
"""Of a line's weight that one more source must add to be named."""

BROAD = 400
"""Characters from which an entry weighs less: a long log holds every word, and says little with each."""

LONGEST = 400_000
"""Characters of one entry that are indexed: a dump of megabytes supports no line that its ends do not."""

FEW = 3
"""Lines with fewer features say too little to be judged."""


class Source:
    """An index over entries and an earlier brief. Build it once a compaction; asking is cheap."""

    def __init__(self, entries: Iterable[Entry], previous: Compaction | None = None, extra: str = "") -> None:
        """`extra` is text a brief may quote without an entry of its own, such as the focus."""
        documents = [(entry.id, text) for entry in entries if (text := bounded(plain(entry)))]
        self._origins: list[tuple[str, ...]] = [(name,) for name, _ in documents]
        texts = [text for _, text in documents]
        for ids, line in _lines_of(previous):
            self._origins.append(ids)
            texts.append(line)
        spoken = "\n".join(texts)
        uses = Counter(one for text in texts for one in identifiers.find(text))
        self.identifiers = tuple(one for one, _ in uses.most_common())
        """The identifiers of what is wound up, those that stand in most entries first."""
        self._known = frozenset(uses)
        self._text = f"{spoken}\n{extra}"
        self._postings: dict[str, list[int]] = {}
        for index, text in enumerate(texts):
            for feature in features(text):
                self._postings.setdefault(feature, []).append(index)
        self._count = len(texts)
        self._breadth = [1 + math.log10(1 + len(text) / BROAD) for text in texts]

    def knows(self, identifier: str) -> bool:
        """Whether an identifier occurs in the source, whole and not as a part of another.

        Plain words joined by slashes (`lint/test/build`) are an enumeration as often as a path: their words will do.
        """
        if identifier in self._known or identifiers.occurs(identifier, self._text):
            return True
        words = identifier.split("/")
        return all(map(str.isalpha, words)) and all(identifiers.occurs(word, self._text) for word in words)

    def support(self, line: str) -> tuple[tuple[str, ...], float]:
        """The entries that best support a line, and the share of it they cover: 1.0 for too little to judge."""
        weights = {feature: self._weight(feature) for feature in features(line)}
        if not weights:
            return (), 1.0
        chosen, covered = self._cover(weights)
        ids = tuple(dict.fromkeys(one for index in chosen for one in self._origins[index]))[:MAX_SOURCES]
        score = share(weights, covered)
        return ids, score if len(weights) >= FEW else 1.0

    def _weight(self, feature: str) -> float:
        return math.log(1 + (self._count + 1) / (1 + len(self._postings.get(feature, ()))))

    def _cover(self, weights: Mapping[str, float]) -> tuple[list[int], set[str]]:
        """Greedily, the few documents that hold most of a line's weight; the newer one where two hold the same."""
        left, chosen, covered = dict(weights), [], set()  # type: dict[str, float], list[int], set[str]
        total = sum(weights.values())
        while left and len(chosen) < MAX_SOURCES:
            scores: Counter[int] = Counter()
            for feature, weight in left.items():
                for index in self._postings.get(feature, ()):
                    scores[index] += weight / self._breadth[index]  # type: ignore[assignment]
            best = max(scores, key=lambda index: (scores[index], index), default=None)
            if best is None or (chosen and scores[best] * self._breadth[best] < WORTH * total):
                break
            held = {feature for feature in left if self._holds(feature, best)}
            chosen.append(best)
            covered |= held
            for feature in held:
                del left[feature]
        return chosen, covered

    def _holds(self, feature: str, index: int) -> bool:
        return index in self._postings.get(feature, ())


def bounded(text: str) -> str:
    """A text as far as it is indexed: head and tail of a very long one."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"


def plain(entry: Entry) -> str:
    """All that an entry says, as text: words, reasoning, arguments; nothing for what the model is not shown."""
    if not isinstance(entry.body, Said):
        return ""
    message = entry.body.message
    parts = [block.text for block in blocks_of(message) if isinstance(block, Text | Thinking)]
    if isinstance(message, Assistant):
        parts += [f"{c.name} {_strings(c.arguments)} {c.raw or ''}" for c in message.blocks if isinstance(c, Call)]
    return "\n".join(parts)


def _strings(value: object) -> str:
    if isinstance(value, Mapping):
        return "\n".join(f"{key} {_strings(item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n".join(map(_strings, value))
    return str(value)


def _lines_of(previous: Compaction | None) -> list[tuple[tuple[str, ...], str]]:
    """An earlier brief line by line, each with the entries it came from, so that the thread does not end at it."""
    if previous is None:
        return []
    sources = {line.number: line.sources for line in previous.lines}
    return [
        (sources.get(number, ()), line) for number, line in enumerate(previous.summary.split("\n"), 1) if line.strip()
    ]
