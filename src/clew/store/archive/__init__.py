"""Import and export: other programs' sessions as entries, and entries as their files. No store, no counting of tokens.

    done = read(Path("session.jsonl"))           # the format is recognised
    for chunk in write(records, "openai"): ...   # bytes, a line or so each

Nothing is dropped in silence: a line of a kind not known becomes a custom entry, a line that cannot be read is named
with its number, a field that has no place is counted, and each repair is said in words.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from clew.errors import BadInput
from clew.prune.mark import project
from clew.store.archive import (
    anthropic,
    anthropic_export,
    claude_code,
    claude_code_export,
    clew_lines,
    codex,
    events,
    openai,
    openai_export,
    openclaw,
    openhands,
    pi,
    pi_export,
    swe_agent,
)
from clew.store.archive.detect import conversations, detect, of_content
from clew.store.archive.events import from_events
from clew.store.archive.imported import BadLine, Imported
from clew.store.archive.source import FORMATS, SQLITE, Content, fetch, parse, refuse
from clew.store.port import Record
from clew.transcript import Compaction, Entry, Said, mend, path, view

__all__ = ["EXPORTS", "FORMATS", "BadLine", "Imported", "detect", "from_events", "read", "write"]

EXPORTS = ("clew", "claude-code", "openclaw", "pi", "openai", "anthropic")
"""What can be written. Only `clew` gives back every entry exactly as it was."""

_FILES: dict[str, Callable[..., Imported]] = {
    "clew": clew_lines.read, "claude-code": claude_code.read, "codex": codex.read,
}  # fmt: skip
"""Formats of which a file is one session."""
_ROWS: dict[str, Callable[..., Imported]] = {
    "events": events.read, "swe-agent": swe_agent.read, "openhands": openhands.read,
}  # fmt: skip
"""Formats of which each line (or the document) is one session."""
_CHATS: dict[str, Callable[..., Imported]] = {"openai": openai.read, "anthropic": anthropic.read}


def read(data: bytes | str | Path, format: str = "auto", *, index: int | str = 0, at: int = 0) -> Imported:
    """The session in a file, or in bytes or text that were one.

    `index` picks one of several sessions, counted from 0 (in an OpenClaw SQLite file, the most recently used first, or
    its id or key). `at` is the time in milliseconds for entries before the first one that has a time of its own.
    Raises BadInput if no session can be read, NewerSchema for an export of a newer Clew.
    """
    if format not in ("auto", *FORMATS):
        raise refuse(f"There is no format {format}.")
    raw = fetch(data)
    if raw.startswith(SQLITE):
        return openclaw.read(data if isinstance(data, Path) else raw, index=index, at=at)
    content = parse(raw)
    chosen = of_content(content) if format == "auto" else format
    done = _read(content, chosen, index, at)
    if not done.drafts and chosen != "clew":
        raise refuse(f"The file holds no entry in the format {chosen}.")
    return done


def _read(content: Content, format: str, index: int | str, at: int) -> Imported:
    if format in _FILES:
        return _FILES[format](content, at=at)
    if format in ("pi", "openclaw"):
        return pi.read(content, content.items, format=format, at=at)
    if format in _ROWS:
        rows = [value for _, value in content.items if isinstance(value, dict)]
        return _several(len(rows), index, lambda nth: _ROWS[format](content, rows[nth], at=at))
    found = conversations(content)
    return _several(len(found), index, lambda nth: _chat(content, format, found[nth], at))


def _chat(content: Content, format: str, found: tuple[Any, Any], at: int) -> Imported:
    """One conversation; the object that holds it takes the document's place."""
    return _CHATS[format](msgspec.structs.replace(content, document=found[0]), found[1], at=at)


def _several(count: int, index: int | str, take: Callable[[int], Imported]) -> Imported:
    if not isinstance(index, int) or not 0 <= index < count:
        raise BadInput(f"The file holds {count} sessions, numbered from 0; there is no {index}. Nothing was imported.")
    done = take(index)
    if count == 1:
        return done
    note = f"The file holds {count} sessions; this is number {index}, counted from 0."
    return msgspec.structs.replace(done, meta={**done.meta, "sessions": count}, warnings=(*done.warnings, note))


def write(
    records: Iterable[Record],
    format: str = "clew",
    meta: dict[str, Any] | None = None,
    *,
    leaf: str | None = None,
    shown: bool = False,
) -> Iterator[bytes]:
    """A session as a file of `format`, in pieces.

    `leaf` is the entry the session goes on from; by default the last record. `openai` and `anthropic` get the branch
    to it, as far as the records reach: all that was said, or (`shown`) what the model is shown of it, brief first. The
    others get the whole tree. Raises BadInput for a format that cannot be written.
    """
    if format not in EXPORTS:
        raise BadInput(f"There is no export to {format}. Nothing was written. Choose one of {', '.join(EXPORTS)}.")
    if shown and format not in _CHATS:
        raise BadInput(f"Only {' and '.join(_CHATS)} can hold the view alone. Nothing was written.")
    return _write(list(records), format, meta or {}, leaf, shown)


def _write(records: list[Record], format: str, meta: dict[str, Any], leaf: str | None, shown: bool) -> Iterator[bytes]:
    leaf = leaf or (records[-1].entry.id if records else None)
    entries = [record.entry for record in records]
    if format == "clew":
        return clew_lines.write(records, meta, leaf)
    if format == "claude-code":
        return claude_code_export.write(entries, meta, leaf)
    if format in ("pi", "openclaw"):
        return pi_export.write(entries, meta, leaf, format=format)
    branch = _view(path(entries, leaf)) if shown else _told(path(entries, leaf))
    return openai_export.write(branch) if format == "openai" else anthropic_export.write(branch)


def _view(branch: list[Entry]) -> list[Entry]:
    """What the model is sent of a branch, message for message: brief, pins, what was kept and what came after."""
    messages = mend(project(view(branch)).messages())
    return [Entry(f"view{at}", None, 0, Said(message)) for at, message in enumerate(messages, 1)]


def _told(branch: list[Entry]) -> list[Entry]:
    """All that was said on a branch: a brief stays only where what it stands for is not there."""
    first = next((at for at, entry in enumerate(branch) if isinstance(entry.body, Said)), len(branch))
    return [entry for at, entry in enumerate(branch) if at < first or not isinstance(entry.body, Compaction)]
