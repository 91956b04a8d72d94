"""How facts are laid out as lines: rows that know their sources, sections under headings, room divided by shares."""

import re
from collections.abc import Sequence

import msgspec

from clew.compact.ledger_plain import uncoloured
from clew.transcript import LedgerItem, Line

ROW = 140
"""Characters of a row of names."""

_CITED = re.compile(r"^(?:\s*>)+\s*")


class Rendered(msgspec.Struct, frozen=True):
    """A ledger as text."""

    text: str
    lines: tuple[Line, ...]
    """Where each line comes from; numbers count from 1 within `text`."""
    losses: tuple[str, ...] = ()
    """The sections that the budget cut, such as `identifiers`."""


class Row(msgspec.Struct, frozen=True):
    """One fact, or one row of names, as it is written."""

    text: str
    sources: tuple[str, ...] = ()


def portions(wanted: dict[str, int], shares: dict[str, float], room: int) -> dict[str, int]:
    """`room` divided by shares; a section that wants less leaves the rest to the others."""
    given: dict[str, int] = {}
    hungry = dict(wanted)
    while hungry:
        whole = sum(shares[name] for name in hungry)
        offer = {name: int(room * shares[name] / whole) for name in hungry}
        content = [name for name in hungry if hungry[name] <= offer[name]]
        if not content:
            return given | offer
        for name in content:
            given[name] = hungry.pop(name)
            room -= given[name]
    return given


def compose(sections: Sequence[tuple[str, Sequence[Row]]], always: Sequence[str], losses: tuple[str, ...]) -> Rendered:
    """Sections as text with the sources of each line; an empty section is written only if it is in `always`."""
    lines: list[Line] = []
    written: list[str] = []
    for heading, rows in sections:
        if not rows and heading not in always:
            continue
        for row in (*([Row("")] if written else []), Row(heading), *(rows or [Row("None.")])):
            for text in row.text.split("\n"):
                written.append(text)
                lines.append(Line(len(written), row.sources))
    return Rendered("\n".join(written), tuple(lines), tuple(dict.fromkeys(losses)))


def quoted(item: LedgerItem, text: str, note: str = "") -> list[Row]:
    """An ask as it was said, behind `> `, without its blank lines, with a note on it and how often it was made.

    A line the user quoted himself has a `»` in place of its own `>`.
    """
    notes = ", ".join(filter(None, [note, f"asked {item.uses} times" if item.uses > 1 else ""]))
    lines = [_CITED.sub("» ", line.rstrip()) for line in text.splitlines() if line.strip()] or [""]
    opening = f"- ({notes}) " if notes else "- "
    return [Row("\n".join([f"{opening}{lines[0]}", *(f"> {line}" for line in lines[1:])]), item.sources)]


def whole(item: LedgerItem, *notes: str) -> Row:
    """A pinned message, every line of it."""
    lines = [f"> {line}".rstrip() for line in uncoloured(item.text).split("\n")]
    opening = "; ".join([f"{item.state or 'a'} message", *notes])
    return Row("\n".join([f"- ({opening})", *lines]), item.sources)


def box(item: LedgerItem, mark: str, *notes: str) -> Row:
    """A to-do item with its box."""
    number = f"{item.key} " if item.key.startswith("#") else ""
    return Row(f"- {mark} {number}{flat(item.text)}" + (f" ({'; '.join(notes)})" if notes else ""), item.sources)


def flat(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def flow(label: str, named: Sequence[tuple[str, LedgerItem]]) -> list[Row]:
    """Names one after the other in rows of about ROW characters."""
    rows: list[Row] = []
    sources: list[str] = []
    text = label
    for name, item in named:
        if len(text) > ROW:
            rows.append(Row(text, tuple(dict.fromkeys(sources))))
            text, sources = " ", []
        text += f" {name}"
        sources.append(item.sources[-1])
    return [*rows, Row(text, tuple(dict.fromkeys(sources)))] if named else rows
