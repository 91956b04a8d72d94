"""The commands that talk, as an app of their own: `python -m tests.faces.talk_app chat --plain`."""

import typer

from clew.cli.agent import agent
from clew.cli.chat import chat
from clew.cli.doctor import doctor
from clew.cli.group import Commands
from clew.cli.logs import logs
from clew.cli.status import status

app = typer.Typer(cls=Commands, pretty_exceptions_enable=False, rich_markup_mode=None)
for one in (agent, chat, doctor, logs, status):
    app.command()(one)

if __name__ == "__main__":
    app()
