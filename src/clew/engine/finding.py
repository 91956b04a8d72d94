"""Messages that fit a query, a page at a time: by words the best first, by a pattern or by filters the newest first."""

import time
from collections.abc import Iterator

import msgspec

from clew.errors import BadInput
from clew.recall.exact import exact
from clew.recall.excerpt import WIDTH, Excerpt, excerpt, matches
from clew.recall.message import searchable
from clew.recall.query import Pattern, Query, pattern
from clew.store.port import Found, Record, Search, Store
from clew.transcript import Said

RANKED = 2_000
"""Of the messages that hold the words, how many a call goes through for those that fit a pattern as well."""
SCANNED = 20_000
"""Messages a pattern is held against in one call, where no words are given; the cursor says where to go on."""
SCAN_SECONDS = 1.0
"""Seconds of one call that holding a pattern against texts may take."""
STEP = 256
"""Messages read at once for that."""


class Match(msgspec.Struct, frozen=True):
    """A message that fits."""

    record: Record
    excerpt: Excerpt
    offset: int
    """Near which character of the entry's exact words it was found."""


class Matches(msgspec.Struct, frozen=True):
    """A page of them."""

    found: tuple[Match, ...]
    cursor: str | None
    """What to go on with; None where nothing is left to look through."""
    looked: int | None
    """How many messages a pattern was held against; None without one."""


def find(store: Store, key: str, query: Query, *, limit: int, cursor: str | None) -> Matches:
    """A page of the messages that fit, from a cursor on. Raises UnknownSession, and BadInput for a cursor of another
    search and for a pattern that takes too long."""
    passed, bound = _place(cursor, ranked=bool(query.phrases))
    held = _Held(pattern(query.regex)) if query.regex is not None else None
    taken: list[Match] = []
    looked = 0
    if query.phrases:
        # Those stored since the first page are no part of the next one: it would show what was shown.
        upto = bound or store.session(key).entries
        found, most = _ranked(store, key, query, passed, upto, limit if held is None else STEP), RANKED
    else:
        upto, found, most = 0, _newest(store, key, query, passed, limit if held is None else STEP), SCANNED
    for one in found:
        if len(taken) >= limit or looked >= most or (held and held.seconds > SCAN_SECONDS):
            here = f"best:{passed}:{upto}" if query.phrases else f"before:{passed}"
            return Matches(tuple(taken), here, looked if held else None)
        passed, looked = passed + 1 if query.phrases else one.record.seq, looked + 1
        if (match := _fitting(one.record, query, held)) is not None:
            taken.append(match)
    return Matches(tuple(taken), None, looked if held else None)


class _Held:
    """A pattern, and how long it took so far."""

    def __init__(self, compiled: Pattern) -> None:
        self._compiled, self.seconds = compiled, 0.0

    def find(self, text: str) -> tuple[int, int] | None:
        began = time.monotonic()
        try:
            return self._compiled.find(text)
        finally:
            self.seconds += time.monotonic() - began


def _ranked(store: Store, key: str, query: Query, passed: int, upto: int, step: int) -> Iterator[Found]:
    """Those that fit the words, the best first, without as many as were passed."""
    while True:
        found = store.search(key, _search(query, before=upto + 1, limit=passed + step + 1))[passed:]
        yield from found
        if len(found) <= step:
            return
        passed += len(found)


def _newest(store: Store, key: str, query: Query, before: int, step: int) -> Iterator[Found]:
    """Those that pass the filters, the newest first, from before an entry on (0: from the end)."""
    while True:
        found = store.search(key, _search(query, before=before or None, limit=step + 1))
        yield from found
        if len(found) <= step:
            return
        before = found[-1].record.seq


def _search(query: Query, *, before: int | None, limit: int) -> Search:
    return Search(
        query.phrases, query.every, query.without, query.roles, query.since, query.until, before=before, limit=limit
    )


def _fitting(record: Record, query: Query, held: _Held | None) -> Match | None:
    """The words around what was found in a message, and where in the exact ones they are; None if it does not fit."""
    text = searchable(record.entry.body.message) if isinstance(record.entry.body, Said) else ""
    span = held.find(text) if held else None
    if held and span is None:
        return None
    spans = [span] if span else matches(text, query.phrases)
    offset = 0
    if spans and spans[0][0] > WIDTH:
        near = text[spans[0][0] - WIDTH : spans[0][1]]
        offset = max(0, exact(record.entry).find(near))
    return Match(record, excerpt(text, spans), offset)


def _place(cursor: str | None, *, ranked: bool) -> tuple[int, int]:
    """Where a cursor goes on. Raises BadInput for one that is none, or of another kind of search."""
    if cursor is None:
        return 0, 0
    kind, *numbers = cursor.split(":")
    wanted = ("best", 2) if ranked else ("before", 1)
    if (kind, len(numbers)) != wanted or not all(one.isascii() and one.isdigit() for one in numbers):
        raise BadInput(f"{cursor!r} is no cursor of this search; nothing was searched. Leave it out to begin anew.")
    first, second = ([int(one[:12]) for one in numbers] + [0])[:2]
    return first, second
