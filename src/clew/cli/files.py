"""Files that commands read and write: a new one is written whole or not at all."""

from collections.abc import Iterable
from pathlib import Path

from clew.errors import BadInput, ClewError


def write(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a new file, or none: what could only be written in part is taken away again."""
    with path.open("xb") as file:
        try:
            file.writelines(chunks)
            file.flush()
        except (OSError, ClewError, KeyboardInterrupt):
            path.unlink(missing_ok=True)
            raise


def new(path: Path) -> Path:
    """A path where nothing is yet. Raises BadInput."""
    if path.exists():
        raise BadInput(f"{path} exists already; nothing was written. Choose another name, or remove it first.")
    return path


def existing(path: Path) -> Path:
    """A path where a file is. Raises BadInput."""
    if path.is_dir():
        raise BadInput(f"{path} is a folder; nothing was changed. Name a file.")
    if not path.exists():
        raise BadInput(f"There is no file {path}; nothing was changed.")
    return path
