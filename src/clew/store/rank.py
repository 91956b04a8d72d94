"""Which messages fit a search best: one way for all stores, which only say which messages hold what.

The work is bounded: of a phrase that very many messages hold, only the newest count by themselves, and older ones where
they hold a rarer phrase too.
"""

from collections.abc import Sequence
from heapq import nlargest
from math import log
from typing import Protocol

import msgspec

from clew.errors import BadInput
from clew.recall.message import ROLES
from clew.recall.terms import terms
from clew.store.port import Phrase, Search

REACH = 8000
"""Messages that are ranked for all phrases of a search together, the newest ones of each."""
MOST, LEAST = 2000, 400
"""Of them for one phrase."""
PHRASES = 32
"""Phrases of a search that count, the first ones."""
_SHORTLIST = 400
"""Messages whose length is looked at, those with the weightiest phrases."""
_SECOND_LOOKS = 6
"""Phrases too common to be followed to their end that are looked for beside rare ones, the rarest of them."""
_SHORT = 2
"""Terms of a phrase that is cheap to match."""
_USUAL = 150
"""Terms of a usual message."""


class Index(Protocol):
    """What a store can say of one session's messages that pass the filters of one search."""

    def newest(self, limit: int, any_of: Sequence[Phrase], all_of: Sequence[Phrase] = ()) -> list[int]:
        """The `seq` of messages that hold one of `any_of` (if there are any) and all of `all_of`, newest first."""
        ...

    def lengths(self, seqs: Sequence[int]) -> dict[int, int]:
        """How many terms these messages have."""
        ...


def tidy(wanted: Search) -> Search:
    """The same search, its phrases in terms as an index has them, each once. Raises BadInput for an unknown role."""

    def settled(phrases: Sequence[Phrase]) -> tuple[Phrase, ...]:
        return tuple(dict.fromkeys(tuple(terms(" ".join(phrase))) for phrase in phrases))[:PHRASES]

    if strange := [role for role in wanted.roles if role not in ROLES]:
        raise BadInput(f"{strange[0]!r} is no role; nothing was searched. Name {', '.join(ROLES)}.")
    without = tuple(phrase for phrase in settled(wanted.without) if phrase)
    return msgspec.structs.replace(wanted, phrases=settled(wanted.phrases), without=without)


def best(index: Index, wanted: Search, total: int) -> list[tuple[int, float]]:
    """The `seq` and score of what fits best, best first, of equals the newer first. `total`: entries of the session."""
    if wanted.limit <= 0 or (wanted.every and () in wanted.phrases):
        return []
    if not wanted.phrases:
        return [(seq, 0.0) for seq in index.newest(wanted.limit, ())]
    phrases = [phrase for phrase in wanted.phrases if phrase]
    weights = dict.fromkeys(index.newest(MOST, (), phrases), 1.0) if wanted.every else _weights(index, phrases, total)
    listed = nlargest(max(_SHORTLIST, wanted.limit), weights, key=lambda seq: (weights[seq], seq))
    lengths = index.lengths(listed)
    scores = {seq: weights[seq] / (1 + log(1 + lengths[seq] / _USUAL)) for seq in listed}
    return sorted(scores.items(), key=lambda one: (-one[1], -one[0]))[: wanted.limit]


def _weights(index: Index, phrases: Sequence[Phrase], total: int) -> dict[int, float]:
    """For each message the sum over the phrases it holds; a phrase weighs more the fewer hold it."""
    reach = min(MOST, max(LEAST, REACH // max(1, len(phrases))))
    holders = {phrase: index.newest(reach, (phrase,)) for phrase in phrases}
    weight = {phrase: _rarity(held, reach, total) for phrase, held in holders.items()}
    by_rarity = sorted(phrases, key=lambda phrase: -weight[phrase])
    if rare := _rare(holders, by_rarity, reach):
        cut = [phrase for phrase in by_rarity if len(holders[phrase]) == reach and phrase not in rare]
        for phrase in cut[:_SECOND_LOOKS]:
            older = index.newest(reach, rare, (phrase,))
            holders[phrase] = list(dict.fromkeys([*holders[phrase], *older]))
    weights: dict[int, float] = {}
    for phrase, held in holders.items():
        for seq in held:
            weights[seq] = weights.get(seq, 0.0) + weight[phrase]
    return weights


def _rarity(held: Sequence[int], reach: int, total: int) -> float:
    """What a phrase weighs. Where not all who hold it were listed, those that were say how thick it lies."""
    many = len(held) * total / max(1, total - held[-1] + 1) if held and len(held) == reach else len(held)
    return log(1 + max(0.0, total - many + 0.5) / (many + 0.5))


def _rare(holders: dict[Phrase, list[int]], by_rarity: Sequence[Phrase], reach: int) -> list[Phrase]:
    """The phrases whose holders are all known, as many of the rarest as have not too many together.

    Long phrases are left out: to match them twice costs more than the order among their holders is worth.
    """
    rare, left = list[Phrase](), reach
    for phrase in by_rarity:
        if len(phrase) <= _SHORT and 0 < len(holders[phrase]) < left:
            rare.append(phrase)
            left -= len(holders[phrase])
    return rare
