"""The map of a window in a terminal: blocks of colour, or of lines where there is none, with a legend below."""

from collections.abc import Iterator

import msgspec
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from clew.prompt.report import Report
from clew.prompt.treemap import GROUPS, Region, characters, rectangles
from clew.render import palette
from clew.render.text import columns, number, one_line, percent, short, visible

WIDEST, NARROWEST = 120, 16
"""Columns of the map, at most and at least."""
ROWS_PER_COLUMN, LEAST_ROWS, MOST_ROWS = 0.2, 10, 24
"""How high the map is for its width."""
ASPECT = 2
"""How many times higher than wide a cell of a terminal is."""
LEAST_CELLS = 7
"""Cells below which a piece is drawn together with others as small."""
LEAST_LABEL = 3
"""Columns below which a piece has no label."""


class Map:
    """The map as something that Rich prints at whatever width there is."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(min(options.max_width, WIDEST), NARROWEST)
        height = min(max(round(width * ROWS_PER_COLUMN), LEAST_ROWS), MOST_ROWS)
        coloured = console.color_system is not None and not console.no_color
        yield Text(headline(self.report))
        regions = rectangles(self.report, width, height * ASPECT, least=LEAST_CELLS * ASPECT)
        if not regions:
            yield Text("There is nothing to draw yet.", style="dim")
            return
        grid = Grid(width, height, coloured=coloured, ascii_only=options.ascii_only)
        for region in regions:
            for place, block in enumerate(blocks(region)):
                grid.draw(block, region.group, place)
        yield from grid.segments()
        yield from legend(self.report, coloured)


class Block(msgspec.Struct, frozen=True):
    """A piece in whole cells; `right` and `bottom` belong to the next one."""

    label: str
    left: int
    top: int
    right: int
    bottom: int


def blocks(region: Region) -> Iterator[Block]:
    """The pieces of a group in whole cells. Edges are rounded, not sizes, so that neighbours meet."""
    for piece in region.pieces:
        left, right = round(piece.x), round(piece.x + piece.width)
        top, bottom = round(piece.y / ASPECT), round((piece.y + piece.height) / ASPECT)
        yield Block(f"{visible(piece.name)} {short(piece.chars)}", left, top, right, bottom)


class Grid:
    """Cells that are drawn over one another and then printed line by line."""

    def __init__(self, width: int, height: int, *, coloured: bool, ascii_only: bool = False) -> None:
        self._coloured = coloured
        self._corner, self._flat, self._upright = ("+", "-", "|") if ascii_only else ("┌", "─", "│")
        self._cells = [[(" ", Style())] * width for _ in range(height)]

    def draw(self, block: Block, group: str, place: int) -> None:
        """Put a block on the grid, under a colour or inside lines, with as much of its label as fits."""
        if block.right <= block.left or block.bottom <= block.top:
            return
        fill = palette.shade(group, place)
        style = (
            Style.parse(f"{palette.hexed(palette.on(fill))} on {palette.hexed(fill)}") if self._coloured else Style()
        )
        for y in range(block.top, block.bottom):
            for x in range(block.left, block.right):
                self._cells[y][x] = (" " if self._coloured else self._line(block, x, y), style)
        self._label(block, group, style)

    def _line(self, block: Block, x: int, y: int) -> str:
        if y == block.top:
            return self._corner if x == block.left else self._flat
        return self._upright if x == block.left else " "

    def _label(self, block: Block, group: str, style: Style) -> None:
        """The label on the block's first line; without colours it begins with the number of its group."""
        label = block.label if self._coloured else f"{GROUPS.index(group) + 1} {block.label}"
        room = block.right - block.left - (1 if self._coloured else 2)
        if room < LEAST_LABEL:
            return
        at = block.left + (0 if self._coloured and room < columns(label) else 1)
        for char in one_line(label, block.right - at - (0 if self._coloured else 1)):
            taken = columns(char)
            if taken == 0:
                continue
            self._cells[block.top][at] = (char, style)
            if taken == 2:
                self._cells[block.top][at + 1] = ("", style)
            at += taken

    def segments(self) -> Iterator[Segment]:
        """The grid as Rich prints it, cells of one style together."""
        for row in self._cells:
            start = 0
            for end in range(1, len(row) + 1):
                if end == len(row) or row[end][1] != row[start][1]:
                    yield Segment("".join(char for char, _ in row[start:end]), row[start][1])
                    start = end
            yield Segment.line()


def headline(report: Report) -> str:
    """How full the window is, in one line."""
    size, window = report.size, report.window
    fill = f" of {number(window)} ({percent(size.tokens, window)})" if window and size.tokens is not None else ""
    doubt = " · doubtful: more than the window holds" if report.doubtful else ""
    chars = sum(characters(report).values())
    return f"{number(size.tokens)} tokens{fill}, {size.source} · {number(chars)} characters by group{doubt}"


def legend(report: Report, coloured: bool) -> Iterator[Text]:
    """A line for each group: its colour or number, its characters and its share of them all."""
    sums = characters(report)
    total = sum(sums.values())
    for group, chars in sums.items():
        mark = ("  ", f"on {palette.hexed(palette.COLOURS[group])}") if coloured else f"{GROUPS.index(group) + 1}"
        yield Text.assemble(mark, f" {group:<16}{number(chars):>12} {percent(chars, total):>6}")
