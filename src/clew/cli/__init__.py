"""The command line: arguments in, values to `clew.render`, errors as one sentence, exit codes a script can use."""

import sys

try:
    from clew.cli.commands import app
    from clew.cli.group import let_go_of_output, said
except KeyboardInterrupt:  # Loading takes a second, in which Ctrl-C has to end in words too.
    sys.stderr.write("clew: Interrupted while starting; nothing was changed.\n")
    sys.exit(130)


def main() -> None:
    """The `clew` command. Exit 0: done; 1: it failed and nothing was changed; 2: asked wrongly; 130: interrupted."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where what goes wrong can be told; Python would flush after the last word
    except KeyboardInterrupt:
        _end("Interrupted: nothing more was written, and what was stored stays.", 130)
    except BrokenPipeError:
        let_go_of_output()
        sys.exit(0)
    except OSError as error:
        let_go_of_output()
        _end(said(error), 1)


def _end(words: str, code: int) -> None:
    sys.stderr.write(f"clew: {words}\n")
    sys.exit(code)
