"""What happens in a run, in words: a line for a terminal, a notice for whoever asked for notices."""

from collections.abc import Iterator

from clew.render.text import number, one_line, plural, short, visible
from clew.runtime import events
from clew.runtime.events import Event
from clew.transcript import Call, ToolResult, text_of

WIDTH = 100
"""Columns of a line about a tool."""

FLUSHED = {
    "written": "Notes written.",
    "failed": "⚠️ Memory maintenance temporarily failed; continuing your reply.",
    "exhausted": "⚠️ Memory maintenance failed after 3 attempts; skipped until the next compaction.",
}
"""How the writing of notes ended."""

STAGES = {
    "chunk": "reading the conversation", "merge": "writing the brief", "turn": "reading the turn in progress",
    "ride": "writing the brief",
}  # fmt: skip
"""The stages of a compaction in words."""

TRIGGERS = {
    "manual": "asked for",
    "budget": "the window is nearly full",
    "overflow": "the provider refused the request as too large",
    "bytes": "the transcript is over its bytes",
    "timeout": "the provider timed out",
    "switch": "the new model's window is smaller",
}
"""Why a compaction runs, in words."""

ENDINGS = {
    "done": "",
    "cancelled": "Cancelled; what was said is kept.",
    "overflow": "The request does not fit the model's window.",
    "too_large": "The prompt alone does not fit the model's window.",
    "failed": "The turn failed; what was said is kept.",
    "loop": "Stopped: the model made the same call with the same result again and again.",
    "steps": "Stopped: the turn came to no end. What was done and said is kept; say how to go on.",
}
"""How a turn ended, in words."""

NEXT = {
    "overflow": "Send it again, wind the old part up with /compact, or start afresh with /new.",
    "failed": "Send it again, choose another model with /model, or look at clew doctor.",
    "loop": "Say what it should do instead.",
}
"""What to do about it."""

CANCELLED = "🧹 Compaction cancelled; the history is as it was"

ALLOW = "allow it with: clew config set tools.exec.allow '[\"COMMAND *\"]'"
"""How a command runs without anybody being asked."""

NOBODY = "nobody to ask"
"""Words of a result that says a tool was not run since no person could be asked."""


def called(call: Call, width: int = WIDTH) -> str:
    """A call on one line: its tool and the start of what it was given."""
    if call.raw is not None:
        return one_line(f"{call.name} {call.raw}", width)
    values = [str(value) for value in call.arguments.values()]
    return one_line(f"{call.name} {' · '.join(values)}", width)


def returned(result: ToolResult, ms: int, width: int = WIDTH) -> str:
    """A result on one line: whether it went well, how long it took, how much it is, how it begins."""
    text = text_of(result)
    first = next((line for line in visible(text).split("\n") if line.strip()), "")
    mark = "✗" if result.error else "✓"
    return one_line(f"{mark} {duration(ms)} · {plural(text.count(chr(10)) + 1, 'line')} · {first}", width)


def duration(ms: int) -> str:
    """Milliseconds as people read them."""
    return f"{ms} ms" if ms < 1_000 else f"{ms / 1_000:.1f} s" if ms < 60_000 else f"{ms // 60_000} min"


def step(event: events.CompactionStep) -> str:
    """How far a compaction is."""
    part = f", part {event.part} of {event.parts}" if event.parts > 1 else ""
    attempt = f", attempt {event.attempt} of {event.attempts}" if event.attempt > 1 else ""
    arrived = f", about {number(event.chars // 4)} tokens so far" if event.chars else ""
    return f"{STAGES.get(event.stage, event.stage)}{part}{attempt}{arrived}"


def line(event: Event) -> str | None:
    """An event as one line for a person at a terminal; None for what the answer itself shows."""
    match event:
        case events.Interrupted():
            return "The turn before this one never ended; what it stored is here."
        case events.Called():
            return f"→ {called(event.call)}"
        case events.Returned():
            hint = f"\n  {ALLOW}" if event.result.error and NOBODY in text_of(event.result) else ""
            return f"  {returned(event.result, event.ms)}{hint}"
        case events.Waiting():
            return f"{event.model}: {one_line(event.why, 200)} Asked again in {event.seconds:.0f} s."
        case events.Switched():
            return f"{event.model}: {one_line(event.why, 200)} {event.next} stands in for this request."
        case events.Trimmed():
            return f"✂ {plural(event.results, 'old result')} shown shortened, about {short(event.tokens)} tokens freed"
        case events.EngineTrouble():
            return trouble(event)
        case events.Ended():
            return ended(event) or None
    return compaction(event)


