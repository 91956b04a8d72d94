"""Turns that are owed to an engine, in words and as data."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from clew.render.layout import Listing, sentence, table
from clew.render.text import age, one_line, plural, visible
from clew.store.port import Owed

ERROR = 60
"""Characters of an error in a line."""


def owed(found: Sequence[Owed], now: int, reopened: int = 0) -> Iterator[RenderableType]:
    """`clew outbox` on a terminal."""
    if reopened:
        yield sentence(f"{plural(reopened, 'blocked turn')} will be tried again before the next turn.")
    if not found:
        yield sentence("Nothing is owed: every finished turn was taken over.")
        return
    shown, blocks = table("session", "turn", "engine", "ended", "tries:r", "state", "error"), []
    for one in found:
        state = "blocked" if one.blocked else "waiting"
        cells = [one.turn, one.engine, age(one.at, now), str(one.attempts), state, one_line(one.error, ERROR)]
        shown.add_row(Text(visible(one.key), style="cyan"), *map(visible, cells))
        blocks.append((Text(visible(one.key), style="cyan"), visible(" · ".join(filter(None, cells)))))
    yield Listing([shown], blocks)


def plain(found: Sequence[Owed], reopened: int = 0) -> dict[str, Any]:
    """The same as data."""
    return {"ok": True, "reopened": reopened, "owed": [msgspec.to_builtins(one) for one in found]}
