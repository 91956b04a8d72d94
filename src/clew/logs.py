"""What Clew logs, and where to: structured records on the logger `clew`, silent until somebody listens.

Records hold sizes, reasons, counts and keys; never words of a conversation, and never a secret.
"""

import json
import logging
import os
from collections import deque
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, TextIO

from clew.clock import iso

FILE = "clew.log"
"""The log's name, beside the store."""

MOST_BYTES, KEPT = 2_000_000, 2
"""A log of this size is put aside; so many are kept."""

_LOGGER = logging.getLogger("clew")
_LOGGER.addHandler(logging.NullHandler())


class Log:
    """Records made of an event's name and facts."""

    def info(self, event: str, **facts: Any) -> None:
        """Something happened."""
        _LOGGER.info(event, extra=facts)

    def warning(self, event: str, **facts: Any) -> None:
        """Something is not as it should be; a person is told."""
        _LOGGER.warning(event, extra=facts)


log = Log()
"""The log every part of Clew writes to."""

_PLAIN = set(vars(logging.makeLogRecord({})))


class Lines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """A record with its time, level, event and facts."""
        facts = {name: value for name, value in vars(record).items() if name not in _PLAIN}
        line = {"at": iso(int(record.created * 1000)), "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps({**line, **facts}, ensure_ascii=False, default=str)


class Said(logging.Formatter):
    """One sentence for a person, with the facts behind it."""

    def format(self, record: logging.LogRecord) -> str:
        """A warning as it is read on a terminal."""
        facts = ", ".join(f"{name}: {value}" for name, value in vars(record).items() if name not in _PLAIN)
        return f"clew: {record.getMessage()}{f' ({facts})' if facts else ''}"


def to_file(folder: Path) -> None:
    """Write records of level INFO and above to the log in `folder`, and warnings to standard error too.

    A folder that cannot be written gets none. Called again with another folder, it writes there from then on.
    """
    for handler in [one for one in _LOGGER.handlers if not isinstance(one, logging.NullHandler)]:
        _LOGGER.removeHandler(handler)
        handler.close()
    warnings = logging.StreamHandler()
    warnings.setLevel(logging.WARNING)
    warnings.setFormatter(Said())
    _LOGGER.addHandler(warnings)
    _LOGGER.setLevel(logging.INFO)
    _LOGGER.propagate = False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).touch(mode=0o600)  # its owner's alone: keys of sessions tell who talks about what
        lines = RotatingFileHandler(folder / FILE, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
    except OSError:
        return
    lines.setFormatter(Lines())
    _LOGGER.addHandler(lines)


def last(path: Path, count: int) -> list[str]:
    """The last lines of a log, from those that were put aside too, where the newest has too few."""
    found: deque[str] = deque(maxlen=count)
    for number in range(KEPT, -1, -1):
        one = path.with_name(f"{path.name}.{number}") if number else path
        if one.exists():
            found.extend(one.read_text(encoding="utf-8", errors="replace").splitlines())
    return list(found)


class Following:
    """The lines that come to a log from now on; when it is put aside, those of the one after it."""

    def __init__(self, path: Path) -> None:
        """The place to go on from is that of this moment."""
        found = path.stat() if path.exists() else None
        self.path, self._after = path, (found.st_ino, found.st_size) if found else (0, 0)
        self._file: TextIO | None = None
        self._rest = ""

    def read(self) -> list[str]:
        """What has come since the last look."""
        if self._file is None and self.path.exists():
            self._file = self.path.open(encoding="utf-8", errors="replace")
            if os.fstat(self._file.fileno()).st_ino == self._after[0]:
                self._file.seek(self._after[1])
        if self._file is None:
            return []
        *whole, self._rest = (self._rest + self._file.read()).split("\n")
        if self.path.exists() and self.path.stat().st_ino != os.fstat(self._file.fileno()).st_ino:
            self.close()
            return whole + self.read()
        return whole

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
        self._file, self._rest, self._after = None, "", (0, 0)
