"""Plain event lists, as `compaction_events.jsonl.gz` holds them: one session a line, `{session, events: [{k, …}]}`."""

from collections.abc import Sequence
from typing import Any

from clew.store.archive.field import arguments, mapping, objects, string, whole
from clew.store.archive.gather import Gather
from clew.store.archive.harness import is_synthetic
from clew.store.archive.imported import Imported
from clew.store.archive.source import Content
from clew.store.port import Draft
from clew.transcript import (
    Assistant,
    Body,
    Call,
    Compaction,
    Foreign,
    Ledger,
    Said,
    Text,
    Thinking,
    ToolResult,
    User,
    Verdict,
)


def read(content: Content, row: dict[str, Any], *, at: int = 0) -> Imported:
    """The session of one row."""
    gather = Gather("events", content, at=at)
    gather.note("session", string(row, "session"))
    gather.note("version", string(row, "cc_version"))
    gather.ignore(row, {"session", "events", "cc_version", "first", "last"})
    _take(gather, objects(row, "events"))
    return gather.finish()


def from_events(events: Sequence[dict[str, Any]], *, at: int = 0) -> list[Draft]:
    """The entries of an event list (or of any part of one), one an event, each the parent of the next.

    Their ids depend on content and position alone, so equal beginnings get equal ids.
    """
    gather = Gather("events", at=at)
    _take(gather, events)
    return list(gather.finish().drafts)


def _take(gather: Gather, events: Sequence[dict[str, Any]]) -> None:
    about: dict[str, Any] = {}
    for event in events:
        kind = string(event, "k")
        body = _body(kind, event, about)
        if body is None:
            gather.custom(kind, event, known=kind in ("boundary", "system"))
            about = mapping(event, "meta") if kind == "boundary" else about
        else:
            gather.counts[kind] += 1
            gather.add(body)


def _body(kind: str, event: dict[str, Any], about: dict[str, Any]) -> Body | None:
    text = string(event, "t")
    if kind in ("user", "meta"):
        return Said(User((Text(text),), synthetic=kind == "meta" or is_synthetic([Text(text)])))
    if kind in ("assistant", "think", "call"):
        return Said(Assistant((_block(kind, event, text),)))
    if kind == "result":
        words = (Text(text),) if text else ()
        return Said(ToolResult(string(event, "id"), string(event, "name"), words, _is_error(event)))
    return _compaction(text, about) if kind == "summary" else None


def _block(kind: str, event: dict[str, Any], text: str) -> Text | Thinking | Call | Foreign:
    if kind == "call":
        return Call(string(event, "id"), string(event, "name"), *arguments(event.get("input")))
    return Thinking(text) if kind == "think" else Text(text)


def _is_error(event: dict[str, Any]) -> bool:
    return mapping(event, "meta").get("is_error") is True or event.get("is_error") is True


def _compaction(text: str, about: dict[str, Any]) -> Compaction:
    return Compaction(
        summary=text,
        first_kept=None,
        tokens_before=whole(about, "preTokens") or 0,
        tokens_after=0,
        trigger="manual" if about.get("trigger") == "manual" else "budget",
        verdict=Verdict("imported"),
        ledger=Ledger(),
    )
