"""What happens in a run, as records of the log.

The log gets sizes, counts, names and reasons by code; never words of the conversation, a call's arguments, or what a
provider said, which may quote both.
"""

import time
from typing import Any

import msgspec

from clew.logs import log
from clew.runtime import events
from clew.runtime.events import Event
from clew.transcript import text_of


class Logbook:
    """Writes each event of one session's runs to the log: a listener for `Conversation.listen`."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._began: float | None = None

    def __call__(self, event: Event) -> None:
        """Log one event. A compaction that a cancelled turn took with it ends with that turn."""
        if isinstance(event, events.Compacting):
            self._began = time.monotonic()
        if isinstance(event, events.Ended) and self._began is not None:
            self._log("compaction end", {"outcome": event.outcome, "durationMs": self._since()})
        facts = record(event)
        if facts is not None:
            name, more = facts
            if isinstance(event, events.Compacted):
                more["durationMs"] = max(more.get("durationMs") or 0, self._since())
            self._log(name, more)

    def _since(self) -> int:
        began, self._began = self._began, None
        return round(1_000 * (time.monotonic() - began)) if began is not None else 0

    def _log(self, name: str, facts: dict[str, Any]) -> None:
        log.info(name, key=self.key, **facts)


def record(event: Event) -> tuple[str, dict[str, Any]] | None:
    """An event as a record of the log: its name and its facts; None for what is not logged."""
    match event:
        case events.Admitted():
            return "turn start", {"entry": event.entry}
        case events.Answered():
            usage = msgspec.to_builtins(event.usage) if event.usage else None
            return "answer", {"model": event.model, "usage": usage, "stop": event.stop}
        case events.Asking():
            return "request", {"model": event.model, "tokens": event.tokens, "step": event.step}
        case events.Called():
            return "tool start", {"tool": event.call.name, "call": event.call.id}
        case events.Returned():
            result, chars = event.result, len(text_of(event.result))
            return "tool end", {"tool": result.tool, "error": result.error, "chars": chars, "durationMs": event.ms}
        case events.Waiting():
            return "provider failed, asked again", {"model": event.model, "seconds": round(event.seconds, 2)}
        case events.Switched():
            return "provider failed, another model stands in", {"model": event.model, "next": event.next}
        case events.Ended():
            facts = {"outcome": event.outcome, "code": event.code, "steps": event.steps, "tokens": event.tokens}
            return "turn end", {**facts, **event.facts}
    return _upkeep(event)


def _upkeep(event: Event) -> tuple[str, dict[str, Any]] | None:
    match event:
        case events.Interrupted():
            return "turn before never ended", {"entry": event.entry}
        case events.Compacting():
            return "compaction start", {"trigger": event.trigger, "tokens": event.tokens, "attempt": event.attempt}
        case events.Compacted():
            return "compaction end", {
                "outcome": event.outcome, "reason": event.reason, "tokensBefore": event.tokens_before,
                "tokensAfter": event.tokens_after, "attempts": event.attempts, "compaction": event.id or None,
                "count": event.count, "durationMs": event.duration_ms,
            }  # fmt: skip
        case events.Flushing():
            return "notes start", {}
        case events.Flushed():
            return "notes end", {"outcome": event.outcome}
        case events.Trimmed():
            return "results shortened", {"results": event.results, "tokens": event.tokens}
        case events.Spent():
            usage = msgspec.to_builtins(event.usage) if event.usage else None
            return "upkeep answer", {"purpose": event.purpose, "model": event.model, "usage": usage}
        case events.PrefixBreak():
            return "prefix break", {"cause": event.cause}
        case events.NativeCompaction():
            return "native compaction", {"model": event.model, "failed": bool(event.failed)}
        case events.EngineTrouble():
            facts = {"engine": event.engine, "method": event.method, "quarantined": event.quarantined}
            return "engine trouble", facts  # its words may be a user's; `clew doctor` has them
    return None
