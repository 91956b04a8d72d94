"""Draws docs/demo.svg: the second and the fourth step of `clew demo`, as a terminal of 114 columns shows them.

python tools/picture.py            run the demo and draw it
"""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

HERE = Path(__file__).resolve().parents[1] / "docs" / "demo.svg"
COLUMNS = 114
"""The width of the picture: one line of a brief with the thread behind it."""

STEPS = ("2", "4")
MOST_BYTES = 120_000

_FONT_FACE = re.compile(r"@font-face \{.*?\}\n\s*", re.DOTALL)
_STEP = re.compile(r"^ (\d)  ")
_LABEL = re.compile(r"^  [a-z][a-z \d]{9} |^     [│└] ")
"""What a line that does not fit is indented by: the name of its row, or the rule beside a quotation."""
_ABSOLUTE = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|Users|work|private)/\S*")


def demo() -> str:
    """What `clew demo` prints to a terminal, colours included."""
    env = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    env.pop("NO_COLOR", None)
    done = subprocess.run(
        [sys.executable, "-m", "clew", "demo"], env=env, capture_output=True, text=True, encoding="utf-8", check=True
    )
    return done.stdout


def chosen(lines: list[Text]) -> Iterator[Text]:
    """The lines of the steps that are drawn."""
    step = ""
    for line in lines:
        if found := _STEP.match(line.plain):
            step = found[1]
        if step in STEPS:
            yield line


def laid_out(line: Text) -> RenderableType:
    """A line; where it is a named row or a quotation, what does not fit goes on under its own beginning."""
    found = _LABEL.match(line.plain)
    if found is None:
        return line
    grid = Table.grid()
    grid.add_column(width=found.end())
    grid.add_column(width=COLUMNS - found.end())
    grid.add_row(line[: found.end()], line[found.end() :])
    return grid


def draw(printed: str) -> str:
    """The picture. It fetches no font, and keeps blanks where a renderer would drop them."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False, legacy_windows=False)
    console.print(Text.assemble(("$ ", "green"), ("clew demo", "bold")))
    console.print()
    for line in chosen([Text.from_ansi(line) for line in printed.splitlines()]):
        console.print(laid_out(line))
    picture = console.export_svg(title="clew demo", theme=DIMMED_MONOKAI, unique_id="demo")
    return _FONT_FACE.sub("", picture).replace("<svg ", '<svg xml:space="preserve" ', 1)


def main() -> int:
    """Write the picture, or say why not."""
    picture = draw(demo())
    size, paths = len(picture.encode()), _ABSOLUTE.findall(picture)
    if size > MOST_BYTES or paths:
        print(f"{HERE.name} was not written: {size:,} bytes, paths of this machine: {paths}", file=sys.stderr)
        return 1
    HERE.write_text(picture, encoding="utf-8")
    print(f"docs/{HERE.name}: {size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
