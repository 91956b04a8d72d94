"""`clew chat`: a conversation that stays inside its window, on the full screen or line by line."""

import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, cast

import typer

from clew.agency import Conversation
from clew.app import Clew
from clew.cli.line_mode import LineMode, Question
from clew.cli.lines import Lines
from clew.cli.options import ConfigOption, StoreOption, WindowOption, opened, ran
from clew.runtime.agent import Ask
from clew.transcript import Call

SESSION = "agent:main:main"
"""The session of who names none."""

SessionOption = Annotated[
    str, typer.Option("--session", "-s", metavar="KEY", help="The session; it is made if it is not there.")
]
TalkOption = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="Who answers: provider/model-id, or an alias.")
]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", file_okay=False, exists=True, help="The folder the tools work in. Default: this one."),
]


class Asked:
    """Asks a person through the face that is there once the conversation is."""

    def __init__(self) -> None:
        self.face: Ask | None = None

    async def __call__(self, call: Call, why: str) -> bool:
        """Whether a call may run; no where no face is there yet."""
        return self.face is not None and await self.face(call, why)


def chat(
    session: SessionOption = SESSION,
    model: TalkOption = None,
    plain: Annotated[bool, typer.Option("--plain", help="Line by line, without the full screen.")] = False,
    workspace: WorkspaceOption = None,
    window: WindowOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Talk to a model for as long as you like; the conversation is kept, and stays inside the model's window."""
    person = sys.stdin.isatty() and sys.stdout.isatty()
    face = full_screen if person and not plain else by_line
    with opened(store, config) as clew:
        code = ran(clew, face(clew, session, model=model, workspace=workspace, window=window))
    raise typer.Exit(code)


async def by_line(clew: Clew, key: str, *, model: str | None, workspace: Path | None, window: int | None) -> int:
    """The chat over lines; the exit code."""
    lines, person = Lines(), sys.stdin.isatty()
    ask = Question(lines) if person else None
    async with clew.converse(key, model=model, workspace=workspace, window=window, ask=ask) as conversation:
        return await LineMode(conversation, lines, person=person).run()


async def full_screen(clew: Clew, key: str, *, model: str | None, workspace: Path | None, window: int | None) -> int:
    """The chat on the full screen; the exit code."""
    asked = Asked()
    # Textual takes a quarter of a second to load, and no other command needs it.
    face = import_module("clew.tui.app")
    show = cast(Callable[[Conversation, Asked], Awaitable[int]], face.show)
    async with clew.converse(key, model=model, workspace=workspace, window=window, ask=asked) as conversation:
        return await show(conversation, asked)
