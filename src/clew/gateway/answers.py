"""What the gateway tells of runs, entries and accounts, as plain data."""

import io
from typing import Any

import msgspec
from rich.console import Console

from clew.clock import iso
from clew.commands.result import Compaction, Failed, Misused, NoCommand, Result
from clew.compact.outcome import Declined
from clew.errors import ClewError, Draining
from clew.gateway.worker import Run
from clew.render import as_json
from clew.render.chat import answer
from clew.render.cost import plain
from clew.runtime.books import account_in
from clew.runtime.session import Session, told
from clew.store.port import Record
from clew.transcript import Assistant, Said, ToolResult, calls_of, kind_of
from clew.transcript import Compaction as CompactionEntry

WIDTH = 100
"""Columns of a command's answer."""

MOST_TEXT = 20_000
"""Characters of an entry that are told in a page; `/api/session/entry` has all of it."""


def answered(run: Run) -> dict[str, Any]:
    """A run: its state, and how it ended."""
    out: dict[str, Any] = {"run": run.id, "key": run.key, "state": run.state}
    if run.error is not None:
        detail = str(run.error) if isinstance(run.error, ClewError) else f"It failed ({type(run.error).__name__})."
        out |= {"ok": False, "outcome": "put_off" if isinstance(run.error, Draining) else "failed", "detail": detail}
    if run.interrupted:
        detail = (
            "The gateway ended while this turn ran; what was said until then is among the session's entries, and no "
            "more comes. Say it again under another id."
        )
        out |= {"ok": False, "outcome": "interrupted", "detail": detail}
    elif run.earlier:
        detail = "This message came before the gateway was started anew; its answer is among the session's entries."
        out |= {"ok": True, "outcome": "earlier", "detail": detail}
    if run.answer is not None:
        out |= {"ok": not failed(run.answer), "outcome": "command", "text": words(run.answer)}
    if run.ended is not None:
        ended = msgspec.to_builtins(run.ended)
        ended.pop("type", None)
        out |= {"ok": run.ended.outcome == "done", "text": "", **ended}
    return out


def failed(result: Result) -> bool:
    """Whether a command did not do what it was asked."""
    if isinstance(result, Compaction):
        return isinstance(result.outcome, Declined)
    return isinstance(result, Failed | Misused | NoCommand)


def words(result: Result) -> str:
    """What a command came to, as lines of text."""
    out = io.StringIO()
    console = Console(file=out, width=WIDTH, color_system=None, highlight=False, markup=False, emoji=False)
    for line in answer(result):
        console.print(line)
    return out.getvalue().rstrip()


def entry(record: Record, most: int = MOST_TEXT) -> dict[str, Any]:
    """An entry, its words cut to so many characters."""
    body = record.entry.body
    out: dict[str, Any] = {
        "seq": record.seq, "id": record.entry.id, "parent": record.entry.parent, "at": iso(record.entry.at),
        "kind": kind_of(body), "tokens": record.tokens,
    }  # fmt: skip
    if isinstance(body, Said):
        text, message = told(body.message), body.message
        out |= {"role": type(message).__name__.lower(), "text": text[:most], "chars": len(text)}
        if isinstance(message, Assistant):
            out["calls"] = [call.name for call in calls_of(message)]
        if isinstance(message, ToolResult):
            out |= {"tool": message.tool, "error": message.error}
    elif isinstance(body, CompactionEntry):
        out |= {"text": body.summary[:most], "chars": len(body.summary), "tokensBefore": body.tokens_before,
                "tokensAfter": body.tokens_after}  # fmt: skip
    return out


def plain_words(session: Session) -> dict[str, Any]:
    """A session's account."""
    return as_json.camel(plain(account_in(session.row().meta), session.key))  # type: ignore[no-any-return]
