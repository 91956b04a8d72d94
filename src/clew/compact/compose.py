"""A brief put together: the model's prose, a few quoted turns, and below them the ledger, within one budget."""

import json
from collections.abc import Callable, Collection, Sequence

import msgspec

from clew.compact import ledger
from clew.compact.brief import is_none
from clew.compact.evidence import asked, words
from clew.compact.job import Job
from clew.compact.ledger_corrections import marked, replaced
from clew.compact.serialize import clip
from clew.compact.source import Source, plain
from clew.transcript import Assistant, Entry, Ledger, Line, Message, Said, User, text_of

RECENT = "## Recent turns"
"""The heading over the turns that are quoted."""

RECENT_SHARE = 8
"""Quoted turns take at most an eighth of a brief…"""

RECENT_FLOOR = 4_000
"""…and nothing of a brief with fewer tokens than this."""

RECENT_CHARS = 600
"""Characters quoted of one message."""


class Composed(msgspec.Struct, frozen=True):
    """A whole brief."""

    text: str
    prose: str
    """The part of it that a model wrote; empty where rules wrote it all."""
    lines: tuple[Line, ...]
    """Where its lines come from."""
    losses: tuple[str, ...] = ()
    """Codes of what the budget cut off."""


class Below(msgspec.Struct, frozen=True):
    """What stands under the prose, with where its lines come from, counted from 1."""

    text: str
    lines: tuple[Line, ...]
    losses: tuple[str, ...] = ()


def below(job: Job, kept: Ledger, *, budget: int, prose: str = "", first: Collection[str] = ()) -> Below:
    """The ledger within `budget` tokens, and the newest turns of what is wound up where there is room for them.

    Without prose the ledger writes the five headings itself. Names that the prose or the tail shows are not
    repeated; those of `first` come before all others.
    """
    quoted = recent(job.cut.dropped, job.recent_turns, job.count, budget=job.budget // RECENT_SHARE)
    if job.budget < RECENT_FLOOR or len(quoted) < 2:
        quoted = []
    changed = replaced(kept.identifiers)
    quoted = [(marked(text, changed), ids) for text, ids in quoted]
    turns = "\n".join(text for text, _ in quoted)
    shown = "\n".join([prose, turns, *map(plain, job.cut.tail)])
    room = max(0, budget - job.count(turns))
    rendered = ledger.render(kept, room, standalone=not prose, count=job.count, shown=shown, first=first)
    start = rendered.text.count("\n") + 3 if rendered.text else 1
    more = tuple(Line(start + index, ids) for index, (_, ids) in enumerate(quoted))
    text = "\n\n".join(filter(None, [rendered.text, turns]))
    return Below(text, (*rendered.lines, *more), rendered.losses)


def compose(prose: str, under: Below, source: Source) -> Composed:
    """The prose with what stands under it; each line of the prose is traced to the entries that support it."""
    if not prose:
        return Composed(under.text, "", under.lines, under.losses)
    text = f"{prose}\n\n{under.text}" if under.text else prose
    shift = prose.count("\n") + 2
    own = [Line(n, source.support(line)[0]) for n, line in enumerate(prose.split("\n"), 1) if _claims(line)]
    moved = [Line(line.number + shift, line.sources) for line in under.lines]
    return Composed(text, prose, (*own, *moved), under.losses)


def _claims(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#") and not is_none(line)


def recent(
    entries: Sequence[Entry], turns: int, count: Callable[[str], int], *, budget: int
) -> list[tuple[str, tuple[str, ...]]]:
    """The words of the newest turns as lines with their sources, a heading first; the oldest give way to the budget."""
    starts = [entry.id for entry in asked(entries)][-turns:] if turns else []
    if not starts:
        return []
    first = next(at for at, entry in enumerate(entries) if entry.id == starts[0])
    lines: list[tuple[str, tuple[str, ...]]] = []
    used = count(RECENT) + 1
    for entry in reversed(entries[first:]):
        if (line := _quote(entry)) is None:
            continue
        used += count(line) + 1
        if used > budget:
            break
        lines.append((line, (entry.id,)))
    return [(RECENT, ()), *reversed(lines)]


def _quote(entry: Entry) -> str | None:
    message: Message | None = entry.body.message if isinstance(entry.body, Said) else None
    if not isinstance(message, User | Assistant) or (isinstance(message, User) and message.synthetic):
        return None
    said = words(entry) if isinstance(message, User) else text_of(message).strip()
    speaker = "User" if isinstance(message, User) else "Assistant"
    return f"- {speaker}: {json.dumps(clip(said, RECENT_CHARS), ensure_ascii=False)}" if said else None
