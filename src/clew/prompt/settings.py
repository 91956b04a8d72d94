"""How much of the workspace's files and skills stands in the system prompt, under OpenClaw's names."""

from typing import ClassVar, Literal

from pydantic import Field

from clew.settings import Settings

FILE_CHARS, TOTAL_CHARS = 20_000, 60_000
"""Characters of one workspace file, and of all of them together (spec/context.md 8.5)."""
SKILLS_CHARS, MOST_SKILLS = 18_000, 150
"""Characters of the list of skills, and how many it names (spec/context.md 8.7)."""
REFRESH_CHARS = 1_800
"""Characters of the sections that are shown again after a compaction (spec/compaction.md 10.4)."""


class ContextLimits(Settings):
    """Bounds of what is put into the context besides the conversation."""

    post_compaction_max_chars: int = Field(default=REFRESH_CHARS, ge=1)
    """Characters that the sections of `compaction.postCompactionSections` may take together."""


class PromptSettings(Settings):
    """What stands in the system prompt of an agent."""

    RETIRED: ClassVar[dict[str, str]] = {
        "bootstrapPromptTruncationWarning": "retired: the prompt always says which files were cut; take the key out",
    }

    bootstrap_max_chars: int = Field(default=FILE_CHARS, ge=1)
    """Characters of one workspace file (AGENTS.md, SOUL.md, …); what is longer is cut to head and tail."""
    bootstrap_total_max_chars: int = Field(default=TOTAL_CHARS, ge=1)
    """Characters of all workspace files together, used up in their order."""
    context_injection: Literal["always", "continuation-skip", "never"] = "always"
    """Whether workspace files stand in the prompt. `continuation-skip` is taken as `always`: to leave them out of
    later turns would change the part of the prompt that a provider's cache holds."""
    context_limits: ContextLimits = ContextLimits()
    """Bounds of what is put into the context besides the conversation."""


class SkillLimits(Settings):
    """Bounds of the list of skills."""

    max_skills_prompt_chars: int = Field(default=SKILLS_CHARS, ge=0)
    """Characters of the list of skills in the prompt. 0 lists none."""


class SkillsSettings(Settings):
    """Skills: files of instructions that a model reads when a task calls for them."""

    limits: SkillLimits = SkillLimits()
    """Bounds of the list of skills."""
