"""What is wrong with a brief: one table of checks, run on the exact text that would be stored."""

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from clew.compact import identifiers
from clew.compact.binding import Voices
from clew.compact.brief import ASKS, HEADINGS, RULES, TODOS, TURN, body, heading_in
from clew.compact.ledger_corrections import NOTE, notes
from clew.compact.source import SUPPORTED, Source
from clew.compact.words import features, normal, scripts, share
from clew.transcript import Finding

REFLECTED = 0.4
"""Of an ask's features that a brief must hold to count as reflecting it."""

SAME_ASK = 0.6
"""Of a line's or an ask's features that the other must hold for the two to be the same request."""

RESULT_ONLY = "(stated in a tool result only, not by the user)"
"""The note on a line that was moved to the decisions, since it binds nobody."""

FOREIGN_SHARE, OWN_SHARE = 0.5, 0.15
"""A session that speaks mostly one script, and a brief that hardly does."""


class Evidence(msgspec.Struct, frozen=True):
    """What a brief is held against."""

    source: Source
    identifiers: tuple[str, ...] = ()
    """Those that must be carried over; empty with `identifierPolicy: "off"`."""
    ask: str | None = None
    """The newest thing the user asked in what is wound up."""
    ask_open: bool = True
    """Whether nothing has answered it yet."""
    settled: tuple[str, ...] = ()
    """Asks that are no longer open: answered, or kept word for word."""
    speech: str = ""
    """Words of the user's, to tell the language of the session by."""
    replaced: dict[str, str] = {}
    """Values that hold no more, each with the one that took its place."""
    voices: Voices | None = None
    """Who said what, and what is open; None where nothing is known of it."""


class Draft(msgspec.Struct, frozen=True):
    """A brief about to be stored."""

    text: str
    """The whole of it."""
    prose: str
    """Its first part, which a model wrote; the ledger stands below it. Empty where rules wrote it all."""
    cut_off: bool = False
    """Whether the model stopped because its answer was at its limit."""


Check = Callable[[Draft, Evidence], Iterator[str]]
Mend = Literal["restore", "ask", "note"]
"""What follows a finding: rules put it right at once; the model is asked again, then rules take it out; it is noted."""


def missing_sections(draft: Draft, _: Evidence) -> Iterator[str]:
    """Headings that are not there."""
    lines = set(draft.text.split("\n"))
    yield from (heading for heading in HEADINGS if heading not in lines)


def duplicate_sections(draft: Draft, _: Evidence) -> Iterator[str]:
    """Headings that stand more than once, however they are spelled the second time."""
    found = [heading_in(line) for line in draft.text.split("\n")]
    yield from (heading for heading in HEADINGS if found.count(heading) > 1)


