"""Settings of the tools: what they may reach, what runs without asking, and the servers that lend more of them."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from clew.settings import Names, Settings

Ask = Literal["always", "unless-allowed", "never"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class ExecSettings(Settings):
    """The tool `exec`: shell commands, run as the user who runs Clew."""

    enabled: bool = True
    """Whether there is such a tool."""
    ask: Ask = "unless-allowed"
    """Whether a person is asked before a command runs. `never` lets the model run any command at all."""
    allow: Names = ()
    """Commands that run without asking, such as "git status" or "ls *". `*` and `?` stand for anything but the signs
    with which a shell joins, redirects or substitutes (; | & < > $ ` and the like). Empty: every one is asked for."""
    pass_env: Names = ()
    """Environment variables commands are given although their names look like a secret's; names may hold `*`. Empty:
    none of those."""
    timeout_seconds: int = Field(default=120, ge=1)
    """Seconds a command may run where the model names no limit."""
    max_timeout_seconds: int = Field(default=1_800, ge=1)
    """Seconds the model may ask for at most."""


class FilesSettings(Settings):
    """The tools `read`, `write` and `edit`."""

    ask: Literal["always", "never"] = "never"
    """Whether a person is asked before a file of the workspace is written or changed. Reading is never asked for."""
    roots: Names = ()
    """Folders beside the workspace that may be read and written, as absolute paths. Empty: none."""
    read_only: bool = False
    """Whether nothing may be changed: `write`, `edit` and `exec` are then not offered, and no notes are written."""


class ToolsSettings(Settings):
    """What the model may do in the workspace."""

    exec: ExecSettings = ExecSettings()
    """Shell commands."""
    files: FilesSettings = FilesSettings()
    """Reading and writing files."""


def _names(written: object) -> object:
    for name in written if isinstance(written, dict) else ():
        if not _NAME.fullmatch(str(name)) or "__" in str(name):
            raise ValueError(f"{name!r} is no name for a server: letters, digits, - and _ (no two in a row)")
    return written


class ServerSettings(Settings):
    """One server: a command that is started, or a URL."""

    model_config = ConfigDict(hide_input_in_errors=True)

    enabled: bool = True
    """Whether it is used."""
    command: str | None = None
    """The program to start; it speaks over its standard input and output. None: the server has a `url`."""
    args: Names = ()
    """The program's arguments."""
    env: dict[str, SecretStr] = {}
    """Variables it is given besides PATH, HOME and the like; `${NAME}` stands for one of Clew's own environment."""
    cwd: str | None = None
    """The folder it starts in. None: the workspace."""
    url: str | None = None
    """Where it answers (Streamable HTTP). None: the server has a `command`."""
    headers: dict[str, SecretStr] = {}
    """Headers of every request to the `url`; `${NAME}` stands for an environment variable."""
    ask: Ask = "unless-allowed"
    """Whether a person is asked before one of its tools runs."""
    allow: Names = ()
    """Its tools that run without asking, by their own names; names may hold `*`. Empty: every tool is asked for."""
    timeout_seconds: int = Field(default=120, ge=1)
    """Seconds a call may take."""
    start_timeout_seconds: int = Field(default=20, ge=1)
    """Seconds it may take to start and name its tools; after that the conversation goes on without it."""

    @model_validator(mode="after")
    def _one_way(self) -> Any:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has either a `command` or a `url`")
        return self


class McpSettings(Settings):
    """Servers that lend tools over the Model Context Protocol; needs `pip install 'clew[mcp]'`."""

    servers: Annotated[dict[str, ServerSettings], BeforeValidator(_names)] = {}
    """Servers by name; a tool is called `<server>__<tool>`."""
