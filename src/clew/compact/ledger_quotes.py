"""The user's asks as a brief quotes them: which are written, how long, in what order, and what is noted on each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from clew.compact.ledger_corrections import notes
from clew.compact.ledger_layout import Row, flat, quoted
from clew.compact.ledger_words import ends, level
from clew.transcript import LedgerItem

LEAST = 40
"""Tokens below which an ask is not cut any further; the ones in the middle of the session are left out instead."""
TELLING = 24
"""Characters from which words that stand beside the brief too are surely the same ask."""
MANY = 3
"""Asks from which the first one is marked."""


class Quotes(msgspec.Struct, frozen=True):
    """Asks with the rows they are written in, in the order of time; gaps have a row too."""

    rows: list[tuple[LedgerItem, list[Row]]]
    left: int
    """Tokens of the room that were not used."""
    cut: bool
    """Whether some were shortened or left out."""


class Quoting:
    """How the asks of a ledger, the newest first, are quoted beside `near`, text on one line that stays in view.

    `changed` are old values with those that hold now: an ask that names an old one has a note on it.
    """

    def __init__(
        self,
        asks: Sequence[LedgerItem],
        count: Callable[[str], int],
        *,
        near: str,
        say_open: bool,
        changed: Mapping[str, str],
    ) -> None:
        self.asks, self.count, self.near, self.say_open, self.changed = asks, count, near, say_open, changed
        self.cut = False

    def within(self, room: int) -> Quotes:
        """Open asks from half of the room at least, then the newest, the first one, and the rest from new to old."""
        newest = next(iter(self.asks), None)
        listed = [ask for ask in self.asks if ask is newest or not self._is_near(ask)]
        ranked = sorted(listed, key=lambda ask: (ask.state == "notice", ask is not newest, ask is not listed[-1]))
        open_, closed = ([ask for ask in ranked if (ask.state == "open") is state] for state in (True, False))
        chosen = self._levelled(open_, max(room // 2, room - sum(self.size(ask) for ask in closed)))
        left = room - self._cost(chosen)
        older = self._levelled(closed, left)
        rows = with_gaps([*chosen, *older], [ask for ask in listed if ask.state != "notice"])
        return Quotes(rows, left - self._cost(older), self.cut)

    def size(self, ask: LedgerItem) -> int:
        """The tokens of an ask with its marks: `- `, then `> ` before each further line."""
        return self.count(ask.text) + 4 + ask.text.count("\n") * 2

    def _cost(self, chosen: Iterable[tuple[LedgerItem, list[Row]]]) -> int:
        return sum(self.count(row.text) + 1 for _, rows in chosen for row in rows)

    def _is_near(self, ask: LedgerItem) -> bool:
        """Whether an ask stands, word for word, beside the brief."""
        return len(ask.text) >= TELLING and flat(ask.text) in self.near

    def _levelled(self, asks: list[LedgerItem], room: int) -> list[tuple[LedgerItem, list[Row]]]:
        """Asks cut to the one length at which they fit; the last ones are left out where that would be too short."""
        sizes = [self.size(ask) for ask in asks]
        most = level(sizes, room)
        while sizes and most < min(LEAST, max(sizes)):
            sizes.pop()
            most = level(sizes, room)
        self.cut |= len(sizes) < len(asks) or most < max(sizes, default=0)
        return [(ask, self._quoted(ask, size, most)) for ask, size in zip(asks, sizes, strict=False)]

    def _quoted(self, ask: LedgerItem, size: int, most: int) -> list[Row]:
        """An ask within `most` tokens, with what there is to note on it."""
        words = ask.text if size <= most else ends(ask.text, max(40, len(ask.text) * (most - 9) // size))
        said = {
            "the first": ask is self.asks[-1] and len(self.asks) > MANY,
            "open": self.say_open and ask.state == "open",
            "shortened": words != ask.text,
        }
        told = [*(note for note, holds in said.items() if holds), *notes(words, self.changed)]
        return quoted(ask, words, ", ".join(told))


def with_gaps(
    chosen: Sequence[tuple[LedgerItem, list[Row]]], asks: Iterable[LedgerItem]
) -> list[tuple[LedgerItem, list[Row]]]:
    """Chosen asks in the order of time; where others of `asks` were left out, a row says how many."""
    rows = {ask.key: rows for ask, rows in chosen}
    everyone = {ask.key: ask for ask in (*asks, *(ask for ask, _ in chosen))}
    found: list[tuple[LedgerItem, list[Row]]] = []
    for here, run in groupby(sorted(everyone.values(), key=lambda ask: (ask.at, ask.key)), lambda ask: ask.key in rows):
        listed = list(run)
        if here:
            found += [(ask, rows[ask.key]) for ask in listed]
        else:
            sources = dict.fromkeys((listed[0].sources[-1], listed[-1].sources[-1]))
            found.append((listed[0], [Row(f"- … {len(listed)} left out here …", tuple(sources))]))
    return found
