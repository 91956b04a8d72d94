"""The workspace's files as they stand in the prompt: which, in what order, cut to a budget. Reads no disk."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from clew.prompt import cut, digest
from clew.prompt.settings import FILE_CHARS, TOTAL_CHARS
from clew.transcript import clean
from clew.transcript.characters import head

AGENTS, SOUL, IDENTITY, USER, BOOTSTRAP, MEMORY = ORDER = (
    "AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md",
)  # fmt: skip
"""The order in which files are shown and the budget is used up. Others come after them, as they were given."""

Audience = Literal["direct", "group", "scheduled", "subagent"]
"""Who reads along: one person, a group or channel, nobody (a scheduled run), or another agent."""

VISIBLE: dict[Audience, frozenset[str]] = {
    "direct": frozenset(ORDER),
    "group": frozenset(ORDER) - {MEMORY},
    "scheduled": frozenset((AGENTS, SOUL, IDENTITY, USER)),
    "subagent": frozenset((AGENTS,)),
}
"""Files that may be shown. What was noted for one person is not for a group (spec/context.md 8.4)."""

LEAST = 64
"""Characters; with less than this left of the total, the files that follow are left out whole."""
PROBLEM_CHARS = 300
"""Characters of the reason why a file could not be read."""

Cut = Literal["", "file", "total", "left out"]
"""Whole; cut by the limit of one file; cut by what was left of the total; not shown for want of room."""


class WorkspaceFile(msgspec.Struct, frozen=True):
    """A file of the workspace."""

    name: str
    """Its name in the workspace, with `/` between folders."""
    text: str | None
    """None: it is not there, or it cannot be read."""
    problem: str = ""
    """Why it cannot be read; empty where it can, or where it is not there."""


class ShownFile(msgspec.Struct, frozen=True):
    """A file as it stands in the prompt."""

    name: str
    text: str
    """Empty where it was left out."""
    raw_chars: int
    """Characters of the whole file, once its line ends and blanks are normalised."""
    cut: Cut = ""


def visible(files: Iterable[WorkspaceFile], audience: Audience) -> tuple[WorkspaceFile, ...]:
    """The files that may be shown to an audience. Files with other names are shown to a single person alone."""
    return tuple(
        file for file in files if file.name in VISIBLE[audience] or (audience == "direct" and file.name not in ORDER)
    )


def fit(files: Iterable[WorkspaceFile], *, each: int = FILE_CHARS, total: int = TOTAL_CHARS) -> tuple[ShownFile, ...]:
    """The files in their order, each within `each` characters and all within `total`. Missing ones are skipped."""
    left = total
    shown = []
    for file in sorted(files, key=_place):
        if (text := _text(file)) is None:
            continue
        one = _fitted(file.name, text, each, left)
        left -= len(one.text)
        shown.append(one)
    return tuple(shown)


def _fitted(name: str, text: str, each: int, left: int) -> ShownFile:
    most = min(each, left)
    if len(text) <= most:
        return ShownFile(name, text, len(text))
    if left < LEAST:
        return ShownFile(name, "", len(text), "left out")
    shorten = digest.to_size if name.rpartition("/")[2] == AGENTS else cut.to_size
    return ShownFile(name, shorten(text, most, clean(name)), len(text), "file" if len(text) > each else "total")


def _text(file: WorkspaceFile) -> str | None:
    if file.problem:
        return f"[{clean(file.name)} could not be read: {head(cut.normal(file.problem), PROBLEM_CHARS)}]"
    return cut.normal(file.text) if file.text and file.text.strip() else None


def _place(file: WorkspaceFile) -> int:
    return ORDER.index(file.name) if file.name in ORDER else len(ORDER)
