"""What came out of a file somebody else wrote: entries ready to store, and an account of every line."""

from typing import Any

import msgspec

from clew.store.port import Draft


class BadLine(msgspec.Struct, frozen=True):
    """A line, or an element of a list, that could not be read."""

    number: int
    """Counted from 1."""
    why: str


class Imported(msgspec.Struct, frozen=True):
    """A conversation read from a file.

    For a file of lines that holds one session, `sum(counts) + sum(unknown) + len(bad)` is its number of non-empty
    lines. Where a file is one JSON document the same holds for the elements of its list, and where it holds several
    sessions, for the one that was taken.
    """

    format: str
    drafts: tuple[Draft, ...]
    """Parents before children, each with an explicit parent; `leaf` is False off the active branch; `tokens` is 0
    except where the file is Clew's own."""
    meta: dict[str, Any] = {}
    """What is known of the session: `title`, `cwd`, `model`, `session` (the source's own id), `sessions` (how many
    the file holds), …; only what was there."""
    counts: dict[str, int] = {}
    """Lines read, by their kind in the source."""
    unknown: dict[str, int] = {}
    """Lines of a kind not known, by kind; each is kept as a custom entry."""
    ignored: dict[str, int] = {}
    """Fields beside a message that have no place in an entry, by name: these alone are not kept."""
    bad: tuple[BadLine, ...] = ()
    warnings: tuple[str, ...] = ()
    """Repairs and choices worth knowing, in words, one sentence each."""
