"""Values as plain JSON, camelCase as in OpenClaw's output, for scripts and for other programs."""

import json
from typing import Any

import msgspec

from clew.clock import iso
from clew.compact.outcome import Compacted, Declined, Outcome
from clew.prompt.report import Report
from clew.render.cost import bill
from clew.runtime.arrival import Arrival
from clew.runtime.books import FACT, account_in
from clew.runtime.session import Thread, Wound, told
from clew.store.port import SessionRow
from clew.tokens.window import LADDER
from clew.transcript import Compaction, Said


def dumps(value: Any) -> str:
    """A value as indented JSON, in the characters it was written in."""
    return json.dumps(camel(msgspec.to_builtins(value)), ensure_ascii=False, indent=2)


def camel(value: Any) -> Any:
    """A plain value with `snake_case` keys made `camelCase`; keys that are data (a path, a word) have no such form."""
    if isinstance(value, dict):
        return {_camel(key): camel(item) for key, item in value.items()}
    return [camel(item) for item in value] if isinstance(value, list) else value


def _camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(part.capitalize() for part in rest) if head and key.isidentifier() else key


def session(row: SessionRow) -> dict[str, Any]:
    """A session's row, with its compaction count and what it cost."""
    return {**plain(row), "created": iso(row.created), "updated": iso(row.updated)}


def plain(row: SessionRow) -> dict[str, Any]:
    """A row with its account summed up under `cost`, times in milliseconds."""
    told: dict[str, Any] = msgspec.to_builtins(row)
    told["meta"].pop(FACT, None)
    return {**told, "cost": bill(account_in(row.meta).total())}


def arrival(came: Arrival) -> dict[str, Any]:
    """An import, with its account of every line."""
    found = came.imported
    return {
        "ok": True, "key": came.key, "again": came.again, "format": found.format, "entries": len(found.drafts),
        "tokens": came.tokens, "counts": found.counts, "unknown": found.unknown, "ignored": found.ignored,
        "bad": [msgspec.to_builtins(bad) for bad in found.bad], "warnings": list(found.warnings),
    }  # fmt: skip


def outcome(result: Outcome, key: str) -> dict[str, Any]:
    """How a compaction ended: `ok`, `key`, `compacted`, and `result` with the sizes, as OpenClaw's CLI prints it."""
    if isinstance(result, Compacted):
        facts = compaction(result.body)
        facts.pop("summary")
        more = (
            {"id": result.id, "preview": True, "summary": result.body.summary} if result.preview else {"id": result.id}
        )
        return {"ok": True, "key": key, "compacted": not result.preview, "result": {**facts, **more}}
    failed = isinstance(result, Declined)
    body: dict[str, Any] = {
        "ok": not failed,
        "key": key,
        "compacted": False,
        "code": result.code,
        "reason": result.reason,
    }
    if isinstance(result, Declined):
        body |= {"detail": result.detail, "attempts": [msgspec.to_builtins(one) for one in result.attempts]}
    return {**body, "result": {"tokensBefore": result.tokens, "tokensAfter": result.tokens}}


def compaction(body: Compaction) -> dict[str, Any]:
    """A compaction's record; sizes first, under the names OpenClaw uses."""
    plain: dict[str, Any] = msgspec.to_builtins(body)
    plain.pop("type", None)
    return {"tokensBefore": plain.pop("tokens_before"), "tokensAfter": plain.pop("tokens_after"), **plain}


def wound(key: str, one: Wound) -> dict[str, Any]:
    """A compaction with its place in the session."""
    return {"key": key, "id": one.id, "at": iso(one.at), "state": one.standing, **compaction(one.body)}


def context(report: Report) -> dict[str, Any]:
    """A window taken apart, with the ladder where the window is known."""
    plain: dict[str, Any] = msgspec.to_builtins(report)
    if limits := report.thresholds:
        plain["ladder"] = [{"step": one.name, "at": one.at(limits), "does": one.does} for one in LADDER]
    return plain


def threads(key: str, one: Wound, found: list[Thread]) -> dict[str, Any]:
    """The lines of a brief with the entries behind them, word for word."""
    return {"key": key, "compaction": one.id, "lines": [_thread(thread) for thread in found]}


def _thread(thread: Thread) -> dict[str, Any]:
    sources = [
        {"id": r.entry.id, "seq": r.seq, "at": iso(r.entry.at), "text": told(r.entry.body.message)}
        for r in thread.sources
        if isinstance(r.entry.body, Said)
    ]
    return {"number": thread.number, "text": thread.text, "claims": thread.claims, "sources": sources}
