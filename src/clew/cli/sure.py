"""Asks before what there is no way back from."""

import sys

import typer

from clew.errors import BadInput


def sure(question: str, done: str, *, json: bool) -> None:
    """Go on only where a person says yes. Raises BadInput where nobody can be asked, and Exit for a no."""
    if json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(f"Nothing was {done}: nobody can be asked here. --yes does it without asking.")
    if not typer.confirm(question, default=False, err=True):
        typer.echo(f"Nothing was {done}.", err=True)
        raise typer.Exit(1)
