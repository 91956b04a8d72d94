"""Facts by key: how one is merged with what is known of it, how they are ranked, and how many are kept."""

import math
from collections.abc import Iterable

import msgspec

from clew.compact.identifiers import strong
from clew.compact.ledger_corrections import REPLACED
from clew.transcript import LedgerItem

STRENGTH = {"seen": 0.0, "said": 1.5, "asked": 1.5, "used": 1.5, "aimed": 2.0, REPLACED: 3.0}
"""How an identifier came up, at best: only in a result; in the model's words; in the user's; in a call's long
arguments, such as a file's content; in its short ones, which aim at something. That one was replaced is stored before
all others and never written among them."""

EXACT = 0.5
"""What a name gains that cannot be found again by searching the code: an id, a flag, a path (but not `../x`, which
says where from)."""

NEAR, FAR = 20, 100
"""Entries after which recency has fallen to 1/e: the step at hand, and the task at hand."""

CAPS: dict[str, int] = {
    "asks": 300, "rules": 240, "pins": 1000, "identifiers": 900, "files": 300, "todos": 120, "failures": 40,
    "decisions": 60,
}  # fmt: skip
"""How many facts of a section are stored; a view of 160,000 tokens holds about 1,000 identifiers."""


FIRST: dict[str, int] = {"asks": 1, "rules": 10}
"""How many of the oldest facts of a section stay whatever comes: what the session was begun for, its first rules."""


class Shelf:
    """The facts of one section while entries are read; a put of a known key adds to it, and the newest value wins."""

    def __init__(self, items: Iterable[LedgerItem]) -> None:
        self.items = {item.key: item for item in items}

    def put(self, key: str, text: str, at: int, source: str, state: str = "", *, again: bool = False) -> None:
        """Add a fact, or what is new of it: text, state, and where it was found (the first place, the newest two).

        With `again` it is another event in the same words, and what was known of the one before is forgotten.
        """
        old = self.items.pop(key, None)
        if old is None or again:
            self.items[key] = LedgerItem(key, text, at, 1, state, (source,))
        else:
            sources = old.sources if source in old.sources else (old.sources[0], *old.sources[1:][-1:], source)
            self.items[key] = LedgerItem(key, text, at, old.uses + 1, state, sources)

    def count(self, name: str, at: int, source: str, state: str) -> None:
        """Add an identifier, or one more entry that holds it. There are many: only the newest place is kept of each."""
        old = self.items.get(name)
        if old is None:
            self.items[name] = LedgerItem(name, name, at, 1, state, (source,))
        else:
            uses = old.uses + (old.at != at)
            text = old.text if old.state == REPLACED else name
            self.items[name] = LedgerItem(name, text, at, uses, stronger(old.state, state), (source,))

    def replace(self, old: str, new: str, at: int, source: str) -> None:
        """Note that one identifier took the place of another; the new one holds, whatever was said of it before."""
        if old == new:
            return
        known = self.items.get(old)
        self.items[old] = LedgerItem(old, new, at, known.uses if known else 1, REPLACED, (source,))
        if (back := self.items.get(new)) and back.state == REPLACED:
            self.items[new] = LedgerItem(new, new, at, back.uses, "said", (source,))

    def mark(self, key: str, state: str) -> None:
        """Change the state of a fact, if it is there and has another one."""
        if (old := self.items.get(key)) and old.state != state:
            self.items[key] = msgspec.structs.replace(old, state=state)


def recency(item: LedgerItem, position: int, span: int) -> float:
    """1 for a fact of the newest entry, falling by 1/e with every `span` entries since."""
    return math.exp((item.at - position) / span)


def identifier_score(item: LedgerItem, position: int) -> float:
    """How likely an identifier is to be needed next, for the room it takes: provenance, recency, use, length."""
    exact = EXACT if strong(item.key) and not item.key.startswith(("./", "../")) else 0.0
    recent = 0.5 * recency(item, position, FAR) + recency(item, position, NEAR)
    use = 0.5 * math.log1p(item.uses)
    return STRENGTH.get(item.state, 0.0) + exact + recent + use - 0.5 * math.log(len(item.key) / 4 + 0.5)


def by_score(items: Iterable[LedgerItem], position: int) -> list[LedgerItem]:
    """Identifiers, the most needed first."""
    return sorted(items, key=lambda item: (-identifier_score(item, position), item.key))


def by_recency(items: Iterable[LedgerItem]) -> list[LedgerItem]:
    """Facts, the newest first."""
    return sorted(items, key=lambda item: (-item.at, item.key))


SETTLED = frozenset({"done", "cancelled", "gone", "fixed", "answered", "read", "nod", "lifted"})
"""States that make a fact the first to go where a section is full."""


def stored(section: str, items: Iterable[LedgerItem], position: int) -> tuple[LedgerItem, ...]:
    """What a section keeps: at most CAPS of it, identifiers by rank, the rest in the order of time."""
    if section == "identifiers":
        return tuple(by_score(items, position)[: CAPS[section]])
    listed = sorted(items, key=lambda item: item.at)
    first = {item.key for item in listed[: FIRST.get(section, 0)]}
    ranked = sorted(listed, key=lambda item: (item.key not in first, item.state in SETTLED, -item.at))
    kept = {item.key for item in ranked[: CAPS[section]]}
    return tuple(item for item in listed if item.key in kept)


def full(section: str, kept: Iterable[LedgerItem]) -> bool:
    """Whether a section is at its cap, so that something may have been left out of it."""
    return len(list(kept)) >= CAPS[section]


def stronger(old: str, new: str) -> str:
    """The better of two ways an identifier came up."""
    return old if STRENGTH.get(old, -1) >= STRENGTH.get(new, -1) else new
