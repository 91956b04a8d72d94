"""The sections of AGENTS.md that are shown again after a compaction, since rules must not live in a summary alone."""

import re
from collections.abc import Iterable, Sequence

from clew.prompt import cut
from clew.prompt.settings import REFRESH_CHARS

USUAL, FORMER = ("Session Startup", "Red Lines"), ("Every Session", "Safety")
"""Where exactly the usual pair is asked for and not there, the names it had before are looked for."""

INTRO = (
    "## Rules that still hold\n"
    "These sections of AGENTS.md were shown when the session began. The summary says where the work stands: "
    "go on from there, and do not start over."
)
DATE = "YYYY-MM-DD"
"""Stands for the day in the names of daily notes."""

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def post_compaction_sections(agents_md: str, names: Iterable[str], date: str, *, most: int = REFRESH_CHARS) -> str:
    """The named sections of AGENTS.md, in the order of `names`, with `date` for every YYYY-MM-DD; empty for none.

    A section is a heading of the second or third level outside code fences, and what follows it up to the next heading
    of its level or above. Names match without regard to case. The sections take at most `most` characters together.
    """
    wanted = [name.strip() for name in names if name.strip()]
    known = _sections(cut.normal(agents_md).split("\n"))
    found = _found(known, wanted)
    if not found and {name.casefold() for name in wanted} == {name.casefold() for name in USUAL}:
        found = _found(known, FORMER)
    if not found:
        return ""
    text = "\n\n".join(found).replace(DATE, date)
    return f"{INTRO}\n\n{cut.to_size(text, most, 'AGENTS.md')}"


def _found(known: Sequence[tuple[str, str]], names: Iterable[str]) -> list[str]:
    return [text for name in names for title, text in known if title == name.casefold()]


def _sections(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Every section of the second and third level: its title, casefolded, and its text."""
    heads = list(_headings(lines))
    found = []
    for nth, (at, level, title) in enumerate(heads):
        end = next((later for later, other, _ in heads[nth + 1 :] if other <= level), len(lines))
        if level in (2, 3):
            found.append((title.casefold(), "\n".join(lines[at:end]).strip()))
    return found


def _headings(lines: Sequence[str]) -> Iterable[tuple[int, int, str]]:
    """The number, level and title of each heading outside fences."""
    fence = ""
    for at, line in enumerate(lines):
        if mark := _FENCE.match(line):
            # Only a row of the same marks, at least as long, closes a fence.
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif not fence and (heading := _HEADING.fullmatch(line)):
            yield at, len(heading[1]), heading[2]
