"""What fits a terminal: words that wrap behind their label, and tables that turn into blocks."""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from clew.render.text import visible

NARROW = 70
"""Columns below which a table is read worse than a block for each of its rows."""

LEAST = 24
"""Columns that words get beside their label however narrow the terminal is."""


class Row:
    """Words behind a label; what does not fit the line goes on below the words, never below the label."""

    def __init__(self, label: Text, words: Text, *, again: str | None = None, only_terminal: bool = False) -> None:
        """`again` opens the lines after the first (default: blanks); `only_terminal` leaves lines whole in a pipe."""
        self.label, self.words = label, words
        self.again = Text(" " * label.cell_len if again is None else again, style=label.style)
        self.only_terminal = only_terminal

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One line after the other, each as a text that fits."""
        lines: Sequence[Text] = [self.words]
        if console.is_terminal or not self.only_terminal:
            room = max(LEAST, options.max_width - self.label.cell_len)
            lines = list(self.words.wrap(console, room, overflow="fold", no_wrap=False))
        for nth, line in enumerate(lines or [Text()]):
            line.rstrip()
            yield Text.assemble(self.again if nth else self.label, line)


def fact(name: str, words: str, style: str = "") -> Row:
    """A row of a summary: the name of a fact, and the fact."""
    return Row(Text(f"  {name:<10} ", style="dim"), Text(visible(words), style=style))


def item(words: str) -> Row:
    """One of several things below a fact."""
    return Row(Text(f"{'':<13}· ", style="dim"), Text(visible(words)), again=" " * 15)


def sentence(words: str) -> Row:
    """A sentence, wrapped between its words."""
    return Row(Text(), Text(visible(words)), again="  ")


class Cut:
    """One line that ends where the terminal ends; in a pipe, where `most` columns are full."""

    def __init__(self, label: Text, words: str, mark: Text, *, style: str = "", most: int = 100) -> None:
        self.label, self.words, self.mark, self.style, self.most = label, words, mark, style, most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Label, as much of the words as there is room for, and the mark behind them."""
        words = Text(self.words, style=self.style)
        room = options.max_width - self.label.cell_len - self.mark.cell_len if console.is_terminal else self.most
        words.truncate(max(LEAST, room), overflow="ellipsis")
        yield Text.assemble(self.label, words, self.mark)


class Listing:
    """The first of some tables that fits the width; where none does, or below `NARROW`, one short block a row."""

    def __init__(self, tables: Sequence[Table], blocks: Sequence[tuple[Text, str]]) -> None:
        """`tables` hold the same, the widest first; a block is a title and the words below it."""
        self.tables, self.blocks = tables, blocks

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """A table or blocks, by the width there is."""
        width = options.max_width
        if width >= NARROW:
            for table in self.tables:
                if console.measure(table, options=options.update(max_width=10_000)).maximum <= width:
                    yield table
                    return
        for title, words in self.blocks:
            yield title
            yield Row(Text("  "), Text(words))


def table(*columns: str) -> Table:
    """An empty table whose headings and cells stay on one line; `name:r` is a column of numbers."""
    made = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        name, _, how = column.partition(":")
        made.add_column(name, justify="right" if how == "r" else "left", no_wrap=True)
    return made
