"""What a tool is to whoever runs it: what it offers, what it gives back, and how a person is asked before it runs."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from clew.transcript import Block, Call

Gate = Callable[[dict[str, Any]], str | None]
"""Looks at a call's arguments: why a person has to be asked before it runs, or None where nobody has to be."""

Approval = Callable[[Call, str], Awaitable[bool]]
"""Asks a person whether a call may run, given the reason for asking. False where they said no."""


class Offer(msgspec.Struct, frozen=True):
    """A tool and what runs it. Calling the offer calls the function behind it."""

    run: Callable[..., Any]
    """Takes the arguments by name; may be async. A function that is not async runs on a thread."""
    name: str = ""
    """Empty takes the function's name."""
    description: str | None = None
    """None takes the function's docstring, without what it says of arguments."""
    schema: dict[str, Any] | None = None
    """JSON Schema of the arguments, which are then handed over as they came. None derives it from the function's type
    hints, and arguments are checked against those."""
    gate: Gate | None = None
    """None runs without asking."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        """What the function returns."""
        return self.run(*given, **named)


class Output(msgspec.Struct, frozen=True):
    """What a tool gives back, with what has to be known to cut it to size and to find the rest again."""

    text: str = ""
    blocks: tuple[Block, ...] = ()
    """Media and the like, shown after the text."""
    error: bool = False
    closing: str = ""
    """A line that stands at the end whatever is cut."""
    tail: str = ""
    """The end, where the middle was too long to hold; `text` is then the beginning."""
    between: int = 0
    """Characters between `text` and `tail` that are in the file alone."""
    path: str | None = None
    """The file that holds all of it, written as the tool `read` takes it; None where there is no such file."""
    line: int = 1
    """Where in that file `text` starts, counted from 1."""
    column: int = 1
    """The character of that line it starts at, counted from 1."""
    lines: int | None = None
    """How many lines the file has; None where nobody counted them."""
    more: bool = False
    """Whether the file goes on behind `text`."""
    keep: Literal["ends", "head"] = "ends"
    """What is kept when it is cut."""
