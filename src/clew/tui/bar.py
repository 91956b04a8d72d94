"""The line that is always in sight: how full the window is, of what model, how often it was compacted, what goes on."""

from rich.text import Text
from textual.widgets import Static

from clew.agency import Status
from clew.render.status import WARN_PERCENT, meter, share, used
from clew.render.text import columns, one_line, visible

NARROW, WIDE = 60, 76
"""Columns below which the bar leaves the model out, and from which on it has a meter of ten cells."""


class Bar(Static):
    """The status bar."""

    def __init__(self) -> None:
        super().__init__("", id="bar")
        self._status: Status | None = None

    def show(self, status: Status) -> None:
        """Another state."""
        self._status = status
        self._draw()

    def on_resize(self) -> None:
        """Another width."""
        self._draw()

    def _draw(self) -> None:
        if self._status is not None:
            self.update(line(self._status, self.size.width))


def line(of: Status, width: int) -> Text:
    """The bar's words, as many as fit: the fill first, then compactions, model and session."""
    window = of.limits.budget
    percent = share(of.size, window)
    style = "bold yellow" if percent is not None and percent >= WARN_PERCENT else "bold"
    bar = Text.assemble((f"{meter(percent, 10 if width >= WIDE else 5)} ", style), (used(of.size, window), style))
    if of.compactions:
        bar.append(f" 🧹{of.compactions}")
    for words in (visible(of.model), visible(of.key)):
        room = width - columns(bar.plain) - 3
        if room < 8 or (width < NARROW and words == visible(of.key)):
            break
        bar.append(f" · {one_line(words, room)}", style="dim")
    return bar


class Activity(Static):
    """What goes on right now, and the completions of a command; empty while nothing does."""

    def __init__(self) -> None:
        super().__init__("", id="activity")
        self.display = False

    def tell(self, words: str) -> None:
        """Say it; nothing is said with nothing."""
        self.display = bool(words)
        self.update(Text(visible(words), no_wrap=True, overflow="ellipsis"))
