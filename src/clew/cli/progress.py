"""What a long compaction shows while it runs: stage, part, attempt, seconds, and how much of the answer has come."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from clew.models.drive import Progress
from clew.render.events import STAGES
from clew.render.text import number, visible

MARGIN = 6
"""Columns for the spinner before the line and for what is typed behind it."""


class Line:
    """The line as it stands now: whoever draws it again sees the seconds go on."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock, self._began = console, clock, clock()
        self.step: Progress | None = None

    def __rich__(self) -> Text:
        """One line that leaves room at its end, so that a `^C` typed there does not break it."""
        line = Text(words(self.step, int(self._clock() - self._began)), no_wrap=True)
        line.truncate(max(1, self._console.width - MARGIN), overflow="ellipsis")
        return line


@contextmanager
def shown(console: Console, *, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A live line on a terminal, drawn many times a second; nothing at all in a pipe, or where `quiet`."""
    if quiet or not console.is_terminal or not console.file.isatty():
        yield None
        return
    line = Line(console)

    def on_step(step: Progress) -> None:
        line.step = step

    with console.status(line):
        yield on_step


def words(step: Progress | None, seconds: int) -> str:
    """One step in words, the model last: it is what may be cut off."""
    if step is None:
        return f"starting · {seconds} s"
    ask = step.ask
    parts = [
        STAGES[ask.stage],
        f"part {ask.part} of {ask.parts}" if ask.parts > 1 else "",
        f"attempt {ask.attempt} of {ask.attempts}",
        f"{seconds} s",
        f"about {number(step.chars // 4)} tokens so far" if step.chars else "",
        visible(step.model),
    ]
    return " · ".join(filter(None, parts))
