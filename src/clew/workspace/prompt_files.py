"""The files of a workspace that go into a prompt: who the agent is, what it has to know, the skills it can look up."""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from clew.errors import BadInput
from clew.transcript import clean
from clew.workspace.place import Workspace

NAMES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md")
"""In the order in which they take up the prompt's budget."""

LARGEST = 2 * 1024 * 1024
"""Bytes of a file that are read (OpenClaw's bound)."""
LARGEST_SKILL = 256 * 1024
"""Bytes of a skill that are read; the prompt lists its name, description and place alone."""


class PromptFile(NamedTuple):
    """A file as it is, or why it could not be read."""

    name: str
    """As the workspace knows it, such as `AGENTS.md` or `skills/deploy/SKILL.md`."""
    text: str | None
    error: str | None = None


def prompt_files(workspace: Workspace) -> tuple[PromptFile, ...]:
    """The workspace files there are, in the order of `NAMES`; missing ones are left out."""
    return tuple(file for name in NAMES if (file := _read(workspace, name, LARGEST)) is not None)


def skills(workspace: Workspace) -> tuple[PromptFile, ...]:
    """Every `skills/<name>/SKILL.md`, by name."""
    try:
        names = sorted(entry.name for entry in os.scandir(workspace.find("skills")) if entry.is_dir())
    except (BadInput, OSError):
        return ()
    read = (_read(workspace, f"skills/{name}/SKILL.md", LARGEST_SKILL) for name in names)
    return tuple(file for file in read if file is not None)


def _read(workspace: Workspace, name: str, most: int) -> PromptFile | None:
    """A file's first `most` bytes as text; None where there is no such file."""
    shown = clean(name)
    if not os.path.lexists(Path(workspace.root) / name):
        return None
    try:
        real = workspace.find(name)
        if not stat.S_ISREG(real.stat().st_mode):
            return PromptFile(shown, None, "it is no file")
        with real.open("rb") as file:
            data = file.read(most + 1)
    except BadInput as error:
        return PromptFile(shown, None, str(error))
    except OSError as error:
        return PromptFile(shown, None, error.strerror or str(error))
    text = data[:most].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return PromptFile(shown, text, f"only its first {most:,} bytes were read" if len(data) > most else None)
