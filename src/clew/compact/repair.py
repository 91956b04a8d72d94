"""What rules put right in a draft, so that a slip of form costs no second request: headings, identifiers, asks."""

import json
import re
from collections.abc import Callable, Sequence

import msgspec

from clew.compact import identifiers
from clew.compact.audit import RESULT_ONLY, Evidence, closed, foreign, reflects, same_ask, settled_by, supported
from clew.compact.brief import (
    ASKS,
    DECISIONS,
    HEADINGS,
    IDENTIFIERS,
    NONE,
    TODOS,
    Section,
    body,
    heading_in,
    is_none,
    sections,
)
from clew.compact.ledger_corrections import marked
from clew.compact.ledger_names import GROUPS
from clew.compact.serialize import clip

ASK_CHARS = 800
"""Characters of an ask put back into a brief; the ledger keeps more of it."""

_FENCE = re.compile(r"\A\s*```(?:markdown|md)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
_PREAMBLE = re.compile(r"\A(?:here is|here's|below is|sure|certainly|okay|ok)\b.*[:：.]\s*\Z", re.IGNORECASE)
_REASONING = re.compile(r"<(think|thinking|analysis)>.*?(?:</\1>|\Z)", re.DOTALL)


class Mended(msgspec.Struct, frozen=True):
    """A brief after repair, and what was done to it."""

    text: str
    restored: tuple[str, ...] = ()
    """Identifiers and asks put back."""
    dropped: tuple[str, ...] = ()
    """Lines taken out."""


def normalise(draft: str) -> str:
    """A draft with the five headings spelled, ordered and single; a heading that is missing stays missing.

    Words before the first heading move under Decisions, unless they only introduce the brief. Under a heading that
    stood twice, the lines of both runs are kept, each line once. Other headings become smaller ones where they stand.
    """
    if fenced := _FENCE.match(draft := _REASONING.sub("", draft)):
        draft = fenced.group(1)
    found: dict[str, list[str]] = {}
    place = DECISIONS
    for section in sections(draft):
        place = section.heading if section.heading in HEADINGS else place
        _add(found, place, section)
    return "\n\n".join(_section(heading, found[heading]) for heading in HEADINGS if heading in found)


def _add(found: dict[str, list[str]], place: str, section: Section) -> None:
    lines = [line.rstrip() for line in section.lines]
    if not section.heading:
        lines = [line for line in lines if line.strip() and not _PREAMBLE.match(line.strip())]
        if not lines:
            return
    elif section.heading not in HEADINGS:
        lines = [f"### {section.heading.lstrip('# ')}".rstrip(), *lines]
    kept = found.setdefault(place, [])
    kept += [line for line in lines if not line.strip() or line not in kept]


def _section(heading: str, lines: Sequence[str]) -> str:
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    said = [line for line in text.split("\n") if line.strip()]
    return f"{heading}\n{text if said and not all(map(is_none, said)) else NONE}"


def restore(text: str, below: str, evidence: Evidence) -> Mended:
    """Put back what may not be missing: identifiers under theirs, an open ask under the pending ones.

    `below` is the ledger that will stand under the brief: what it holds is not missing. A section that is not there
    takes nothing: the audit will say so.
    """
    lacking = identifiers.missing(evidence.identifiers, f"{text}\n{below}")
    if lacking:
        text = _append(text, IDENTIFIERS, _by_kind(lacking))
    restored = [*lacking] if has(text, IDENTIFIERS) else []
    if evidence.ask and evidence.ask_open and not _listed(text, evidence.ask):
        text = _append(text, ASKS, [f"- {quoted(evidence.ask)}"])
        restored += [evidence.ask] if has(text, ASKS) else []
    elif evidence.ask and not evidence.ask_open and not reflects(evidence.ask, f"{text}\n{below}"):
        text = _append(text, DECISIONS, [f"- The user had asked, and got an answer: {quoted(evidence.ask)}"])
        restored += [evidence.ask] if has(text, DECISIONS) else []
    return Mended(text, tuple(restored))


def _by_kind(names: Sequence[str]) -> list[str]:
    """Identifiers as one line a kind, the kinds in the order of the first name of each."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(GROUPS.get(identifiers.kind(name), "ids"), []).append(name)
    return [f"- {group}: {' '.join(named)}" for group, named in groups.items()]


def quoted(ask: str) -> str:
    """An ask on one line, word for word within its bound: data in quotes, never a heading or an instruction."""
    return json.dumps(clip(ask.strip(), ASK_CHARS), ensure_ascii=False)


def plain_lines(text: str) -> str:
    """Words as lines that open no section: a brief's headings go, others become bullets."""
    said = [line for line in _REASONING.sub("", text).strip().split("\n") if not heading_in(line) and not is_none(line)]
    lines = [re.sub(r"^\s*#+\s*", "- ", line).rstrip() for line in said]
    return "\n".join(dict.fromkeys(line for line in lines if line.strip() and not line.startswith("```")))


def has(text: str, heading: str) -> bool:
    """Whether a brief has a heading."""
    return heading in text.split("\n")


def _listed(text: str, ask: str) -> bool:
    return any(same_ask(line, ask) for line in body(text, ASKS))


def _append(text: str, heading: str, lines: Sequence[str]) -> str:
    """Lines added at the end of a section, in place of a `None.`; the text as it was if the section is not there."""

    def grown(section: Section) -> Section:
        kept = [line for line in section.lines if line.strip() and not is_none(line)]
        return Section(heading, (*kept, *lines)) if section.heading == heading else section

    return _joined(list(map(grown, sections(text)))) if has(text, heading) else text


def _joined(parts: Sequence[Section]) -> str:
    return "\n\n".join(_section(part.heading, part.lines) for part in parts if part.heading)


def unbind(text: str, evidence: Evidence) -> Mended:
    """Take from open work what is closed, note on old values what holds now, and let no result bind the agent.

    What a result alone demands moves to the decisions with a note on where it is from.
    """
    taken: list[str] = []
    moved: list[str] = []

    def kept(heading: str, line: str) -> bool:
        if not line.strip() or is_none(line):
            return True
        over = heading == TODOS and closed(line, evidence)
        alien = not over and foreign(heading, line, evidence)
        taken.extend([line] if over or alien else [])
        moved.extend([f"- {RESULT_ONLY} {line.lstrip('-*• ')}"] if alien else [])
        return not (over or alien)

    parts = [
        Section(part.heading, tuple(line for line in part.lines if kept(part.heading, line)))
        for part in sections(text)
        if part.heading
    ]
    text = _joined(parts) if taken else text
    text = _append(text, DECISIONS, moved) if moved else text
    return Mended(_noted(text, evidence), dropped=tuple(taken))


def _noted(text: str, evidence: Evidence) -> str:
    """A text with a note on each line that states an old value."""
    return "\n".join(marked(line, evidence.replaced) for line in text.split("\n")) if evidence.replaced else text


def strip(text: str, evidence: Evidence) -> Mended:
    """Take out what may not stand: asks that are settled, invented identifiers, lines that nothing supports.

    The last rung before a draft is given up; every line taken out is in the record.
    """
    taken: list[str] = []

    def sound(heading: str) -> Callable[[str], bool]:
        def keep(line: str) -> bool:
            wrong = (heading == ASKS and settled_by(line, evidence)) or not _true(line, evidence)
            taken.extend([line] if wrong else [])
            return not wrong

        return keep

    parts = [Section(part.heading, tuple(filter(sound(part.heading), part.lines))) for part in sections(text)]
    return Mended(_joined(parts), dropped=tuple(taken))


def _true(line: str, evidence: Evidence) -> bool:
    if not line.strip() or is_none(line):
        return True
    known = all(evidence.source.knows(one) for one in identifiers.find(line) if identifiers.strong(one))
    return known and supported(line, evidence.source)


def complete(text: str) -> str:
    """A brief with every heading, the missing ones empty: what rules know of them stands in the ledger below."""
    found = {part.heading: part.lines for part in sections(text) if part.heading}
    wanted = {heading: found.pop(heading, ()) for heading in HEADINGS}
    return _joined([Section(heading, lines) for heading, lines in (*wanted.items(), *found.items())])


def shorten(text: str, budget: int, count: Callable[[str], int]) -> Mended:
    """A brief within its budget: the longest section gives up its last lines until the whole fits.

    Each section keeps its first line, whatever the budget.
    """
    parts = {part.heading: [line for line in part.lines if line.strip()] for part in sections(text) if part.heading}
    taken: list[str] = []
    while (excess := count(text) - budget) > 0 and any(len(lines) > 1 for lines in parts.values()):
        taken += _give_up(parts, excess, count)
        text = _joined([Section(heading, tuple(lines)) for heading, lines in parts.items()])
    return Mended(text, dropped=tuple(taken))


def _give_up(parts: dict[str, list[str]], excess: int, count: Callable[[str], int]) -> list[str]:
    """At least one line, and lines worth `excess` tokens while there are some, each from the section with most text."""
    taken: list[str] = []
    length = {heading: sum(map(len, lines)) for heading, lines in parts.items()}
    while excess > 0 and (long := [heading for heading, lines in parts.items() if len(lines) > 1]):
        longest = max(long, key=length.__getitem__)
        taken.append(parts[longest].pop())
        length[longest] -= len(taken[-1])
        excess -= count(taken[-1])
    return taken
