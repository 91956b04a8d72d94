"""The root of all commands, where an error of any of them becomes one sentence and an exit code."""

from typing import Any

import typer
from typer.core import TyperGroup

from clew.errors import CallerError, ClewError


class Commands(TyperGroup):
    """Runs a command; Clew's errors and an interrupt end it with words, not with a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise _ended("Interrupted: nothing more was written, and what was stored before stays.", 130) from None
        except ClewError as error:
            raise _ended(str(error), 2 if isinstance(error, CallerError) else 1) from error


def _ended(words: str, code: int) -> typer.Exit:
    typer.echo(f"clew: {words}", err=True)
    return typer.Exit(code)
