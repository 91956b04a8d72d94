"""The account of an import as it is read: entries, kinds of line, unknown ones, bad ones, repairs."""

import hashlib
from collections import Counter
from collections.abc import Collection
from typing import Any, Final

import msgspec

from clew.store.archive.imported import BadLine, Imported
from clew.store.archive.lineage import REPAIRS, Row, settle
from clew.store.archive.source import Content
from clew.transcript import Body, Custom, clean

_ENCODER = msgspec.json.Encoder(order="deterministic")
PREVIOUS: Final = "\0previous"
"""The parent of an entry that follows the one before it; no source can use it as an id."""
_TWICE = "{n} entries had an id that another one had before them; each got an id of its own."


class Gather:
    """Collects one session. The readers of the formats add to it, `finish` settles the order and closes it."""

    def __init__(self, format: str, content: Content | None = None, *, at: int = 0) -> None:
        self.format = format
        self.rows: list[Row] = []
        self.meta: dict[str, Any] = {}
        self.counts: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()
        self.bad: list[BadLine] = list(content.bad) if content else []
        self.warnings: list[str] = list(content.notes) if content else []
        self.ids: set[str] = set()
        self.tip: str | None = None
        self._at = at
        self._twice = 0

    def add(
        self, body: Body, *, id: str = "", parent: str | None = PREVIOUS, at: int | None = None, side: bool = False
    ) -> str:
        """Take in an entry and return its id: `id` where it is new, else one made of its content and place."""
        name = clean(id)
        if name in self.ids:
            name, side = "", True
            self._twice += 1
        name = name or self._derived(body)
        self._at = self._at if at is None else at
        self.rows.append(Row(name, self._at, body, self.tip if parent == PREVIOUS else parent, self.tip, side))
        self.ids.add(name)
        if not side:
            self.tip = name
        return name

    def _derived(self, body: Body) -> str:
        seed = f"{self.format}\0{len(self.rows)}\0".encode() + _ENCODER.encode(body)
        return hashlib.blake2b(seed, digest_size=10).hexdigest()

    def custom(self, kind: str, line: Any, *, known: bool = True, **place: Any) -> str:
        """Keep a line that is no message as it came, and count it under its kind."""
        (self.counts if known else self.unknown)[kind or "(none)"] += 1
        return self.add(Custom(f"{self.format}.{kind}" if kind else self.format, line), **place)

    def spoil(self, number: int, why: str) -> None:
        """A line that cannot be read."""
        self.bad.append(BadLine(number, why))

    def ignore(self, raw: dict[str, Any], known: Collection[str]) -> None:
        """Count the fields of a line that have no place in an entry."""
        self.ignored.update(key for key, value in raw.items() if key not in known and value not in (None, "", [], {}))

    def note(self, key: str, value: Any) -> None:
        """A fact about the session, if it is one."""
        if value not in (None, "", [], {}):
            self.meta[key] = value

    def finish(self, leaf: str | None = None, *, exact: bool = False) -> Imported:
        """The import, with its entries in order."""
        drafts, repairs = settle(self.rows, leaf, exact=exact)
        warnings = [*self.warnings, *(REPAIRS[kind].format(n=n) for kind, n in repairs.items())]
        if self._twice:
            warnings.append(_TWICE.format(n=self._twice))
        bad = tuple(sorted(self.bad, key=lambda line: line.number))
        return Imported(self.format, tuple(drafts), self.meta, dict(self.counts), dict(self.unknown),
                        dict(self.ignored), bad, tuple(warnings))  # fmt: skip
