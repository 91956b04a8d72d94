"""Settings of compaction, under the names OpenClaw gives them: `agents.defaults.compaction`.

The reserve is no setting: 20,000 tokens, and never more than a quarter of the window.
"""

from typing import ClassVar, Literal

from pydantic import Field

from clew.settings import NOT_YET, Bytes, Names, Settings

ThinkingLevel = Literal[
    "off", "minimal", "low", "medium", "high", "xhigh", "adaptive", "max", "ultra", "inherit"
]  # fmt: skip

_BUILT_IN = "retired: the reserve is built in (20,000 tokens, at most a quarter of the window); take the key out"
_WORDS = "retired: the wording of the request is built in; give a focus with `/compact <focus>` and take the key out"


class QualityGuard(Settings):
    """The audit of a brief: what happens when a draft does not pass."""

    enabled: bool = True
    """Whether drafts are audited. False stores the first draft as it came."""
    max_retries: int = Field(default=1, ge=0, le=3)
    """How often a model is asked again, with the findings, before the brief is repaired, written by rules or given up.
    0 asks once."""


class MidTurnPrecheck(Settings):
    """A look at the window after each tool result."""

    enabled: bool = False
    """Whether a turn that outgrows the window while its tools run is trimmed or compacted before it goes on."""


class CompactionSettings(Settings):
    """When a session is compacted, who writes the brief, and what is kept as it was."""

    RETIRED: ClassVar[dict[str, str]] = {
        "reserveTokens": _BUILT_IN,
        "reserveTokensFloor": _BUILT_IN,
        "maxHistoryShare": "retired: the share of the history is built in; set `keepRecentTokens` instead",
        "customInstructions": _WORDS,
        "identifierInstructions": "retired: how identifiers are kept is built in; turn it off with `identifierPolicy`",
        "truncateAfterCompaction": "retired: a compaction never takes entries out of a transcript; take the key out",
    }

    enabled: bool = True
    """Whether sessions are compacted on their own. False leaves overflow recovery and `/compact` at work."""
    mode: Literal["safeguard", "default"] = "safeguard"
    """`safeguard` distils the old brief and the new messages again, and drops what is stale; `default` keeps what the
    old brief holds and adds to it."""
    provider: str | None = None
    """The id of a registered compaction provider that writes the brief instead of a model; it forces `safeguard`.
    None asks a model."""
    model: str | None = None
    """The model that writes briefs, and no other: `provider/model-id`, or an alias (a literal id wins over an alias).
    None takes the session's model, and its fallbacks when a provider fails."""
    thinking_level: ThinkingLevel | None = Field(default=None, json_schema_extra=NOT_YET)
    """How hard the summarising model thinks; `inherit` takes the session's level. None leaves it to the provider."""
    timeout_seconds: int = Field(default=180, ge=1)
    """Seconds a request for a brief may take."""
    keep_recent_tokens: int = Field(default=20_000, ge=1)
    """Tokens of the newest messages that stay as they were, counted back from the end of the session."""
    recent_turns_preserve: int = Field(default=3, ge=0, le=12)
    """How many of the newest turns are quoted in the brief where they fell before the cut. 0 quotes none."""
    identifier_policy: Literal["strict", "off"] = "strict"
    """`strict`: a brief that drops exact identifiers is mended or refused. `off` does not look."""
    quality_guard: QualityGuard = QualityGuard()
    """The audit."""
    fallback: Literal["ledger", "cancel"] = "cancel"
    """When no draft passes: `ledger` writes a brief by rules, with no model; `cancel` leaves everything as it was.
    Clew's own."""
    mid_turn_precheck: MidTurnPrecheck = MidTurnPrecheck()
    """A look at the window after each tool result."""
    post_index_sync: Literal["off", "async", "await"] = Field(default="async", json_schema_extra=NOT_YET)
    """Whether the memory index is brought up to date after a compaction, and whether that is waited for."""
    post_compaction_sections: Names = ()
    """Headings of AGENTS.md that are shown again after a compaction. Empty shows none."""
    max_active_transcript_bytes: Bytes = 0
    """Compact once the active window holds this many bytes (a number, or a text such as "20mb"). 0 does not look."""
    notify_user: bool = False
    """Whether the chat is told when a compaction starts and ends."""
