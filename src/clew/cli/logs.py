"""`clew logs`: the end of the log, and what comes to it."""

import json as plain_json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from clew.cli.options import ConfigOption, JsonOption, out
from clew.cli.reach import TokenOption, UrlOption, runs
from clew.client.gateway import Gateway
from clew.client.place import place
from clew.client.stream import Back, Lost, Open, Sent
from clew.client.stream import follow as following_events
from clew.config import data_dir, load
from clew.logs import FILE, Following, last
from clew.render.text import visible

POLL_S = 0.3
"""Seconds between two looks at a log that is followed."""


def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many of the last lines.")] = 50,
    json: JsonOption = False,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """Print the log beside the store: turns, tools, compactions with sizes and reasons; no words of a conversation.

    With --follow a gateway that runs is asked; without one, and without --follow, the file is read.
    """
    path, loaded = data_dir(os.environ) / FILE, load(config, os.environ)
    where = place(loaded, os.environ, url=url, token=token)
    try:
        if where.named or (follow and where.token and runs(where)):
            with Gateway(where) as there:
                _by_gateway(there, lines, on=follow, json=json)
        else:
            _by_file(path, lines, on=follow, json=json)
    except KeyboardInterrupt:
        return


def _by_gateway(there: Gateway, lines: int, *, on: bool, json: bool) -> None:
    def past() -> None:
        for one in there.get("/api/log", lines=lines)["lines"]:
            _print(one, json=json)

    if not on:
        past()
        return
    for one in following_events(there, "/api/log/follow"):
        match one:
            case Open():
                past()
            case Lost():
                typer.echo(f"The connection to {there.place.url} is lost; trying again ...", err=True)
            case Back():
                typer.echo("It is back.", err=True)
            case Sent():
                _print(one.data, json=json)


def _by_file(path: Path, lines: int, *, on: bool, json: bool) -> None:
    there, come = path.exists(), Following(path)
    for line in last(path, lines):
        _print(line, json=json)
    if not on:
        if not there:
            typer.echo(f"There is no log yet: {path} comes with the first command that opens the store.", err=True)
        return
    typer.echo(f"No gateway is asked: following {path}.", err=True)
    for line in following(come):
        _print(line, json=json)


def following(come: Following) -> Iterator[str]:
    """Lines as they come."""
    try:
        while True:
            yield from come.read()
            time.sleep(POLL_S)
    finally:
        come.close()


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
