"""Settings of pruning, under the names OpenClaw gives them: `agents.defaults.contextPruning`.

The thresholds of the ladder are no settings: they are the table that the code reads.
"""

from typing import ClassVar, Literal

from clew.settings import Duration, Names, Settings

_BUILT_IN = "retired: the threshold is built in (30 % of the window trims, 50 % clears); take the key out"


class PrunableTools(Settings):
    """Which tools' results may be pruned. Names may hold `*`; `deny` wins."""

    allow: Names = ()
    """Tools whose results may be pruned. Empty means all."""
    deny: Names = ()
    """Tools whose results are never pruned."""


class HardClear(Settings):
    """The second rung: old results replaced altogether."""

    enabled: bool = True
    """Whether old results are cleared once half of the window is full."""
    placeholder: str = "[Old tool result content cleared]"
    """What stands in for a cleared result, as it stands. Unset or blank means this line, followed by tool, size and the
    way back."""

    @property
    def fixed(self) -> str:
        """The placeholder where one is set; empty where a stub is to say what was there."""
        return self.placeholder.strip() if "placeholder" in self.model_fields_set else ""


class PruningSettings(Settings):
    """Whether and when old tool results are shown shortened."""

    RETIRED: ClassVar[dict[str, str]] = {
        "softTrim": _BUILT_IN,
        "softTrimRatio": _BUILT_IN,
        "hardClearRatio": _BUILT_IN,
        "minPrunableToolChars": _BUILT_IN,
        "keepLastAssistants": "retired: the threshold is built in (3 answers are never pruned); take the key out",
    }

    mode: Literal["off", "cache-ttl"] | None = None
    """`cache-ttl` prunes once the provider's prompt cache has lapsed, on routes that have one; `off` never. None prunes
    on Anthropic routes."""
    ttl: Duration = 300.0
    """How long a provider's prompt cache lives: "5m", "1h"; a bare number counts minutes. Unset: an hour on
    Anthropic routes. 0 never prunes."""
    tools: PrunableTools = PrunableTools()
    """Which tools' results may be pruned."""
    hard_clear: HardClear = HardClear()
    """The second rung."""