def trouble(event: events.EngineTrouble) -> str:
    """What a context engine did wrong, and what that means."""
    what = f"⚠️ The context engine {event.engine}"
    if event.method == "made":
        return f"{what} does not run: {event.error}. The built-in one runs this session."
    if event.method == "commit_turn":
        return f"{what} did not take a turn over ({event.error}). It stays owed and is tried again before the next one."
    then = "the built-in one takes over" if event.quarantined else "this turn goes on with the plain messages"
    return f"{what} failed in {event.method} ({event.error}); {then}."


def compaction(event: Event) -> str | None:
    """Start and end of compactions and notes, as they are shown while they happen."""
    match event:
        case events.Flushed() if event.outcome != "nothing":
            return FLUSHED.get(event.outcome, event.outcome)
        case events.Compacting():
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return f"🧹 Compacting {short(event.tokens)} tokens ({TRIGGERS.get(event.trigger, event.trigger)}{again}) …"
        case events.Compacted():
            return _compacted(event)
        case events.NativeCompaction():
            failed = f" did not ({one_line(event.failed, 200)}); it is done here." if event.failed else " itself."
            return f"🧹 Compacting by {event.model}{failed}"
    return None


def _compacted(event: events.Compacted) -> str:
    if event.outcome == "compacted":
        sizes = f"{short(event.tokens_before)} → {short(event.tokens_after)}"
        return f"🧹 Compacted ({sizes}) in {duration(event.duration_ms)}"
    if event.reason == "cancelled":
        return CANCELLED
    words = "Nothing to compact" if event.outcome == "skipped" else "Not compacted, the history is as it was"
    return f"🧹 {words} ({event.reason})"


class Notices:
    """What is told of housekeeping that ran by itself: with `notifyUser`, and with `/verbose`.

    A compaction that was asked for is answered where it was asked, and needs no notice.
    """

    def __init__(self) -> None:
        self._asked_for = False

    def of(self, event: Event, *, notify: bool, verbose: bool) -> Iterator[str]:
        """The notices of one event."""
        if isinstance(event, events.Compacting):
            self._asked_for = event.trigger == "manual"
        if self._asked_for and not isinstance(event, events.Flushed):
            return
        match event:
            case events.Compacting() if notify:
                yield "🧹 Compacting context..."
            case events.Compacted():
                if notify:
                    yield NOTICES[event.outcome]
                if verbose and event.outcome == "compacted":
                    yield auto_complete(event.count)
            case events.Flushed() if notify and event.outcome in ("failed", "exhausted"):
                yield FLUSHED[event.outcome]


NOTICES = {
    "compacted": "🧹 Compaction complete",
    "declined": "🧹 Compaction incomplete",
    "skipped": "🧹 Compaction not needed",
}
"""The end of a compaction, as notices tell it."""


def auto_complete(count: int) -> str:
    """What `/verbose` tells of a compaction that ran by itself."""
    return f"🧹 Auto-compaction complete (count {count})."


def ended(event: events.Ended) -> str:
    """Why a turn did not end well, what was kept, and what to do; empty where it did."""
    words = ENDINGS["steps" if event.code == "steps" else event.outcome]
    if not words and event.stop == "length":
        return "The answer was cut at its output limit."
    if not words:
        return "" if event.text.strip() else "(no answer)"
    detail = f" {visible(event.detail)}" if event.detail else ""
    sizes = ", ".join(f"{name} {number(value)}" for name, value in event.facts.items() if isinstance(value, int))
    then = f" {NEXT[event.outcome]}" if event.outcome in NEXT else ""
    return f"{words}{detail}{f' ({sizes})' if sizes and event.outcome == 'too_large' else ''}{then}"
