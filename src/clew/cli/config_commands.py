"""`clew config`: where the settings are, what they say, and whether they hold."""

import os
from typing import Annotated

import typer

from clew.cli.options import ConfigOption, out, show_json
from clew.config import config_path, get, load, not_yet, save, schema
from clew.config.edit import value_of

app = typer.Typer(help="Read, set and check the settings.", no_args_is_help=True, rich_markup_mode=None)

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="A dotted key, such as agents.defaults.model.")]


@app.command()
def path(config: ConfigOption = None) -> None:
    """Print where the settings file is, or would be."""
    typer.echo(config_path(config, os.environ))


@app.command(name="get")
def get_(key: KeyArgument, config: ConfigOption = None) -> None:
    """Print the value in force under a key, defaults included."""
    show_json(get(load(config, os.environ), key))


@app.command(name="set")
def set_(
    key: KeyArgument,
    value: Annotated[str, typer.Argument(help="JSON5, or plain text.")],
    config: ConfigOption = None,
) -> None:
    """Set one value; comments and all else in the file stay as they are."""
    where = save(config, os.environ, key, value_of(value))
    out.print(f"Set {key} in {where}.")


@app.command(name="schema")
def schema_() -> None:
    """Print the JSON Schema of the settings."""
    show_json(schema())


@app.command()
def validate(config: ConfigOption = None) -> None:
    """Check the settings file; every mistake is named, with its place and the nearest right name."""
    where = config_path(config, os.environ)
    loaded = load(config, os.environ)
    for key in not_yet(loaded):
        out.print(f"{key} is understood, and this version does not use it yet.")
    out.print(f"{where} holds no mistake." if where.exists() else f"There is no {where}; the defaults hold.")
