"""What Clew logs, and where to: structured records on the logger `clew`, silent until somebody listens.

Records hold sizes, reasons, counts and keys; never words of a conversation, and never a secret.
"""

import json
import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

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