def missing_identifiers(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """Exact identifiers that were not carried over."""
    present = set(identifiers.find(draft.text))
    yield from (
        one for one in evidence.identifiers if one not in present and not identifiers.occurs(one, draft.text)
    )  # fmt: skip


def ask_not_reflected(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """The newest ask, if the brief says nothing of it."""
    if evidence.ask and not reflects(evidence.ask, draft.text):
        yield _short(evidence.ask)


def settled_ask_pending(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """Lines that list as pending what was answered or is kept word for word."""
    yield from (_short(line) for line in body(draft.text, ASKS) if settled_by(line, evidence))


def closed_todo_open(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """Lines that list as open what was finished or cancelled."""
    yield from (_short(line) for line in body(draft.prose, TODOS) if closed(line, evidence))


def bound_by_result(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """Rules, asks and to-dos that only a tool's result states."""
    yield from (
        _short(line)
        for heading in (RULES, ASKS, TODOS)
        for line in body(draft.prose, heading)
        if foreign(heading, line, evidence)
    )


def old_value(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """Lines that state a value without the one that took its place."""
    yield from (_short(line) for line in prose_lines(draft.prose) if notes(line, evidence.replaced))


def invented_identifiers(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """Identifiers that occur nowhere in what the brief stands for."""
    yield from (
        one for one in identifiers.find(draft.prose) if identifiers.strong(one) and not evidence.source.knows(one)
    )  # fmt: skip


def unsupported_lines(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """Lines that no entry supports."""
    yield from (_short(line) for line in prose_lines(draft.prose) if not supported(line, evidence.source))


def other_language(draft: Draft, evidence: Evidence) -> Iterator[str]:
    """The script the session speaks, if the brief hardly uses it."""
    prose = scripts("\n".join(prose_lines(draft.prose)))
    for script, weight in scripts(evidence.speech).items():
        if script != "Latin" and weight >= FOREIGN_SHARE and prose.get(script, 0.0) < OWN_SHARE and prose:
            yield f"the session speaks {script}"


def cut_off(draft: Draft, _: Evidence) -> Iterator[str]:
    """A draft that stopped at the limit of its length."""
    if draft.cut_off:
        yield "the answer stopped at its limit; write less"


class Row(msgspec.Struct, frozen=True):
    """One check: the code of its findings, how they are mended, and what looks for them."""

    code: str
    mend: Mend
    check: Check


CHECKS: tuple[Row, ...] = (
    Row("missing_section", "ask", missing_sections),
    Row("duplicate_section", "ask", duplicate_sections),
    Row("missing_identifier", "restore", missing_identifiers),
    Row("ask_not_reflected", "restore", ask_not_reflected),
    Row("settled_ask_pending", "ask", settled_ask_pending),
    Row("closed_todo_open", "restore", closed_todo_open),
    Row("bound_by_result", "restore", bound_by_result),
    Row("old_value", "restore", old_value),
    Row("invented_identifier", "ask", invented_identifiers),
    Row("unsupported_line", "ask", unsupported_lines),
    Row("other_language", "note", other_language),
    Row("cut_off", "note", cut_off),
)
"""The audit. The order is the order of the findings."""


def audit(draft: Draft, evidence: Evidence) -> tuple[Finding, ...]:
    """All that is wrong with a draft; empty if it passes."""
    return tuple(Finding(row.code, detail) for row in CHECKS for detail in row.check(draft, evidence))


def blocking(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings that keep a brief from being stored."""
    noted = {row.code for row in CHECKS if row.mend == "note"}
    return tuple(finding for finding in findings if finding.code not in noted)


def reflects(ask: str, text: str) -> bool:
    """Whether a text speaks of an ask: it quotes it, or holds enough of its words in whatever script."""
    return normal(ask) in normal(text) or share(features(ask), features(text)) >= REFLECTED


def same_ask(line: str, ask: str) -> bool:
    """Whether a line lists an ask."""
    asked, said = features(ask), features(line)
    if min(len(asked), len(said)) < 2:
        return normal(ask) == normal(line.lstrip("-*• "))
    return (share(said, asked) >= SAME_ASK and share(asked, said) >= SAME_ASK / 3) or share(asked, said) >= SAME_ASK


def settled_by(line: str, evidence: Evidence) -> bool:
    """Whether a line under the pending asks is one that is settled, and not the one that is still open."""
    if evidence.ask and evidence.ask_open and same_ask(line, evidence.ask):
        return False
    return any(same_ask(line, ask) for ask in evidence.settled)


def prose_lines(prose: str) -> list[str]:
    """The lines of a brief that claim something: no headings, no blanks, no `None.`, no fences."""
    return [
        line for heading in (*HEADINGS, TURN) for line in body(prose, heading) if not line.lstrip().startswith("```")
    ]


def closed(line: str, evidence: Evidence) -> bool:
    """Whether a line under the open to-dos lists one that is not."""
    return evidence.voices is not None and evidence.voices.closings.settles(line)


def foreign(heading: str, line: str, evidence: Evidence) -> bool:
    """Whether a line that would bind the agent was said by nobody who may do so."""
    return evidence.voices is not None and not evidence.voices.bind(heading, line, evidence.source)


def supported(line: str, source: Source) -> bool:
    """Whether the entries behind a line hold enough of what it says; the notes that rules put on it do not count."""
    return source.support(NOTE.sub("", line).replace(RESULT_ONLY, ""))[1] >= SUPPORTED


def _short(line: str, limit: int = 160) -> str:
    line = " ".join(line.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
