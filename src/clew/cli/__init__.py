"""The command line: arguments in, values to `clew.render`, errors as one sentence, exit codes a script can use."""

from clew.cli.commands import app


def main() -> None:
    """The `clew` command. Exit 0: done; 1: it failed and nothing was changed; 2: asked wrongly; 130: interrupted."""
    app()
