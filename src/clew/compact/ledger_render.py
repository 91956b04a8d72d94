"""A ledger as text within a budget: by itself the whole brief, or what stands below a model's prose.

Every section has a share of the room; what it does not use flows on to those that want more. Rules and pins are the
floor: they are written whole even where they alone exceed the budget. Quoted words are set behind `> `, so no line of
theirs can pass for a heading.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache

import msgspec

from clew.compact.identifiers import find, kind
from clew.compact.ledger_layout import Rendered, Row, box, compose, flat, flow, portions, quoted, whole
from clew.compact.ledger_paths import legible, relative, root
from clew.compact.ledger_shelf import by_recency, by_score
from clew.compact.ledger_words import ends, level
from clew.tokens import estimate
from clew.transcript import Ledger, LedgerItem

DECISIONS, TODOS, RULES, PENDING, IDENTIFIERS = HEADINGS = (
    "## Decisions", "## Open TODOs", "## Constraints/Rules", "## Pending user asks", "## Exact identifiers",
)  # fmt: skip
"""The five headings of a brief, in their order."""
ASKED, PINNED, STATED, FILES, STATE, FAILED, MORE = (
    "## User asks, verbatim", "## Pinned", "## Rules the user stated", "## Files", "## To-do state",
    "## Failed attempts", "## More identifiers",
)  # fmt: skip
"""The headings of what the ledger adds."""

SHARES: dict[str, float] = {
    "asks": 0.26, "files": 0.18, "identifiers": 0.42, "todos": 0.06, "failures": 0.04, "decisions": 0.04,
}  # fmt: skip
"""How the room is divided where every section wants more than there is."""
ASK_LEAST = 24
"""Tokens below which an ask is not cut any further; the ones in the middle of the session are left out instead."""
_Count = Callable[[str], int]


def render(
    ledger: Ledger,
    budget: int,
    *,
    standalone: bool,
    count: _Count = estimate.text,
    shown: str = "",
    first: Collection[str] = (),
) -> Rendered:
    """The ledger in at most `budget` tokens as `count` counts them; rules and pins are written even beyond that.

    `standalone` writes the five headings of a brief and then what the ledger adds; otherwise only the latter, to stand
    below a model's prose that has the five. `shown` is text that stays in view beside it, that prose or the kept tail:
    identifiers that can be read there are not written again. `first` are identifiers that come before all others.
    """
    beside = frozenset(name for found in find(shown) for name in legible(found))
    counted = lru_cache(maxsize=None)(count)
    room, best = budget, None
    for _ in range(8):
        rendered = _Page(ledger, room, standalone, counted, beside, first).write()
        unused = budget - count(rendered.text)
        if unused >= 0 and (best is None or len(rendered.text) > len(best.text)):
            best = rendered
        if room <= 0 or (0 <= unused <= budget // 64) or (unused > 0 and not rendered.losses):
            break
        room = max(0, room + unused - (unused < 0))
    return best or rendered


class _Page:
    """One attempt at a brief: each section chooses what fits its portion, the names come last."""

    def __init__(
        self,
        ledger: Ledger,
        room: int,
        standalone: bool,
        count: _Count,
        beside: frozenset[str],
        first: Collection[str],
    ) -> None:
        self.ledger, self.standalone, self.count, self.beside = ledger, standalone, count, beside
        self.first = frozenset(first)
        self.base = root([item.key for item in (*ledger.files, *ledger.identifiers)])
        self.files = merged(self.ledger.files, self.base)
        self.losses: list[str] = []
        self.rules = [Row(f"- {flat(item.text)}", item.sources) for item in by_recency(ledger.rules)]
        self.pins = [whole(item) for item in ledger.pins]
        floor = self._cost([*self.rules, *self.pins]) + self._cost(Row(f"{heading}\n") for heading in self._headings())
        wanted = self._wanted()
        self.room = portions(wanted, SHARES, max(0, room - floor))
        self.spare = max(0, room - floor) - sum(self.room.values())

    def _headings(self) -> tuple[str, ...]:
        return (*HEADINGS, ASKED, FILES, FAILED) if self.standalone else (ASKED, STATED, FILES, STATE, FAILED, MORE)

    def _cost(self, rows: Iterable[Row]) -> int:
        return sum(self.count(row.text) + 1 for row in rows)

    def _wanted(self) -> dict[str, int]:
        names = " ".join(relative(item.key, self.base) for item in self.ledger.identifiers)
        return {
            "asks": sum(self._size(item) + 4 for item in self.ledger.asks),
            "files": sum(self.count(relative(item.key, self.base)) + 1 for item in self.files) + 20,
            "identifiers": self.count(names) + 40,
            "todos": sum(self.count(item.text) + 6 for item in self.ledger.todos),
            "failures": sum(self.count(item.text) + 3 for item in self.ledger.failures),
            "decisions": sum(self.count(item.text) + 3 for item in self.ledger.decisions),
        }

    def write(self) -> Rendered:
        """Choose and compose."""
        asks = self._asks()
        pending = [row for ask, rows in asks if ask.state == "open" for row in rows]
        older = [row for ask, rows in asks if ask.state != "open" for row in rows]
        files, failures = self._files(), self._failures()
        open_, settled = self._todos()
        decisions = self._fill(
            "decisions", [Row(f"- {flat(d.text)}", d.sources) for d in by_recency(self.ledger.decisions)]
        )
        so_far = [*pending, *older, *files, *failures, *open_, *settled, *decisions, *self.rules, *self.pins]
        names = self._names("\n".join(row.text for row in so_far))
        if self.standalone:
            sections = [
                (DECISIONS, decisions),
                (TODOS, open_),
                (RULES, self.rules),
                (PENDING, pending),
                (IDENTIFIERS, names),
                (PINNED, self.pins),
                (ASKED, older),
                (FILES, files),
                (STATE, settled),
                (FAILED, failures),
            ]
        else:
            sections = [
                (ASKED, [*pending, *older]),
                (STATED, self.rules),
                (PINNED, self.pins),
                (STATE, [*open_, *settled]),
                (FILES, files),
                (FAILED, failures),
                (MORE, names),
            ]
        return compose(sections, HEADINGS if self.standalone else (), tuple(self.losses))

    def _fill(self, section: str, rows: Sequence[Row]) -> list[Row]:
        """The rows, best first, that fit the section's portion; what is left of it goes to the names."""
        chosen, left = [], self.room[section]
        for row in rows:
            cost = self.count(row.text) + 1
            if cost > left:
                self.losses.append(section)
                break
            chosen.append(row)
            left -= cost
        self.spare += left
        return chosen

    def _asks(self) -> list[tuple[LedgerItem, list[Row]]]:
        """Open asks from half of the room at least, then the newest, the first one, and the rest from new to old."""
        listed = by_recency(self.ledger.asks)
        ranked = sorted(listed, key=lambda ask: (ask.state == "notice", ask is not listed[0], ask is not listed[-1]))
        open_, closed = ([ask for ask in ranked if (ask.state == "open") is state] for state in (True, False))
        room = self.room["asks"]
        pending = self._levelled(open_, max(room // 2, room - sum(self._size(ask) for ask in closed)))
        left = room - sum(self._cost(rows) for _, rows in pending)
        older = self._levelled(closed, left)
        self.spare += left - sum(self._cost(rows) for _, rows in older)
        return [*pending, *older]

    def _size(self, ask: LedgerItem) -> int:
        """The tokens of an ask with its marks: `- `, then `> ` before each further line."""
        return self.count(ask.text) + 4 + ask.text.count("\n") * 2

    def _levelled(self, asks: list[LedgerItem], room: int) -> list[tuple[LedgerItem, list[Row]]]:
        """Asks cut to the one length at which they fit; the last ones are left out where that would be too short."""
        sizes = [self._size(ask) for ask in asks]
        most = level(sizes, room)
        while sizes and most < min(ASK_LEAST, max(sizes)):
            sizes.pop()
            most = level(sizes, room)
        if len(sizes) < len(asks) or most < max(sizes, default=0):
            self.losses.append("asks")
        return [(ask, quoted(ask, self._within(ask.text, size, most))) for ask, size in zip(asks, sizes, strict=False)]

    def _within(self, text: str, size: int, most: int) -> str:
        return text if size <= most else ends(text, max(40, len(text) * (most - 14) // size))

    def _files(self) -> list[Row]:
        rows, left = [], self.room["files"] + max(0, self.spare)
        self.spare = min(0, self.spare)
        for state in ("edited", "created", "deleted", "read"):
            items = [item for item in self.files if item.state == state]
            fitting = []
            for item in items:
                cost = self.count(relative(item.key, self.base)) + 1
                if cost + 4 > left:
                    self.losses.append("files")
                    break
                fitting.append((relative(item.key, self.base), item))
                left -= cost
            rows += flow(f"- {state}:", fitting)
        self.spare += left
        return rows

    def _failures(self) -> list[Row]:
        ranked = [item for item in by_recency(self.ledger.failures) if item.state != "fixed"]
        return self._fill("failures", [Row(f"- {flat(item.text)}", item.sources) for item in ranked])

    def _todos(self) -> tuple[list[Row], list[Row]]:
        boxes = {"open": "[ ]", "active": "[ ] (in progress)", "done": "[x]", "cancelled": "[-]"}
        listed = [item for item in by_recency(self.ledger.todos) if item.state in boxes]
        ranked = sorted(listed, key=lambda item: ("active", "open", "done", "cancelled").index(item.state))
        rows = {box(item, boxes[item.state]): item for item in ranked}
        chosen = self._fill("todos", list(rows))
        return ([row for row in chosen if rows[row].state in ("open", "active")],
                [row for row in chosen if rows[row].state in ("done", "cancelled")])  # fmt: skip

    def _root(self) -> list[Row]:
        items = (*self.ledger.files, *self.ledger.identifiers)
        below = next((item for item in items if self.base and item.key.startswith(f"{self.base}/")), None)
        text = f"Paths are relative to {self.base} unless they start with / or ~."
        return [Row(text, below.sources)] if below else []

    def _names(self, written: str) -> list[Row]:
        """The identifiers not legible in what is written already, by rank, in rows of one kind each."""
        seen = self.beside.union(*(legible(name) for name in find(written)), legible(self.base))
        opening = self._root()
        left = self.room["identifiers"] + self.spare - self._cost(opening)
        chosen: dict[str, list[tuple[str, LedgerItem]]] = {}
        ranked = by_score(self.ledger.identifiers, self.ledger.position)
        for item in sorted(ranked, key=lambda item: item.key not in self.first):
            name = relative(item.key, self.base)
            if name in seen or item.key in seen:
                continue
            cost = self.count(f" {name}")
            if cost > left:
                self.losses.append("identifiers")
                break
            left -= cost
            seen |= legible(name)
            chosen.setdefault(GROUPS.get(kind(item.key), "ids"), []).append((name, item))
        return [*opening, *(row for group, named in chosen.items() for row in flow(f"- {group}:", named))]


GROUPS = {
    "path": "paths", "file": "paths", "flag": "flags", "symbol": "code", "env": "code", "url": "addresses",
    "host": "addresses", "ip": "addresses", "email": "addresses",
}  # fmt: skip
"""Under which word a kind of identifier is written."""


def merged(files: Iterable[LedgerItem], base: str) -> list[LedgerItem]:
    """Files, the newest first, each once: written from the root and below it, one is the same file."""
    found: dict[str, LedgerItem] = {}
    for item in by_recency(files):
        known = found.setdefault(relative(item.key, base), item)
        if known.state == "read" and item.state != "read":
            found[relative(item.key, base)] = msgspec.structs.replace(known, state=item.state)
    return list(found.values())
