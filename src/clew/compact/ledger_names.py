"""Which identifiers a brief still writes once its other sections stand, and in what groups."""

from collections.abc import Callable, Collection, Iterable
from itertools import chain

import msgspec

from clew.compact.identifiers import find, kind, strong
from clew.compact.ledger_corrections import REPLACED
from clew.compact.ledger_layout import Row, flow
from clew.compact.ledger_paths import legible, relative
from clew.compact.ledger_shelf import by_score
from clew.transcript import Ledger, LedgerItem

GROUPS = {
    "path": "paths", "file": "paths", "flag": "flags", "symbol": "code", "env": "code", "url": "addresses",
    "host": "addresses", "ip": "addresses", "email": "addresses",
}  # fmt: skip
"""Under which word a kind of identifier is written; all others are ids."""

SEEN = "ids, in results only"
"""The word for ids that nobody has spoken of yet."""

EXACT = ("ids", "addresses", "paths", "flags", SEEN)
"""The groups of the names that cannot be found again by searching the code, in the order they are written."""

REPEATED = 8
"""Ids and addresses that have their own place even though an ask or a decision holds them too."""

GIVEN = 4
"""Ids and addresses that come before all others because the user gave them and nothing else names them: however long
ago that was, only the user could say them again."""


SEEN_SHARE = 0.4
"""Of the room, what ids that only results hold may take while there are names that somebody spoke of."""


class Names(msgspec.Struct, frozen=True):
    """Rows of names."""

    exact: list[Row]
    """The groups of EXACT."""
    code: list[Row]
    """Names in code."""
    cut: bool
    """Whether some did not fit."""


def names(
    ledger: Ledger,
    base: str,
    *,
    room: int,
    count: Callable[[str], int],
    written: str,
    beside: frozenset[str],
    first: Collection[str],
) -> Names:
    """The identifiers that can be read neither in what is `written` nor `beside` it, by rank while `room` lasts.

    Those of `first` come before all others. The best ids and addresses are written even if a sentence holds them.
    """
    seen = beside.union(*(legible(name) for name in find(written)), legible(base))
    chosen: dict[str, list[tuple[str, LedgerItem]]] = {}
    again, most_seen = 0, int(room * SEEN_SHARE)
    order = ranked(ledger, first)
    for at, item in enumerate(chain(order, late := [])):
        name, group = relative(item.key, base), group_of(item)
        if name in seen or item.key in seen:
            if group not in ("ids", "addresses") or name in beside or again >= REPEATED:
                continue
            again += 1
        cost = count(f" {name}")
        if group == SEEN and at < len(order):
            most_seen -= cost
            if most_seen < 0:
                late.append(item)
                continue
        if cost > room:
            return _rows(chosen, cut=True)
        room -= cost
        seen |= legible(name)
        chosen.setdefault(group, []).append((name, item))
    return _rows(chosen, cut=False)


def ranked(ledger: Ledger, first: Collection[str]) -> list[LedgerItem]:
    """Identifiers in the order they are chosen."""
    listed = by_score(holding(ledger), ledger.position)
    given = [item.key for item in listed if item.state == "asked" and group_of(item) in ("ids", "addresses")]
    before = {*first, *given[:GIVEN]}
    return sorted(listed, key=lambda item: item.key not in before)


def best(ledger: Ledger, base: str, most: int) -> list[Row]:
    """The highest ranked names that the audit insists on, wherever else they stand."""
    chosen: dict[str, list[tuple[str, LedgerItem]]] = {}
    seen: set[str] = set()
    for item in [item for item in by_score(holding(ledger), ledger.position) if strong(item.key)][:most]:
        if (name := relative(item.key, base)) not in seen:
            seen |= legible(name)
            chosen.setdefault(group_of(item), []).append((name, item))
    return _rows(chosen, cut=False).exact


def holding(ledger: Ledger) -> list[LedgerItem]:
    """The identifiers that hold: all but those that others took the place of."""
    return [item for item in ledger.identifiers if item.state != REPLACED]


def group_of(item: LedgerItem) -> str:
    """The word an identifier is written under."""
    return GROUPS.get(kind(item.key), SEEN if item.state == "seen" else "ids")


def stated(base: str, items: Iterable[LedgerItem]) -> list[Row]:
    """The line that states the root of the paths, where there is one."""
    below = next((item for item in items if base and item.key.startswith(f"{base}/")), None)
    return [Row(f"Paths are relative to {base} unless they start with / or ~.", below.sources)] if below else []


def _rows(chosen: dict[str, list[tuple[str, LedgerItem]]], *, cut: bool) -> Names:
    by_name = {group: sorted(named, key=lambda one: one[0].casefold()) for group, named in chosen.items()}
    exact = [row for group in EXACT for row in flow(f"- {group}:", by_name.get(group, ()))]
    return Names(exact, flow("- code:", by_name.get("code", ())), cut)
