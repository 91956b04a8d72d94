"""What a check-up found, as rows that say what to do."""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec
from rich.console import RenderableType
from rich.text import Text

from clew.render.layout import Row
from clew.render.text import visible


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    do: str = ""
    """What to do about it; empty where nothing is wrong."""


MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}
"""The sign and the colour of each state."""


def checkup(checks: Iterable[Check]) -> Iterator[RenderableType]:
    """Each check on a line, what to do below it, and the sum at the end."""
    listed = list(checks)
    width = max((len(check.name) for check in listed), default=0)
    width = min(width, 24)
    for check in listed:
        mark, style = MARKS[check.state]
        label = Text.assemble((f"{mark} {check.state:<4} ", style), f"{visible(check.name):<{width}}  ")
        again = " " * label.cell_len
        yield Row(label, Text(visible(check.found)), again=again)
        if check.do and check.state != "ok":
            yield Row(Text(f"{again}→ ", style="dim"), Text(visible(check.do)), again=f"{again}  ")
    counts = {state: sum(check.state == state for check in listed) for state in MARKS}
    yield Text(", ".join(f"{count} {state}" for state, count in counts.items() if count), style="dim")
