"""Settings of the memory flush, under the names OpenClaw gives them: `agents.defaults.compaction.memoryFlush`."""

from typing import ClassVar

from pydantic import Field

from clew.settings import Bytes, Settings

_WORDS = "retired: the wording of the flush is built in; take the key out"


class MemoryFlushSettings(Settings):
    """The silent turn before a compaction in which the model writes lasting notes."""

    RETIRED: ClassVar[dict[str, str]] = {"prompt": _WORDS, "systemPrompt": _WORDS}

    enabled: bool = True
    """Whether notes are written before a compaction."""
    model: str | None = None
    """The model that writes them, and no other: `provider/model-id` or an alias. None takes the session's model."""
    soft_threshold_tokens: int = Field(default=4_000, ge=0)
    """How many tokens before the compaction threshold the flush is due. 0 waits for the threshold itself."""
    force_flush_transcript_bytes: Bytes = 2 * 1024 * 1024
    """Flush once the active window holds this many bytes (a number, or a text such as "2mb"). 0 does not look."""
