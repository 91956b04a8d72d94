"""The tools of a workspace as a model is offered them: `read`, `write`, `edit`, `exec`. It reads their docstrings."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from clew.clock import NewId
from clew.errors import BadInput
from clew.workspace import exec, reading, writing
from clew.workspace.permission import command_gate, environment
from clew.workspace.place import Workspace
from clew.workspace.port import Offer, Output
from clew.workspace.settings import ToolsSettings

Count = Annotated[int, Field(ge=1)]


class Hands:
    """What a model can do in one workspace."""

    def __init__(self, workspace: Workspace, settings: ToolsSettings, *, env: Mapping[str, str], new_id: NewId) -> None:
        """`env` is the environment commands are given, without what looks like a secret."""
        self._workspace, self._settings, self._new_id = workspace, settings, new_id
        self._env = environment(env, settings.exec.pass_env)

    def offers(self) -> tuple[Offer, ...]:
        """The tools, as far as the settings and the workspace allow them."""
        asked = self._settings.files.ask == "always"
        gate = (lambda _: "every change of a file is asked for (`tools.files.ask`)") if asked else None
        found = [Offer(self.read)]
        if self._workspace.read_only:
            return tuple(found)
        found += [Offer(self.write, gate=gate), Offer(self.edit, gate=gate)]
        if self._settings.exec.enabled:
            settings = self._settings.exec
            found.append(Offer(self.exec, gate=command_gate(settings.ask, settings.allow)))
        return tuple(found)

    def read(self, path: str, offset: Count = 1, limit: Count | None = None, column: Count = 1) -> Output:
        """Read a file or list a folder of the workspace. Images are shown. Long files come in parts.

        Args:
            path: The file or folder, relative to the workspace.
            offset: The first line to read, counted from 1.
            limit: How many lines to read; as many as fit if left out.
            column: The character of that line to start at, for very long lines.
        """
        return reading.read(self._workspace, path, offset, limit, column)

    def write(self, path: str, content: str) -> str:
        """Write a file of the workspace, replacing what was in it. Folders on the way are made.

        Args:
            path: The file, relative to the workspace.
            content: All of what is to be in it.
        """
        return writing.write(self._workspace, path, content)

    def edit(self, path: str, old: str, new: str, all: bool = False) -> str:
        """Replace text in a file of the workspace. The text must be there exactly once unless `all` is set.

        Args:
            path: The file, relative to the workspace.
            old: The text to replace, exactly as it is in the file, blanks and line breaks included.
            new: What stands there afterwards.
            all: Replace it wherever it is.
        """
        return writing.edit(self._workspace, path, old, new, all)

    async def exec(self, command: str, timeout_s: Annotated[float, Field(gt=0)] | None = None) -> Output:
        """Run a shell command in the workspace and wait for it. It has no input and no terminal; the result ends with
        its exit code. The user may be asked first. What it leaves running is ended.

        Args:
            command: The command.
            timeout_s: Seconds it may take.
        """
        settings = self._settings.exec
        seconds = timeout_s or settings.timeout_seconds
        if seconds > settings.max_timeout_seconds:
            raise BadInput(f"A command may run {settings.max_timeout_seconds} s at most; nothing was run.")
        name = f"exec-{self._new_id()}.txt"
        return await exec.execute(self._workspace, command, timeout_s=seconds, env=self._env, name=name)
