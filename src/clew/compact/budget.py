"""How many tokens the parts of a compaction may take, each derived from the window it must serve."""

import msgspec

from clew.tokens.window import compact_at

BRIEF_CAP = 8_000
"""Tokens of a brief where the window does not ask for less. OpenClaw allows 16,000 characters."""

BRIEF_SHARE = 4
"""A brief takes at most a quarter of what it replaces…"""

ROOM_SHARE = 6
"""…and a sixth of the room a window has before it must be compacted."""

KEEP_SHARE = 2
"""A tail takes at most half of that room, so that a compaction frees enough for several turns."""

KEEP_MARGIN = 1.25
"""A view that hardly exceeds the tail's budget keeps a quarter instead: asked to compact, it must free something."""

BRIEF_FLOOR = 160
"""Tokens five headings and a few lines take: what replaces less than this is no gain."""

PROMPT_OVERHEAD = 900
"""Tokens of the summariser's instructions, focus and tags."""

SAFETY = 1.2
"""A summariser's tokenizer may count more than the estimate does."""


class Budget(msgspec.Struct, frozen=True):
    """Tokens for the tail and for the brief."""

    keep: int
    brief: int


def budget(*, view_tokens: int, keep_recent: int, window: int | None = None, fixed: int = 0) -> Budget:
    """What tail and brief may take.

    `view_tokens` is the size of the view, `keep_recent` the setting, `window` the model's, None where it is unknown,
    `fixed` what the system prompt and tools take of every request.
    """
    keep = keep_recent if view_tokens >= keep_recent * KEEP_MARGIN else view_tokens // 4
    cap = BRIEF_CAP
    if window:
        room = max(1, (compact_at(window, fixed) or fixed) - fixed)
        keep, cap = min(keep, room // KEEP_SHARE), min(cap, max(BRIEF_FLOOR, room // ROOM_SHARE))
    return Budget(keep, max(BRIEF_FLOOR, min(cap, (view_tokens - keep) // BRIEF_SHARE)))


class Room(msgspec.Struct, frozen=True):
    """What the model that writes the brief can take, in tokens."""

    chunk: int
    """Of conversation in one request."""
    output: int
    """Of an answer."""


def room(window: int | None, brief: int, *, max_output: int | None = None) -> Room:
    """How a summariser with this window is used; an unknown window counts as 32,768, which most hosted models exceed.

    The answer may take the brief's budget, a quarter of the window at most; a request then holds the instructions, an
    older brief or a draft to correct, and the rest is conversation, never less than an eighth of the window.
    """
    size = window or UNKNOWN_WINDOW
    output = max(64, min(brief, size // 4, max_output or size))
    rest = size - PROMPT_OVERHEAD - 2 * output
    return Room(max(size // 8, int(rest / SAFETY)), output)


UNKNOWN_WINDOW = 32_768
"""Tokens to chunk by while a summariser's window is not known: an overflow then halves the chunk and goes on."""
