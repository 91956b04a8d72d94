"""The root of all commands, where an error of any of them becomes one sentence and an exit code."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from clew.errors import CallerError, ClewError
from clew.render.as_json import dumps

AskedWrongly: type[Exception] = typer.BadParameter.__bases__[0]
"""What every mistake in the arguments is. Taken from its heir, because the library that defines it has changed."""

JSON = "clew.json"
"""Under which a context remembers whether its output is to be JSON."""


class Commands(TyperGroup):
    """Runs a command; errors and an interrupt end it with words (`--json`: with an object), never with a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and remember whether they ask for JSON."""
        ctx.meta[JSON] = _wants_json(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _ended(ctx, error, "Interrupted: nothing more was written, and what was stored stays.", 130) from None
        except ClewError as error:
            raise _ended(ctx, error, str(error), 2 if isinstance(error, CallerError) else 1) from error
        except AskedWrongly as error:
            if not ctx.meta[JSON]:
                raise
            raise _ended(ctx, error, error.format_message(), 2) from error  # type: ignore[attr-defined]
        except BrokenPipeError:
            let_go_of_output()
            raise typer.Exit(0) from None
        except OSError as error:
            raise _ended(ctx, error, said(error), 1) from error


class Numbers(TyperCommand):
    """A command that takes a negative number for an argument, not for an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, negative numbers behind all options."""
        numbers = [one for one in args if one.startswith("-") and one[1:].isdecimal()]
        if numbers and "--" not in args:
            args = [*(one for one in args if one not in numbers), "--", *numbers]
        return super().parse_args(ctx, args)


def _wants_json(args: Sequence[str]) -> bool:
    return "--json" in args or (args[:1] == ["context"] and "json" in args[2:])


def _ended(ctx: Any, error: BaseException, words: str, code: int) -> typer.Exit:
    """The end of a command: what happened, on the channel its caller reads."""
    on_output = isinstance(error, OSError) and error.filename is None
    if on_output:
        let_go_of_output()
    if ctx.meta[JSON] and not on_output:
        typer.echo(dumps({"ok": False, "error": words, "code": type(error).__name__}))
    else:
        typer.echo(f"clew: {words}", err=True)
    return typer.Exit(code)


def said(error: OSError) -> str:
    """What could not be opened or written, in a sentence."""
    if error.filename is None:
        return f"The output could not be written ({error.strerror or error}); what was stored stays."
    why = f"{error.filename} cannot be opened or written ({error.strerror})"
    return f"{why}; the store is as it was. Choose another place."


def let_go_of_output() -> None:
    """Send what is still buffered nowhere: nobody reads it, and Python would complain of that as it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
