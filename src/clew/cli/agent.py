"""`clew agent`: one turn from a script."""

import shlex
import sys
from typing import Annotated, Any

import msgspec
import typer

from clew.agency import Conversation
from clew.app import Clew
from clew.cli.chat import SESSION, SessionOption, TalkOption, WorkspaceOption
from clew.cli.line_mode import Printer
from clew.cli.options import ConfigOption, JsonOption, StoreOption, WindowOption, opened, ran, show_json
from clew.commands.command import COMPACT
from clew.commands.tally import Tally
from clew.errors import BadInput
from clew.render.cost import bill
from clew.runtime.events import Ended, Event


def agent(
    message: Annotated[
        str, typer.Option("--message", "-m", metavar="TEXT", help="What to say; - reads it from standard input.")
    ],
    session: SessionOption = SESSION,
    model: TalkOption = None,
    workspace: WorkspaceOption = None,
    window: WindowOption = None,
    json: JsonOption = False,
    events: Annotated[bool, typer.Option("--events", help="With --json: every event of the turn.")] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Say one thing and print the answer. Exit 0 where the turn ended well, 1 where it did not."""
    text = sys.stdin.read() if message == "-" else message
    _no_command(text, session, json=json)
    with opened(store, config) as clew:
        told = ran(clew, _turn(clew, session, text, model=model, workspace=workspace, window=window, json=json))
    if json:
        if not events:
            told.pop("events")
        show_json(told)
    if not told["ok"]:
        raise typer.Exit(1)


def _no_command(text: str, key: str, *, json: bool) -> None:
    """Refuse what only a person in a chat can ask for, before anything is sent; other slashes are text."""
    if COMPACT.match(text.strip()):
        at = shlex.quote(key)
        words = (
            f"`clew agent` compacts nothing; nothing was sent. Use `clew sessions compact {at}` or `clew compact {at}`."
        )
        show_json({"ok": False, "key": key, "error": words}) if json else typer.echo(f"clew: {words}", err=True)
        raise typer.Exit(1)
    if not text.strip():
        raise BadInput("The message is empty; nothing was sent.")


async def _turn(clew: Clew, key: str, text: str, *, json: bool, **chosen: Any) -> dict[str, Any]:
    """One turn, and what is to be told of it."""
    happened: list[Event] = []
    async with clew.converse(key, **chosen) as conversation:
        conversation.listen(happened.append)
        tally = Tally(conversation)
        if not json:
            Printer(conversation, person=False)
        ended = await conversation.say(text)
        return {**await _told(conversation, ended, tally), "events": [msgspec.to_builtins(one) for one in happened]}


async def _told(conversation: Conversation, ended: Ended, tally: Tally) -> dict[str, Any]:
    status = await conversation.status()
    told: dict[str, Any] = {
        "ok": ended.outcome == "done", "key": status.key, "outcome": ended.outcome, "text": ended.text,
        "model": status.model, "usage": bill(tally.billing), "tokens": ended.tokens, "window": status.limits.budget,
        "compactions": status.compactions, "cost": bill(status.account.total()),
    }  # fmt: skip
    if ended.outcome != "done":
        told |= {"code": ended.code, "detail": ended.detail, "facts": ended.facts}
    return told
