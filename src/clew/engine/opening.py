"""Entries opened again: their exact words in pages, each of which says where the next one begins."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from clew.recall.exact import exact, speaker
from clew.store.port import Record
from clew.transcript.characters import border

LIMIT = 8_000
"""Characters of a page, unless another number is asked for: about 2,000 tokens."""
LEAST = 0.25
"""Of a page, what has to be left for an entry that does not fit: with less, it begins the next page."""
MOST_ENTRIES = 200
"""Entries of a page, however little they say."""

Read = Callable[[int, int], Iterable[Record]]
"""The records behind a number, so many of them."""


class Piece(msgspec.Struct, frozen=True):
    """An entry's words, or a part of them."""

    id: str
    seq: int
    at: int
    """Milliseconds since 1970-01-01 UTC."""
    speaker: str
    """Such as `user`, `assistant`, `result of Bash`."""
    text: str
    start: int
    """The character of the entry's words that `text` begins with, counted from 0."""
    whole: int
    """How many characters the entry's words have."""

    @property
    def end(self) -> int:
        """The character behind `text`."""
        return self.start + len(self.text)


class Next(msgspec.Struct, frozen=True):
    """Where the next page begins: what to ask for."""

    name: str
    to: str | None
    offset: int


class Opened(msgspec.Struct, frozen=True):
    """A page. The texts of an entry's pieces, one page behind the other, are its words exactly."""

    pieces: tuple[Piece, ...]
    first: int
    last: int
    """Numbers of the entries that were asked for."""
    next: Next | None
    """None where all has been given."""


def page(read: Read, first: int, last: int, *, offset: int = 0, limit: int = LIMIT) -> Opened:
    """A page of the entries from one number to another, from a character of the first one's words on.

    It has at least one character more than the one before, and about `limit` at most; no character is parted.
    """
    pieces: list[Piece] = []
    left = limit = max(1, limit)
    for record in _walked(read, first, last):
        piece = _piece(record, offset, left)
        if pieces and piece.end < piece.whole and left < limit * LEAST:
            return Opened(tuple(pieces), first, last, _next(record.seq, last, 0))
        pieces.append(piece)
        left, offset = left - len(piece.text), 0
        if piece.end < piece.whole:
            return Opened(tuple(pieces), first, last, _next(record.seq, last, piece.end))
        if record.seq < last and (left <= 0 or len(pieces) >= MOST_ENTRIES):
            return Opened(tuple(pieces), first, last, _next(record.seq + 1, last, 0))
    return Opened(tuple(pieces), first, last, None)


def _walked(read: Read, first: int, last: int) -> Iterator[Record]:
    """The records of a range, a few at a time: of a page's first ones it is not known how long they are."""
    after, step = first - 1, 8
    while after < last:
        found = list(read(after, min(step, last - after)))
        yield from found
        if not found:
            return
        after, step = found[-1].seq, 64


def _piece(record: Record, offset: int, room: int) -> Piece:
    words = exact(record.entry)
    start = min(offset, len(words))
    end = border(words, start + room, -1) if start + room < len(words) else len(words)
    if start >= end and start < len(words):
        end = border(words, start + room, 1)
    return Piece(
        record.entry.id, record.seq, record.entry.at, speaker(record.entry), words[start:end], start, len(words)
    )


def _next(seq: int, last: int, offset: int) -> Next:
    return Next(f"#{seq}", f"#{last}" if last > seq else None, offset)
