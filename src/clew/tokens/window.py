"""The window a request has to fit, the reserve held back in it, and the sizes at which something is done about it.

Pure arithmetic over one number. Where that number comes from, and whether it is known at all, is the caller's business.
"""

import msgspec

RESERVE = 20_000
"""Tokens held back for the answer and for what comes in while a compaction runs (spec/compaction.md 2.1)."""
RESERVE_DIVISOR = 4
"""The reserve is never more than this part of the window, whatever is asked for: a 4K model must not compact empty."""
FLUSH_LEAD = 4_000
"""Tokens before the blocking threshold at which notes are saved; never more than half of what is usable."""
SUMMARY_SHARE, PREFIX_SHARE = (8, 10), (5, 10)
"""Shares of the reserve that a brief, and the brief of a split turn's first part, may fill."""
TRIM_PERCENT, CLEAR_PERCENT = 30, 50
"""Shares of the window at which old tool results are shown shortened, then cleared."""
OVERFLOW_ATTEMPTS = 3
"""How often a request that the provider called too large is compacted and sent again."""


class Thresholds(msgspec.Struct, frozen=True):
    """What a window of a given size means, all in tokens."""

    window: int
    reserve: int
    compact_at: int
    """A view of this size or more is compacted before it is sent: the window minus the reserve."""
    flush_at: int
    """A view of this size or more has its notes saved, so that a compaction finds them saved."""
    summary_output: int
    """The most a brief may take."""
    prefix_output: int
    """The most the brief of a split turn's first part may take."""
    trim_at: int
    """From here on old tool results are shown shortened."""
    clear_at: int
    """From here on old tool results are shown as a marker."""


class Step(msgspec.Struct, frozen=True):
    """One step of the ladder, from light to heavy."""

    name: str
    field: str | None
    """The field of `Thresholds` that holds its size; None where the provider decides."""
    when: str
    does: str

    def at(self, limits: Thresholds) -> int | None:
        """The size from which the step is taken, in tokens; None where the provider decides."""
        return getattr(limits, self.field) if self.field else None


LADDER: tuple[Step, ...] = (
    Step("soft-trim", "trim_at", f"{TRIM_PERCENT} % of the window", "old tool results are shown by head and tail"),
    Step("hard-clear", "clear_at", f"{CLEAR_PERCENT} % of the window", "old tool results are shown as one line"),
    Step("compact", "compact_at", "the window minus the reserve", "the old part is wound up into an audited brief"),
    Step(
        "overflow",
        None,
        "the provider refuses the request as too large",
        f"compact and send again, at most {OVERFLOW_ATTEMPTS} times",
    ),
)
"""What is done as a view grows. The code reads it, and `/context` and the docs are drawn from it."""


def reserve(window: int, *, asked: int = RESERVE) -> int:
    """The tokens to hold back: what is asked for, at least the usual reserve, never more than a quarter of the window.

    The quarter comes last, after every maximum: else a small window would be over its threshold when empty.
    """
    return min(max(asked, RESERVE), _known(window) // RESERVE_DIVISOR)


def thresholds(window: int, *, reserve_tokens: int | None = None) -> Thresholds:
    """The thresholds of a window.

    `reserve_tokens` asks for another reserve than the usual one; it can be raised, up to a quarter of the window, and
    not lowered. Raises ValueError for a window that is not positive: unknown is None at the caller's, never 0.
    """
    held = reserve(window, asked=RESERVE if reserve_tokens is None else reserve_tokens)
    usable = window - held
    return Thresholds(
        window=window,
        reserve=held,
        compact_at=usable,
        flush_at=usable - min(FLUSH_LEAD, usable // 2),
        summary_output=max(1, held * SUMMARY_SHARE[0] // SUMMARY_SHARE[1]),
        prefix_output=max(1, held * PREFIX_SHARE[0] // PREFIX_SHARE[1]),
        trim_at=window * TRIM_PERCENT // 100,
        clear_at=window * CLEAR_PERCENT // 100,
    )


LEAST_ROOM = 16
"""A conversation needs at least a sixteenth of the window besides the prompt and the tools."""


def compact_at(window: int, fixed: int = 0) -> int | None:
    """The size from which a view is compacted, where prompt and tools take `fixed` tokens of every request.

    The window less its reserve; where the fixed part alone comes near that, half of the room that is left to the
    conversation is used before. None where there is no room for a conversation at all.
    """
    room = window - fixed
    return max(thresholds(window).compact_at, fixed + room // 2) if room >= window // LEAST_ROOM else None


def next_step(tokens: int, limits: Thresholds) -> Step | None:
    """The heaviest step of the ladder that a view of this size calls for; None while it is small."""
    due = [step for step in LADDER if (at := step.at(limits)) is not None and tokens >= at > 0]
    return due[-1] if due else None


def _known(window: int) -> int:
    if window <= 0:
        raise ValueError(f"A window of {window} tokens is no window; pass a known one, or do not ask for thresholds.")
    return window
