"""`clew logs`: the end of the log, and what comes to it."""

import json as plain_json
import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.text import Text

from clew.cli.options import JsonOption, out
from clew.config import data_dir
from clew.logs import FILE, KEPT
from clew.render.text import visible

POLL_S = 0.3
"""Seconds between two looks at a log that is followed."""


def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many of the last lines.")] = 50,
    json: JsonOption = False,
) -> None:
    """Print the log beside the store: turns, tools, compactions with sizes and reasons; no words of a conversation."""
    path = data_dir(os.environ) / FILE
    there = path.exists()
    after = _end(path)
    for line in last(path, lines):
        _print(line, json=json)
    if not follow:
        if not there:
            typer.echo(f"There is no log yet: {path} comes with the first command that opens the store.", err=True)
        return
    try:
        for line in following(path, after):
            _print(line, json=json)
    except KeyboardInterrupt:
        return


def last(path: Path, count: int) -> list[str]:
    """The last lines, from the logs that were put aside too, where the newest has too few."""
    found: deque[str] = deque(maxlen=count)
    for number in range(KEPT, -1, -1):
        one = path.with_name(f"{path.name}.{number}") if number else path
        if one.exists():
            found.extend(one.read_text(encoding="utf-8", errors="replace").splitlines())
    return list(found)


def following(path: Path, after: tuple[int, int]) -> Iterator[str]:
    """Lines as they come, from a place (file number and byte) on; when the log is put aside, in the one after it."""
    file: TextIO | None = None
    rest = ""
    try:
        while True:
            if file is None and path.exists():
                file = path.open(encoding="utf-8", errors="replace")
                if os.fstat(file.fileno()).st_ino == after[0]:
                    file.seek(after[1])
            if file is not None:
                *whole, rest = (rest + file.read()).split("\n")
                yield from whole
                if _gone(path, file):
                    file.close()
                    file, rest, after = None, "", (0, 0)
                    continue
            time.sleep(POLL_S)
    finally:
        if file is not None:
            file.close()


def _end(path: Path) -> tuple[int, int]:
    found = path.stat() if path.exists() else None
    return (found.st_ino, found.st_size) if found else (0, 0)


def _gone(path: Path, file: TextIO) -> bool:
    """Whether the log was put aside since it was opened."""
    return path.exists() and path.stat().st_ino != os.fstat(file.fileno()).st_ino


def _print(line: str, *, json: bool) -> None:
    if json:
        typer.echo(line)
    elif line.strip():
        out.print(words(line))


def words(line: str) -> Text:
    """A record of the log on one line: when, what, and its facts."""
    try:
        record: dict[str, Any] = plain_json.loads(line)
        at, level, event = str(record.pop("at")), str(record.pop("level")), str(record.pop("event"))
    except (ValueError, KeyError, AttributeError, TypeError):
        return Text(visible(line), style="dim")
    facts = "  ".join(f"{name}={_value(value)}" for name, value in record.items() if value not in (None, ""))
    style = {"warning": "yellow", "error": "red"}.get(level, "")
    return Text.assemble(
        (f"{at[:19].replace('T', ' ')}  ", "dim"), (visible(event), style or "bold"), f"  {visible(facts)}"
    )


def _value(value: Any) -> str:
    return value if isinstance(value, str) else plain_json.dumps(value, ensure_ascii=False)
