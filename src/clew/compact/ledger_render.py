"""A ledger as text within a budget: by itself the whole brief, or what stands below a model's prose.

Every section has a share of the room; what it does not use flows on to those that want more. Rules and pins are the
floor: they are written whole even where they alone exceed the budget. Quoted words are set behind `> `, so no line of
theirs can pass for a heading.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from clew.compact.identifiers import find, kind
from clew.compact.ledger_paths import legible, relative, root
from clew.compact.ledger_shelf import by_recency, by_score
from clew.compact.ledger_words import ends, level
from clew.tokens import estimate
from clew.transcript import Ledger, LedgerItem, Line

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
ROW = 100
"""Characters of a row of names."""
_Count = Callable[[str], int]


class Rendered(msgspec.Struct, frozen=True):
    """A ledger as text."""

    text: str
    lines: tuple[Line, ...]
    """Where each line comes from; numbers count from 1 within `text`."""
    losses: tuple[str, ...] = ()
    """The sections that the budget cut, such as `identifiers`."""


class Row(msgspec.Struct, frozen=True):
    """One fact, or one row of names, as it is written."""

    text: str
    sources: tuple[str, ...] = ()


def render(
    ledger: Ledger, budget: int, *, standalone: bool, count: _Count = estimate.text, shown: str = ""
) -> Rendered:
    """The ledger in at most `budget` tokens as `count` counts them; rules and pins are written even beyond that.

    `standalone` writes the five headings of a brief and then what the ledger adds; otherwise only the latter, to stand
    below a model's prose that has the five. `shown` is text that stays in view beside it, that prose or the kept tail:
    identifiers that can be read there are not written again.
    """
    beside = frozenset(name for found in find(shown) for name in legible(found))
    room, best = budget, None
    for _ in range(8):
        rendered = _Page(ledger, room, standalone, count, beside).write()
        unused = budget - count(rendered.text)
        if unused >= 0 and (best is None or len(rendered.text) > len(best.text)):
            best = rendered
        if room <= 0 or (0 <= unused <= budget // 64) or (unused > 0 and not rendered.losses):
            break
        room = max(0, room + unused - (unused < 0))
    return best or rendered


class _Page:
    """One attempt at a brief: each section chooses what fits its portion, the names come last."""

    def __init__(self, ledger: Ledger, room: int, standalone: bool, count: _Count, beside: frozenset[str]) -> None:
        self.ledger, self.standalone, self.count, self.beside = ledger, standalone, count, beside
        self.base = root([item.key for item in (*ledger.files, *ledger.identifiers)])
        self.files = merged(self.ledger.files, self.base)
        self.losses: list[str] = []
        self.rules = [Row(f"- {_flat(item.text)}", item.sources) for item in by_recency(ledger.rules)]
        self.pins = [row for item in ledger.pins for row in _quoted(f"{item.state or 'a'} message", item.text, item)]
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
            "asks": sum(self.count(item.text) + 8 for item in self.ledger.asks),
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
            "decisions", [Row(f"- {_flat(d.text)}", d.sources) for d in by_recency(self.ledger.decisions)]
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
        """Open asks, the newest, the first one, then the rest from new to old, each cut to one common length."""
        listed = by_recency(self.ledger.asks)
        ranked = sorted(
            listed,
            key=lambda ask: (ask.state != "open", ask.state == "notice", ask is not listed[0], ask is not listed[-1]),
        )
        sizes = [self.count(ask.text) + 4 for ask in ranked]
        while ranked and (most := level(sizes, self.room["asks"])) < min(ASK_LEAST, max(sizes)):
            ranked, sizes = ranked[:-1], sizes[:-1]
        if not ranked:
            self.losses += ["asks"] if listed else []
            return []
        if len(ranked) < len(listed) or max(sizes) > most:
            self.losses.append("asks")
        cut = [
            (ask, _quoted("", self._within(ask.text, size, most), ask)) for ask, size in zip(ranked, sizes, strict=True)
        ]
        self.spare += self.room["asks"] - sum(self._cost(rows) for _, rows in cut)
        return cut

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
            rows += _flow(f"- {state}:", fitting)
        self.spare += left
        return rows

    def _failures(self) -> list[Row]:
        ranked = [item for item in by_recency(self.ledger.failures) if item.state != "fixed"]
        return self._fill("failures", [Row(f"- {_flat(item.text)}", item.sources) for item in ranked])

    def _todos(self) -> tuple[list[Row], list[Row]]:
        boxes = {"open": "[ ]", "active": "[ ] (in progress)", "done": "[x]", "cancelled": "[-]"}
        listed = [item for item in by_recency(self.ledger.todos) if item.state in boxes]
        ranked = sorted(listed, key=lambda item: ("active", "open", "done", "cancelled").index(item.state))
        rows = {_todo(item, boxes[item.state]): item for item in ranked}
        chosen = self._fill("todos", list(rows))
        return ([row for row in chosen if rows[row].state in ("open", "active")],
                [row for row in chosen if rows[row].state in ("done", "cancelled")])  # fmt: skip

    def _names(self, written: str) -> list[Row]:
        """The identifiers not legible in what is written already, by rank, in rows of one kind each."""
        seen = self.beside.union(*(legible(name) for name in find(written)), legible(self.base))
        opening = [Row(f"Paths are relative to {self.base} unless they start with / or ~.")] if self.base else []
        left = self.room["identifiers"] + self.spare - self._cost(opening)
        chosen: dict[str, list[tuple[str, LedgerItem]]] = {}
        for item in by_score(self.ledger.identifiers, self.ledger.position):
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
        return [*opening, *(row for group, named in chosen.items() for row in _flow(f"- {group}:", named))]


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


def portions(wanted: dict[str, int], shares: dict[str, float], room: int) -> dict[str, int]:
    """`room` divided by shares; a section that wants less leaves the rest to the others."""
    given: dict[str, int] = {}
    hungry = dict(wanted)
    while hungry:
        whole = sum(shares[name] for name in hungry)
        offer = {name: int(room * shares[name] / whole) for name in hungry}
        content = [name for name in hungry if hungry[name] <= offer[name]]
        if not content:
            return given | offer
        for name in content:
            given[name] = hungry.pop(name)
            room -= given[name]
    return given


def compose(sections: Sequence[tuple[str, Sequence[Row]]], always: Sequence[str], losses: tuple[str, ...]) -> Rendered:
    """Sections as text with the sources of each line; an empty section is written only if it is in `always`."""
    lines: list[Line] = []
    written: list[str] = []
    for heading, rows in sections:
        if not rows and heading not in always:
            continue
        for row in (*([Row("")] if written else []), Row(heading), *(rows or [Row("None.")])):
            for text in row.text.split("\n"):
                written.append(text)
                lines.append(Line(len(written), row.sources))
    return Rendered("\n".join(written), tuple(lines), tuple(dict.fromkeys(losses)))


def _quoted(label: str, text: str, item: LedgerItem) -> list[Row]:
    """Words as they were said, behind `> `; an ask says how often it was made."""
    marks = [label] if label else []
    marks += [f"asked {item.uses} times"] if item.uses > 1 and not label else []
    opening = f"- ({', '.join(marks)}) " if marks else "- "
    first, *rest = [line.rstrip() for line in text.splitlines() if line.strip()] or [""]
    return [Row("\n".join([f"{opening}{first}", *(f"> {line}" for line in rest)]), item.sources)]


def _todo(item: LedgerItem, box: str) -> Row:
    number = f"{item.key} " if item.key.startswith("#") else ""
    return Row(f"- {box} {number}{_flat(item.text)}", item.sources)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _flow(label: str, named: Sequence[tuple[str, LedgerItem]]) -> list[Row]:
    """Names one after the other in rows of about ROW characters."""
    rows: list[Row] = []
    sources: list[str] = []
    text = label
    for name, item in named:
        if len(text) > ROW:
            rows.append(Row(text, tuple(dict.fromkeys(sources))))
            text, sources = " ", []
        text += f" {name}"
        sources.append(item.sources[-1])
    return [*rows, Row(text, tuple(dict.fromkeys(sources)))] if named else rows
