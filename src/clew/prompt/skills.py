"""Skills as a prompt lists them: name, description and place, never their text. Reads no disk."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from clew.prompt import cut
from clew.prompt.settings import MOST_SKILLS, SKILLS_CHARS
from clew.transcript.characters import head

SHORTEST = 40
"""Characters a description keeps at least; if that does not fit, names and places stand alone."""

_FRONT = re.compile(r"\ufeff?---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"(name|description)[ \t]*:[ \t]*(.*)")
_BLOCK = re.compile(r"[|>][+-]?\d?")


class Skill(msgspec.Struct, frozen=True):
    """A skill, as far as a prompt tells of it."""

    name: str
    description: str
    place: str
    """The path of its SKILL.md."""


def read(path: str, text: str) -> Skill | None:
    """The skill that a SKILL.md describes, from the front matter between `---` lines; None without a name or words.

    Where the front matter has no name, the folder's stands for it.
    """
    front = _FRONT.match(cut.normal(text) + "\n")
    fields = _fields(front[1].split("\n")) if front else {}
    folder = path.replace("\\", "/").rstrip("/").split("/")
    name = fields.get("name") or (folder[-2] if len(folder) > 1 else "")
    description = fields.get("description", "")
    return Skill(name, description, path) if name and description else None


def lines(skills: Iterable[Skill], *, most_chars: int = SKILLS_CHARS) -> tuple[tuple[Skill, str], ...]:
    """Each skill with its line, sorted by name, within `most_chars` characters together.

    Too many to fit: descriptions are shortened, then left out, then the last skills are.
    """
    known = sorted(skills, key=lambda skill: (skill.name.casefold(), skill.name, skill.place))[:MOST_SKILLS]
    longest = max((len(skill.description) for skill in known), default=0)
    if _size(known, longest) > most_chars:
        longest = _longest_that_fits(known, most_chars)
    shown = []
    for skill in known:
        line = _line(skill, longest)
        if (most_chars := most_chars - len(line) - 1) < 0:
            break
        shown.append((skill, line))
    return tuple(shown)


def _longest_that_fits(skills: Sequence[Skill], most: int) -> int:
    """The length of description with which all of `skills` fit; 0 where not even short ones do."""
    low, high = 0, max(len(skill.description) for skill in skills)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(skills, middle) <= most else (low, middle - 1)
    return low if low >= SHORTEST else 0


def _size(skills: Sequence[Skill], longest: int) -> int:
    return sum(len(_line(skill, longest)) + 1 for skill in skills)


def _line(skill: Skill, longest: int) -> str:
    words = skill.description
    if len(words) > longest:
        words = f"{head(words, longest - 1)}…" if longest else ""
    return f"- {skill.name}: {words} ({skill.place})" if words else f"- {skill.name} ({skill.place})"


def _fields(front: Sequence[str]) -> dict[str, str]:
    """`name` and `description` of a front matter: plain, quoted, or a block that goes on in indented lines."""
    found: dict[str, str] = {}
    for at, line in enumerate(front):
        if match := _FIELD.fullmatch(line):
            value = "" if _BLOCK.fullmatch(match[2].strip()) else match[2]
            joined = " ".join([value, *_continued(front[at + 1 :])])
            found.setdefault(match[1], " ".join(_unquoted(joined.strip()).split()))
    return found


def _continued(following: Sequence[str]) -> list[str]:
    taken = []
    for line in following:
        if line and not line[0].isspace():
            break
        taken.append(line.strip())
    return taken


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        return re.sub(r'\\(["\\])', r"\1", value[1:-1])
    return value
