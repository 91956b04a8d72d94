"""Settings of pruning, under the names OpenClaw gives them: `agents.defaults.contextPruning`.

The thresholds of the ladder are no settings: they are the table that the code reads.
"""

from typing import ClassVar, Literal

from pydantic import Field

from clew.settings import NOT_YET, Duration, Names, Settings

_BUILT_IN = "retired: the threshold is built in (30 % of the window trims, 50 % clears); take the key out"


class PrunableTools(Settings):
    """Which tools' results may be pruned. Names may hold `*`; `deny` wins."""

    allow: Names = Field(default=(), json_schema_extra=NOT_YET)
    """Tools whose results may be pruned. Empty means all."""
    deny: Names = Field(default=(), json_schema_extra=NOT_YET)
    """Tools whose results are never pruned."""


class HardClear(Settings):
    """The second rung: old results replaced altogether."""

    enabled: bool = Field(default=True, json_schema_extra=NOT_YET)
    """Whether old results are cleared once half of the window is full."""
    placeholder: str = Field(default="[Old tool result content cleared]", json_schema_extra=NOT_YET)
    """What stands in for a cleared result. Blank means the default."""


class PruningSettings(Settings):
    """Whether and when old tool results are shown shortened."""

    RETIRED: ClassVar[dict[str, str]] = {
        "softTrim": _BUILT_IN,
        "softTrimRatio": _BUILT_IN,
        "hardClearRatio": _BUILT_IN,
        "minPrunableToolChars": _BUILT_IN,
        "keepLastAssistants": "retired: the threshold is built in (3 answers are never pruned); take the key out",
    }

    mode: Literal["off", "cache-ttl"] | None = Field(default=None, json_schema_extra=NOT_YET)
    """`cache-ttl` prunes once the provider's prompt cache has lapsed; `off` never. None prunes on Anthropic routes."""
    ttl: Duration = Field(default=300.0, json_schema_extra=NOT_YET)
    """How long a provider's prompt cache lives: "5m", "1h"; a bare number counts minutes."""
    tools: PrunableTools = PrunableTools()
    """Which tools' results may be pruned."""
    hard_clear: HardClear = HardClear()
    """The second rung."""
