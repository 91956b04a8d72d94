"""The system prompt in two parts with the cache boundary between them: what stays, and what changes from turn to turn.

A provider's cache holds a prompt by the bytes it begins with. So nothing that changes by itself (a date, a channel, a
model's name) stands above the boundary, and equal inputs give the same bytes above it, whatever stands below.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

import msgspec

from clew.prompt import sections
from clew.prompt.files import WorkspaceFile, fit
from clew.prompt.sections import PromptPart
from clew.prompt.settings import FILE_CHARS, SKILLS_CHARS, TOTAL_CHARS, PromptSettings, SkillLimits
from clew.prompt.skills import Skill, lines

REMEMBERED = 8
"""Stable parts that are kept ready: a session asks for the same one with every request."""


class Standing(msgspec.Struct, frozen=True):
    """What the stable part is made of: it changes when settings, files, skills or tools do, and never by itself."""

    instructions: str = ""
    """The user's own, from the settings."""
    tools: tuple[str, ...] = ()
    """The names of the tools, in any order."""
    skills: tuple[Skill, ...] = ()
    files: tuple[WorkspaceFile, ...] = ()
    """As they may be shown; see `clew.prompt.files.visible`."""
    identity: str = ""
    """Who the model is; empty for the usual sentence."""
    file_chars: int = FILE_CHARS
    total_chars: int = TOTAL_CHARS
    skills_chars: int = SKILLS_CHARS


def standing(
    settings: PromptSettings,
    limits: SkillLimits,
    *,
    instructions: str = "",
    tools: Iterable[str] = (),
    skills: Iterable[Skill] = (),
    files: Iterable[WorkspaceFile] = (),
) -> Standing:
    """What the stable part is made of under these settings."""
    return Standing(
        instructions=instructions,
        tools=tuple(sorted(tools)),
        skills=tuple(skills),
        files=() if settings.context_injection == "never" else tuple(files),
        file_chars=settings.bootstrap_max_chars,
        total_chars=settings.bootstrap_total_max_chars,
        skills_chars=limits.max_skills_prompt_chars,
    )


class Changing(msgspec.Struct, frozen=True):
    """What the dynamic part is made of. Every fact is optional; a change of one costs the cache behind the boundary."""

    addition: str = ""
    """What the context engine adds (`systemPromptAddition`): it comes first."""
    date: str = ""
    """The day, as YYYY-MM-DD. No time of day: it would change with every turn."""
    zone: str = ""
    """The time zone's name."""
    channel: str = ""
    """Where the user writes, such as `terminal`."""
    model: str = ""
    """`provider/model-id`."""
    workspace: str = ""
    """The path of the workspace."""
    facts: tuple[tuple[str, str], ...] = ()
    """Further facts: name and value."""
    group: str = ""
    """What is known of the group the user writes in."""
    refresh: str = ""
    """Sections shown again after a compaction; see `clew.prompt.refresh`."""


class SystemPrompt(msgspec.Struct, frozen=True):
    """A system prompt."""

    stable: str
    dynamic: str
    parts: tuple[PromptPart, ...]
    """Both parts in pieces: joined, the pieces of a side are that side."""


def assemble(standing: Standing, changing: Changing) -> SystemPrompt:
    """The prompt. Sections stand in a fixed order; those with nothing in them are left out."""
    stable, dynamic = _stable(standing), _dynamic(changing)
    return SystemPrompt(_joined(stable), _joined(dynamic), stable + dynamic)


@lru_cache(REMEMBERED)
def _stable(given: Standing) -> tuple[PromptPart, ...]:
    """Identity, instructions and tool guidance, then the skills, then the files."""
    said = chain(sections.opening(given.identity, given.instructions), sections.tools(given.tools))
    readable = given.skills if sections.READERS & set(given.tools) else ()
    listed = lines(readable, most_chars=given.skills_chars)
    shown = fit(given.files, each=given.file_chars, total=given.total_chars)
    return (*sections.parted(said), *sections.skills(listed, len(readable)), *sections.files(shown))


def _dynamic(given: Changing) -> tuple[PromptPart, ...]:
    """The engine's addition, the facts of now, the group, and what a compaction shows again."""
    facts = (
        ("Date", f"{given.date} ({given.zone})" if given.date and given.zone else given.date or given.zone),
        ("Channel", given.channel), ("Model", given.model), ("Workspace", given.workspace), *given.facts,
    )  # fmt: skip
    return tuple(sections.parted(chain(
        sections.passage("engine", given.addition), sections.now(facts),
        sections.passage("group", given.group, "## The group"), sections.passage("refresh", given.refresh),
    )))  # fmt: skip


def _joined(parts: Iterable[PromptPart]) -> str:
    return "".join(part.text for part in parts)
