"""Whether a view has to be compacted before it is sent, and why: sizes in, a reason out."""

import msgspec

from clew.tokens.usage import Size
from clew.tokens.window import compact_at
from clew.transcript import Trigger


class Load(msgspec.Struct, frozen=True):
    """What the next request would carry."""

    size: Size
    """The view, system prompt and tools included where they are known."""
    fixed: int = 0
    """How much of it the system prompt and the tools take."""
    incoming: int = 0
    """Tokens of the message about to be added."""
    stored: int = 0
    """Bytes of the active window."""


def due(
    load: Load, *, window: int | None, max_bytes: int = 0, enabled: bool = True, latched: int | None = None
) -> Trigger | None:
    """Why a compaction is due before the next request; None while it is not.

    At or above the window less its reserve it is; where the window or the size is unknown only the bytes count.
    `max_bytes` is `maxActiveTranscriptBytes`, 0 for off; `latched` the bytes left by a compaction that could not get
    below it: the next one waits until the window has grown by as much again.
    """
    if not enabled:
        return None
    tokens = load.size.tokens
    at = compact_at(window, load.fixed) if window else None
    if at and tokens is not None and tokens + load.incoming >= at:
        return "budget"
    limit = (latched or 0) + max_bytes if latched else max_bytes
    return "bytes" if max_bytes and load.stored >= limit else None
