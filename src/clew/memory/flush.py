"""Is a flush of lasting notes due, how is it asked for, and what did the model make of it."""

import re
from typing import Literal

import msgspec

from clew.tokens.window import thresholds
from clew.transcript import clean

SILENT = "NO_REPLY"
"""What the model answers when there is nothing to note; it never reaches a user."""

MOST_FAILURES = 3
"""Failures in a row after which a cycle goes on without a flush."""

NOTE_CHARS = 8_000
"""Characters of a note that are written; a longer answer is no note."""

_PROMPT = """[Maintenance, not a message of the user's]
This conversation is about to be compacted. Write down what must outlast it: decisions and their reasons, preferences
and rules the user stated, facts about people, places and systems, work that is promised. Leave out what is only of the
moment and what the notes in your instructions already hold.

Answer with the notes alone, as short Markdown bullets; they are appended to {path}. Call no tool, greet nobody,
continue nothing. If there is nothing lasting, answer exactly {silent}."""


class FlushState(msgspec.Struct, frozen=True):
    """What is remembered of flushes between turns, as plain facts of the session."""

    cycle: int = -1
    """The generation of the session at the last flush that ended its cycle; -1 before the first."""
    failures: int = 0
    """Failures in a row."""


Outcome = Literal["written", "nothing", "failed", "exhausted", "skipped"]


class Flushed(msgspec.Struct, frozen=True):
    """What became of a flush."""

    outcome: Outcome
    note: str = ""
    """What was, or is to be, appended."""


def due(
    tokens: int | None,
    *,
    window: int | None,
    stored: int,
    soft: int,
    max_bytes: int,
    state: FlushState,
    generation: int,
) -> bool:
    """Whether notes are due: once a cycle, `soft` tokens before the threshold of compaction, or at so many bytes.

    `soft` is `softThresholdTokens`, never more than half of the usable window; `max_bytes` is
    `forceFlushTranscriptBytes`, 0 for off; `stored` the bytes of the active window; a cycle is a `generation`.
    """
    if state.cycle == generation:
        return False
    if max_bytes and stored >= max_bytes:
        return True
    if not window or tokens is None:
        return False
    limits = thresholds(window)
    at = limits.compact_at - min(soft, limits.compact_at // 2)
    return tokens >= at > 0


def prompt(path: str) -> str:
    """The request, to stand at the end of the conversation it asks about. `path` is where the notes go."""
    return _PROMPT.format(path=path, silent=SILENT)


def read(answer: str) -> Flushed:
    """What the model's answer comes to: notes to append, or nothing."""
    text = strip_silent(clean(answer)).strip()
    return Flushed("written", text[:NOTE_CHARS]) if text else Flushed("nothing")


def after(state: FlushState, outcome: Outcome, generation: int) -> FlushState:
    """The state after a flush: a success or a third failure in a row ends the cycle; other failures try again."""
    if outcome == "failed" and state.failures + 1 < MOST_FAILURES:
        return FlushState(state.cycle, state.failures + 1)
    return FlushState(generation, 0)


_ONLY = re.compile(rf"[\W_]*(?:{SILENT}[\W_]*)+", re.IGNORECASE)
_OBJECT = re.compile(rf'\s*\{{\s*"action"\s*:\s*"{SILENT}"\s*\}}\s*', re.IGNORECASE)
_EDGE = re.compile(rf"\A\s*{SILENT}\s*\n+|(?:^|(?<=[\s*])){SILENT}[\s*]*\Z")


def is_silent(text: str) -> bool:
    """Whether an answer says that there is nothing to say."""
    return bool(_ONLY.fullmatch(text) or _OBJECT.fullmatch(text))


def strip_silent(text: str) -> str:
    """An answer without the silent token at its edges; empty where it says nothing else. In the middle it stays."""
    return "" if is_silent(text) else _EDGE.sub("", text)


class Gate:
    """Holds a streamed answer back while it may still turn out to be the silent token, and drops it if it is."""

    def __init__(self) -> None:
        self._held = ""
        self._open = False

    def push(self, piece: str) -> str:
        """What may be shown now."""
        if self._open:
            return piece
        self._held += piece
        start = self._held.lstrip()
        if SILENT.startswith(start[: len(SILENT)].upper()) and len(start) <= len(SILENT) + 2:
            return ""
        self._open = True
        shown, self._held = self._held, ""
        return strip_silent(shown) if SILENT in shown else shown

    def end(self) -> str:
        """What is left to show at the end: nothing where the answer was the token."""
        held, self._held = self._held, ""
        return strip_silent(held)
