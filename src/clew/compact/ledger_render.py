"""A ledger as text within a budget: by itself the whole brief, or what stands below a model's prose.

Every section has a share of the room; what it does not use flows on to those that want more. Rules and pins are the
floor: they are written whole even where they alone exceed the budget. Quoted words are set behind `> `, so no line of
theirs can pass for a heading. What the text beside the brief shows takes no room of it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache

import msgspec

from clew.compact.identifiers import find, strong
from clew.compact.ledger_corrections import marked, notes, replaced
from clew.compact.ledger_layout import Rendered, Row, box, compose, flat, flow, portions, whole
from clew.compact.ledger_names import best, names, stated
from clew.compact.ledger_paths import legible, relative, root
from clew.compact.ledger_quotes import Quoting
from clew.compact.ledger_shelf import CAPS, by_recency, full
from clew.tokens import estimate
from clew.transcript import Ledger, LedgerItem

DECISIONS, TODOS, RULES, PENDING, IDENTIFIERS = HEADINGS = (
    "## Decisions", "## Open TODOs", "## Constraints/Rules", "## Pending user asks", "## Exact identifiers",
)  # fmt: skip
"""The five headings of a brief, in their order."""
ASKED, PINNED, STATED, FILES, STATE, FAILED, MORE, CODE = (
    "## User asks, oldest first", "## Pinned", "## Rules the user stated", "## Files", "## To-do state",
    "## Failed attempts", "## More identifiers", "## Names in code",
)  # fmt: skip
"""The headings of what the ledger adds."""

SHARES: dict[str, float] = {
    "asks": 0.30, "files": 0.16, "identifiers": 0.40, "todos": 0.06, "failures": 0.04, "decisions": 0.04,
}  # fmt: skip
"""How the room is divided where every section wants more than there is."""
BESIDE: dict[str, float] = SHARES | {"asks": 0.22, "files": 0.12, "identifiers": 0.52}
"""The same where a tail or a prose stands beside it, which tells the work at hand already."""
MOST_RULES, OLDEST_RULES = 60, 10
"""Rules that are written; of more than that, so many of the oldest and then the newest."""
MOST_DECISIONS, MOST_COMMITS = 12, 6
"""Decisions that are written, and how many of them may be subjects of commits."""
INSISTED = 6
"""Exact identifiers that are written even though the other sections hold them all."""
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
    near = _Near(frozenset(name for found in find(shown) for name in legible(found)), flat(shown))
    counted = lru_cache(maxsize=None)(count)
    room, fitting = budget, None
    for _ in range(8):
        rendered = _Page(ledger, room, standalone, counted, near, first).write()
        unused = budget - count(rendered.text)
        if unused >= 0 and (fitting is None or len(rendered.text) > len(fitting.text)):
            fitting = rendered
        if room <= 0 or (0 <= unused <= budget // 64) or (unused > 0 and not rendered.losses):
            break
        room = max(0, room + unused - (unused < 0))
    return fitting or rendered


class _Near(msgspec.Struct, frozen=True):
    """What stays in view beside a brief: the names that can be read there, and its words on one line."""

    names: frozenset[str]
    words: str


class _Page:
    """One attempt at a brief: each section chooses what fits its portion, the names come last."""

    def __init__(
        self,
        ledger: Ledger,
        room: int,
        standalone: bool,
        count: _Count,
        near: _Near,
        first: Collection[str],
    ) -> None:
        self.ledger, self.standalone, self.count, self.near = ledger, standalone, count, near
        self.first = frozenset(first if standalone else (*first, *decided(ledger.decisions)))
        self.base = root([item.key for item in (*ledger.files, *ledger.identifiers)])
        self.changed = replaced(ledger.identifiers)
        self.losses = [section for section in CAPS if full(section, getattr(ledger, section))]
        self.asks = [ask for ask in by_recency(ledger.asks) if ask.state != "nod"]
        self.quoting = Quoting(self.asks, count, near=near.words, say_open=not standalone, changed=self.changed)
        self.files = [file for file in merged(ledger.files, self.base) if not self._is_near(file)]
        self.decisions = best_decisions(ledger.decisions) if standalone else []
        self.rules = self._lines(self._rules())
        self.pins = [whole(item, *notes(item.text, self.changed)) for item in ledger.pins]
        floor = self._cost([*self.rules, *self.pins]) + self._cost(Row(f"{heading}\n") for heading in self._headings())
        self.room = portions(self._wanted(), BESIDE if near.words else SHARES, max(0, room - floor))
        self.spare = max(0, room - floor) - sum(self.room.values())

    def _lines(self, items: Iterable[LedgerItem]) -> list[Row]:
        """Facts as a line each, with a note on every value in them that does not hold any more."""
        return [Row(marked(f"- {flat(item.text)}", self.changed), item.sources) for item in items]

    def _rules(self) -> list[LedgerItem]:
        """The rules that stand, in the order they were stated; of too many, the first ones and the newest."""
        standing = [rule for rule in self.ledger.rules if rule.state != "lifted"]
        if len(standing) <= MOST_RULES:
            return standing
        self.losses.append("rules")
        return [*standing[:OLDEST_RULES], *standing[OLDEST_RULES - MOST_RULES :]]

    def _is_near(self, file: LedgerItem) -> bool:
        """Whether all there is to say of a file can be read beside the brief: that it was only read, and its name."""
        return file.state == "read" and bool({file.key, relative(file.key, self.base)} & self.near.names)

    def _headings(self) -> tuple[str, ...]:
        return (
            (*HEADINGS, ASKED, FILES, FAILED, CODE) if self.standalone else (ASKED, STATED, FILES, FAILED, MORE, CODE)
        )

    def _cost(self, rows: Iterable[Row]) -> int:
        return sum(self.count(row.text) + 1 for row in rows)

    def _wanted(self) -> dict[str, int]:
        unseen = (item.key for item in self.ledger.identifiers if item.key not in self.near.names)
        return {
            "asks": sum(self.quoting.size(item) + 4 for item in self.asks),
            "files": sum(self.count(relative(item.key, self.base)) + 1 for item in self.files) + 20,
            "identifiers": self.count(" ".join(relative(key, self.base) for key in unseen)) + 40,
            "todos": sum(self.count(item.text) + 6 for item in self.ledger.todos),
            "failures": sum(self.count(item.text) + 3 for item in self.ledger.failures),
            "decisions": sum(self.count(item.text) + 3 for item in self.decisions),
        }

    def write(self) -> Rendered:
        """Choose and compose."""
        asks = self._asks()
        pending = [row for ask, rows in asks if ask.state == "open" for row in rows]
        older = [row for ask, rows in asks if ask.state != "open" for row in rows]
        files, failures = self._files(), self._failures()
        open_, settled = self._todos()
        decisions = self._fill("decisions", self._lines(self.decisions))
        so_far = [*pending, *older, *files, *failures, *open_, *settled, *decisions, *self.rules, *self.pins]
        exact, code = self._names("\n".join(row.text for row in so_far))
        if self.standalone:
            sections = [
                (DECISIONS, decisions),
                (TODOS, open_),
                (RULES, self.rules),
                (PENDING, pending),
                (IDENTIFIERS, exact),
                (PINNED, self.pins),
                (ASKED, older),
                (FILES, files),
                (STATE, settled),
                (FAILED, failures),
                (CODE, code),
            ]
        else:
            sections = [
                (ASKED, [row for _, rows in asks for row in rows]),
                (STATED, self.rules),
                (PINNED, self.pins),
                (STATE, [*open_, *settled]),
                (FILES, files),
                (FAILED, failures),
                (MORE, exact),
                (CODE, code),
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
        quotes = self.quoting.within(self.room["asks"])
        self.spare += quotes.left
        self.losses += ["asks"] if quotes.cut else []
        return quotes.rows

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
        return self._fill("failures", self._lines(ranked))

    def _todos(self) -> tuple[list[Row], list[Row]]:
        boxes = {"open": "[ ]", "active": "[ ] (in progress)", "done": "[x]", "cancelled": "[-]"}
        listed = [item for item in by_recency(self.ledger.todos) if item.state in boxes and not self._is_ticked(item)]
        ranked = sorted(listed, key=lambda item: ("active", "open", "done", "cancelled").index(item.state))
        rows = {box(item, boxes[item.state], *notes(item.text, self.changed)): item for item in ranked}
        chosen = self._fill("todos", list(rows))
        return ([row for row in chosen if rows[row].state in ("open", "active")],
                [row for row in chosen if rows[row].state in ("done", "cancelled")])  # fmt: skip

    def _is_ticked(self, item: LedgerItem) -> bool:
        """Whether a to-do item is settled and can be read beside the brief."""
        return item.state in ("done", "cancelled") and flat(item.text) in self.near.words

    def _names(self, written: str) -> tuple[list[Row], list[Row]]:
        """The rows of exact identifiers, the root of the paths before them, and the rows of names in code."""
        opening = stated(self.base, (*self.ledger.files, *self.ledger.identifiers))
        room = self.room["identifiers"] + self.spare - self._cost(opening)
        found = names(
            self.ledger,
            self.base,
            room=room,
            count=self.count,
            written=written,
            beside=self.near.names,
            first=self.first,
        )
        if found.cut:
            self.losses.append("identifiers")
        exact = found.exact
        if self.standalone and not exact:
            exact = best(self.ledger, self.base, INSISTED)
        return [*opening, *exact], found.code


def best_decisions(decisions: Iterable[LedgerItem]) -> list[LedgerItem]:
    """The newest decisions, the newest first, with room for others than commits."""
    listed = by_recency(decisions)
    commits = [one for one in listed if one.text.startswith("committed: ")][:MOST_COMMITS]
    kept = {one.key for one in commits}
    return [one for one in listed if one.key in kept or not one.text.startswith("committed: ")][:MOST_DECISIONS]


def decided(decisions: Iterable[LedgerItem]) -> list[str]:
    """The exact names in the newest decisions: beside a prose that tells these, they are not written themselves."""
    return [name for one in best_decisions(decisions) for name in find(one.text) if strong(name)]


def merged(files: Iterable[LedgerItem], base: str) -> list[LedgerItem]:
    """Files, the newest first, each once: written from the root and below it, one is the same file."""
    found: dict[str, LedgerItem] = {}
    for item in by_recency(files):
        known = found.setdefault(relative(item.key, base), item)
        if known.state == "read" and item.state != "read":
            found[relative(item.key, base)] = msgspec.structs.replace(known, state=item.state)
    return list(found.values())
