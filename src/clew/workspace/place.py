"""The workspace as a place: a path is inside it after every symbolic link was followed, or it is refused."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from clew.errors import BadInput
from clew.transcript import clean
from clew.workspace.settings import FilesSettings

OUTPUTS = ".clew/outputs"
"""The folder of the workspace that holds outputs too long to show."""


class Workspace(msgspec.Struct, frozen=True):
    """A folder, those beside it that count as part of it, and whether it may be changed."""

    root: Path
    roots: tuple[Path, ...] = ()
    """More folders that may be reached, as absolute paths."""
    read_only: bool = False

    @classmethod
    def of(cls, root: Path, settings: FilesSettings) -> Self:
        """A workspace with what the settings open and shut."""
        return cls(root, tuple(Path(one).expanduser() for one in settings.roots), settings.read_only)

    def find(self, path: str) -> Path:
        """The real path of a file or folder that may not exist yet. Raises BadInput where it is not inside."""
        if "\0" in path:
            raise BadInput("A path holds no NUL character; nothing was touched.")
        try:
            real = Path(os.path.realpath(self.root / Path(path).expanduser()))
        except (RuntimeError, OSError) as error:
            raise BadInput(f"{clean(path)} is no path ({error}); nothing was touched.") from error
        if not any(real.is_relative_to(os.path.realpath(root)) for root in (self.root, *self.roots)):
            raise BadInput(
                f"{clean(path)} is outside the workspace (followed to its end, links and `..` included); nothing was "
                "touched. Use a path inside the workspace; the user can open more folders with `tools.files.roots`."
            )
        return real

    def shown(self, real: Path) -> str:
        """A real path as the tools write it: relative to the workspace where it is inside it."""
        root = os.path.realpath(self.root)
        return clean(str(real.relative_to(root) if real.is_relative_to(root) else real))

    def to_change(self, path: str) -> Path:
        """The real path of a file about to be changed. Raises BadInput where it may not be."""
        if self.read_only:
            raise BadInput("The workspace is read-only; nothing was changed. Tell the user what you would change.")
        return self.find(path)

    def new_output(self, name: str) -> Path:
        """A path for an output, its folder made and kept out of version control. Raises BadInput or OSError."""
        folder = self.to_change(OUTPUTS)
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), (folder.parent / ".gitignore").open("x", encoding="utf-8") as ignore:
            ignore.write("*\n")
        return folder / name

    def save_output(self, name: str, text: str) -> str | None:
        """Keep a text that is too long to show; where it is, or None where it cannot be kept."""
        try:
            path = self.new_output(name)
            with path.open("x", encoding="utf-8", newline="") as file:
                file.write(clean(text))
        except (BadInput, OSError):
            return None
        return self.shown(path)
