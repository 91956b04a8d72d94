"""A compaction in words: what it did, what the audit said, what was kept, what was lost, what to do next."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from clew.render.text import number, one_line, percent, plural, short, visible
from clew.runtime.compaction import Compacted, Declined, Outcome, Skipped
from clew.runtime.session import Wound
from clew.transcript import Attempt, Compaction, Finding, Ledger

WIDTH = 110
"""Columns of a line that quotes something."""

FINDINGS: dict[str, str] = {
    "missing_section": "a heading is missing",
    "duplicate_section": "a heading stands twice",
    "missing_identifier": "an exact identifier was not carried over",
    "ask_not_reflected": "the newest ask is not reflected",
    "settled_ask_pending": "an ask that is settled is listed as pending",
    "invented_identifier": "an identifier occurs nowhere in the source",
    "unsupported_line": "no entry supports a line",
    "other_language": "the brief is not in the session's language",
    "not_smaller": "the brief would not be smaller than what it replaces",
    "empty": "the answer was empty",
}
"""The audit's codes in words."""

OUTCOMES: dict[str, str] = {
    "accepted": "passed as drafted",
    "repaired": "passed after repair by rules",
    "fallback": "written by rules",
    "imported": "written by the program the session came from; not audited",
}
"""How a brief came to stand, in words."""

NO_MODEL = (
    "no model is set, so rules wrote the brief; name one with --model provider/id (such as --model ollama/qwen3), "
    "or with clew config set agents.defaults.model provider/id"
)


def outcome(result: Outcome, key: str, *, no_model: bool = False) -> Iterator[Text]:
    """How a compaction ended, line by line."""
    match result:
        case Compacted():
            yield from _compacted(result, key, no_model=no_model)
        case Skipped():
            yield Text(f"Nothing to compact: {result.reason} ({number(result.tokens)} tokens); nothing was changed")
        case Declined():
            yield from _declined(result, key)


def _compacted(result: Compacted, key: str, *, no_model: bool) -> Iterator[Text]:
    body = result.body
    yield Text.assemble(("Preview of " if result.preview else "Compacted ", "bold"), (visible(key), "bold cyan"))
    yield from facts(body)
    if no_model:
        yield _row("model", NO_MODEL)
    yield from audit(body)
    yield _row("ledger", contents(body.ledger))
    yield _row("lost", lost(body))
    yield _row("next", _next(result, key))


def _next(result: Compacted, key: str) -> str:
    if result.preview:
        return f"clew compact {key} (this preview wrote nothing and asked no model)"
    return f"clew compactions show {result.id} · clew trace {key} · clew undo {key}"


def _declined(result: Declined, key: str) -> Iterator[Text]:
    yield Text.assemble(("Not compacted: ", "bold red"), result.reason)
    if result.detail:
        yield _row("said", one_line(result.detail, 300))
    yield from _attempts(result.attempts)
    yield _row("kept", f"the history is as it was ({number(result.tokens)} tokens), and the session goes on")
    yield _row("next", f"try again with another --model, or let rules write the brief: clew compact {key} --by-rules")


def facts(body: Compaction) -> Iterator[Text]:
    """Sizes and authorship."""
    before, after = body.tokens_before, body.tokens_after
    yield _row(
        "tokens", f"{number(before)} → {number(after)}, {percent(before - after, before)} freed (estimated; "
        f"{plural(body.covered, 'entry', 'entries')} wound up)"
    )  # fmt: skip
    took = f" in {body.duration_ms / 1000:.1f} s" if body.duration_ms is not None else ""
    yield _row("brief", f"{OUTCOMES[body.verdict.outcome]}; by {body.model or 'rules'}{took}")
    if body.focus and body.model:
        yield _row("focus", one_line(body.focus, WIDTH))


def audit(body: Compaction) -> Iterator[Text]:
    """What the audit found, what was put back and what was taken out."""
    yield from _attempts(body.verdict.attempts)
    if body.verdict.restored:
        yield _row("restored", f"{len(body.verdict.restored)}: {_some(body.verdict.restored)}")
    if body.verdict.dropped:
        yield _row("taken out", f"{len(body.verdict.dropped)}: {_some(body.verdict.dropped)}")
    if body.verdict.losses:
        yield _row("cut", f"the budget left no room for all of: {', '.join(body.verdict.losses)}")


def _attempts(attempts: tuple[Attempt, ...]) -> Iterator[Text]:
    for nth, attempt in enumerate(attempts, 1):
        size = f", {short(attempt.tokens)} tokens" if attempt.tokens else ""
        said = f"failed: {attempt.failure}" if attempt.failure else findings(attempt.findings)
        yield _row(f"attempt {nth}", f"{attempt.writer}{size}: {said}")


def findings(found: Iterable[Finding]) -> str:
    """Findings in words, like ones together."""
    grouped: dict[str, list[str]] = {}
    for finding in found:
        grouped.setdefault(finding.code, []).append(finding.detail)
    said = [f"{FINDINGS.get(code, code)} ({_some(details)})" for code, details in grouped.items()]
    return "; ".join(said) or "no findings"


def contents(ledger: Ledger) -> str:
    """What a ledger holds, by count."""
    counts = (
        (len(ledger.asks), "ask"), (len(ledger.rules), "rule"), (len(ledger.pins), "pin"),
        (len(ledger.identifiers), "identifier"), (len(ledger.files), "file"), (len(ledger.todos), "to-do"),
        (len(ledger.failures), "failure"), (len(ledger.decisions), "decision"),
    )  # fmt: skip
    return " · ".join(plural(count, noun) for count, noun in counts if count) or "empty"


def lost(body: Compaction) -> str:
    """What of the old view is in neither brief nor tail."""
    if not body.lost_total:
        return "no identifier of the old view"
    return (
        f"{plural(body.lost_total, 'identifier')} of the old view in neither brief nor tail, "
        f"such as {_some(body.lost)}; they stay in the transcript"
    )


def shown(key: str, wound: Wound) -> Iterator[Text]:
    """One compaction in full: facts, audit, ledger, losses, and the brief with its line numbers."""
    body = wound.body
    yield Text.assemble(("Compaction ", "bold"), (wound.id, "bold cyan"), f" of {visible(key)} ({wound.standing})")
    yield _row("trigger", body.trigger)
    yield from facts(body)
    yield from audit(body)
    yield _row("ledger", contents(body.ledger))
    yield _row("lost", lost(body))
    for name in body.lost[:40]:
        yield _row("", one_line(name, WIDTH))
    yield Text("")
    width = len(str(body.summary.count("\n") + 1))
    for number_, line in enumerate(body.summary.split("\n"), 1):
        yield Text.assemble((f"{number_:>{width}} ", "dim"), (visible(line), "bold" if line.startswith("## ") else ""))


def _some(texts: Iterable[str], most: int = 3) -> str:
    listed = [one_line(text, 60) for text in texts if text]
    more = f", … {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def _row(name: str, text: str) -> Text:
    return Text.assemble((f"  {name:<10} ", "dim"), visible(text))
