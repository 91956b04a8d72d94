"""The options commands share, and the three things a command needs: Clew, a console, and a place for progress."""

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from clew.app import Clew
from clew.config import data_dir
from clew.logs import to_file
from clew.render.as_json import dumps

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", envvar="CLEW_STORE", help="The store's file. Default: clew.sqlite in your data directory."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="The settings file. Default: CLEW_CONFIG, or clew.json5 in your config directory."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        help="auto, claude-code, openclaw, pi, codex, openai, anthropic, clew, events, swe-agent, openhands.",
    ),
]
ModelOption = Annotated[
    str | None, typer.Option("--model", help="Who writes the brief: provider/model-id or an alias, and no other.")
]
WindowOption = Annotated[int | None, typer.Option("--window", min=1, help="The model's window, in tokens.")]

Answer = TypeVar("Answer")


class Output(Console):
    """Standard output; a reader that goes away (`| head`) is left to the root of the commands."""

    def on_broken_pipe(self) -> None:
        """Raise what was caught, where the library would exit with 1."""
        raise


out = Output(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)


def opened(store: Path | None, config: Path | None) -> Clew:
    """Clew over the store and settings that were named, or the user's own; it logs beside the user's store."""
    to_file(data_dir(os.environ))
    return Clew.open(store, config=config, env=os.environ)


def ran(clew: Clew, work: Coroutine[Any, Any, Answer]) -> Answer:
    """What asynchronous work comes to; the connections it opened are closed with it."""

    async def whole() -> Answer:
        try:
            return await work
        finally:
            await clew.aclose()

    return asyncio.run(whole())


def show(lines: Any) -> None:
    """Print renderables, one after another."""
    for line in lines:
        out.print(line)


def show_json(value: Any) -> None:
    """Print a value as JSON, unwrapped and uncoloured."""
    typer.echo(dumps(value))
