"""A compaction in words: what it did, what the audit said, what was kept, what was lost, what to do next."""

import shlex
from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from clew.compact.audit import blocking
from clew.compact.brief import FOCUS_LIMIT, focus_of
from clew.compact.outcome import Compacted, Declined, Outcome, Skipped
from clew.render.layout import Row, fact, item, sentence
from clew.render.text import example, moment, number, one_line, percent, plural, visible
from clew.runtime.session import Wound
from clew.tokens import estimate
from clew.transcript import Attempt, Compaction, Finding, Ledger

WIDTH = 110
"""Columns of a line that quotes something."""

EXAMPLES = 3
"""Of a list, how many are named."""

NAMED_LOST = 40
"""Lost identifiers that `clew compactions show` names."""

FINDINGS: dict[str, str] = {
    "missing_section": "a heading is missing",
    "duplicate_section": "a heading stands twice",
    "missing_identifier": "an exact identifier was not carried over",
    "ask_not_reflected": "the newest ask is not reflected",
    "settled_ask_pending": "an ask that is settled is listed as pending",
    "closed_todo_open": "work that is finished is listed as open",
    "bound_by_result": "a tool's result alone states a rule, an ask or a to-do",
    "old_value": "a value stands without the one that took its place",
    "invented_identifier": "an identifier occurs nowhere in the source",
    "unsupported_line": "no entry supports a line",
    "other_language": "the brief is not in the session's language",
    "not_smaller": "the brief would not be smaller than what it replaces",
    "cut_off": "the answer stopped at its limit",
    "empty": "the answer was empty",
}
"""The audit's codes in words."""

FAILURES: dict[str, str] = {
    "overflow": "its window is too small",
    "timeout": "it did not answer in time",
    "auth": "its provider refused the credentials",
    "rate_limit": "its provider limits the rate of requests",
    "unreachable": "its provider cannot be reached",
    "bad_request": "its provider refused the request",
    "provider": "its provider failed",
    "empty": "it answered with nothing",
}
"""Why no draft came from a writer, in words."""

NO_MODEL = (
    "no model is set, so rules wrote the brief; name one with --model provider/id (such as --model ollama/qwen3), "
    "or with clew config set agents.defaults.model provider/id"
)


def outcome(
    result: Outcome, key: str, *, no_model: bool = False, focus: str | None = None, budget: int | None = None
) -> Iterator[RenderableType]:
    """How a compaction ended, line by line: the verdict first.

    `focus` is what the user typed, to be told what became of it; `budget` the tokens the brief was allowed, if known.
    """
    match result:
        case Compacted():
            yield from _compacted(result, key, no_model=no_model, focus=focus, budget=budget)
        case Skipped():
            yield sentence(
                f"Nothing to compact: {result.reason} ({number(result.tokens)} tokens); nothing was changed."
            )
        case Declined(code="conflict"):
            yield from _overtaken(result, key)
        case Declined():
            yield from _declined(result, key)


def _compacted(
    result: Compacted, key: str, *, no_model: bool, focus: str | None, budget: int | None
) -> Iterator[RenderableType]:
    body = result.body
    said = Text.assemble(("Preview of " if result.preview else "Compacted ", "bold"), (visible(key), "bold cyan"))
    yield Row(Text(), said.append(f": {sizes(body)}; {verdict(body)}."), again="  ")
    yield from facts(body, budget=budget)
    yield from _focus(body, focus)
    if no_model:
        yield fact("model", NO_MODEL)
    yield from audit(body)
    yield fact("ledger", contents(body.ledger))
    yield fact("lost", lost(body))
    if result.id:
        yield fact("id", result.id)
    yield fact("next", _next(result, shlex.quote(key)))


def _next(result: Compacted, key: str) -> str:
    if result.preview:
        return f"clew compact {key} (this preview wrote nothing and asked no model)"
    return f"clew trace {key} (or undo, compactions, context)"


def _declined(result: Declined, key: str) -> Iterator[RenderableType]:
    yield Row(Text(), Text.assemble(("Not compacted: ", "bold red"), f"{result.reason}."), again="  ")
    if result.detail:
        yield fact("said", one_line(result.detail, 300))
    yield from _attempts(result.attempts)
    yield fact("kept", f"the history is as it was ({number(result.tokens)} tokens), and the session goes on")
    rules = f"clew compact {shlex.quote(key)} --by-rules"
    yield fact("next", f"try again with another --model, or let rules write the brief: {rules}")


def _overtaken(result: Declined, key: str) -> Iterator[RenderableType]:
    """Somebody else moved the session on while the brief was being written."""
    said = "somebody else compacted, reset or undid the session while this brief was being written."
    yield Row(Text(), Text.assemble(("Not compacted: ", "bold red"), said), again="  ")
    yield from _attempts(result.attempts)
    yield fact("kept", "what the other one wrote, and all that was said; this brief was thrown away")
    yield fact("next", f"look what stands now: clew compactions {shlex.quote(key)}")


def sizes(body: Compaction) -> str:
    """The view before and after, in tokens."""
    before, after = _size(body, body.tokens_before), _size(body, body.tokens_after)
    return "sizes unknown" if before == after == "unknown" else f"{before} → {after} tokens"


def _size(body: Compaction, tokens: int) -> str:
    """A size; an import whose source named none has 0, which no view has."""
    return number(tokens or None if body.verdict.outcome == "imported" else tokens)


def verdict(body: Compaction) -> str:
    """How the brief came to stand, as half a sentence."""
    tried = body.verdict.attempts
    last = tried[-1].findings if tried else ()
    match body.verdict.outcome:
        case "imported":
            return "the brief came with the import and was not audited"
        case "fallback":
            return f"the brief was written by rules{_after(tried[:-1])}"
        case "repaired" if blocking(last):
            taken = plural(len(body.verdict.dropped), "line")
            return f"the brief passed on attempt {len(tried)} after rules took out {taken}"
    after = " after repair" if body.verdict.outcome == "repaired" else " as drafted"
    if last:
        although = " and ".join(dict.fromkeys(FINDINGS.get(one.code, one.code) for one in last))
        return f"the brief was accepted on attempt {len(tried)}{after} although {although}"
    return f"the brief passed on attempt {len(tried)}{after}"


def _after(tried: Sequence[Attempt]) -> str:
    """Why rules had to write, where somebody else was asked first."""
    if not tried:
        return ""
    if why := tried[-1].failure:
        return f" because {visible(tried[-1].writer)} failed: {FAILURES.get(why, why)}"
    return " because the draft did not pass" if len(tried) == 1 else f" because none of {len(tried)} drafts passed"


def facts(body: Compaction, *, source: str | None = None, budget: int | None = None) -> Iterator[Row]:
    """What was freed, and the brief's size and author; `source` is the program an import came from."""
    before, after = body.tokens_before, body.tokens_after
    wound_up = f"{plural(body.covered, 'entry', 'entries')} wound up" if body.covered else ""
    known = f"{percent(before - after, before)} (estimated)" if before and after else ""
    if freed := ", ".join(filter(None, [known, wound_up])):
        yield fact("freed", freed)
    took = f" in {body.duration_ms / 1000:.1f} s" if body.duration_ms is not None else ""
    size = number(estimate.text(body.summary)) + (f" of {number(budget)}" if budget else "")
    yield fact("brief", f"{size} tokens; by {author(body, source)}{took}")


def author(body: Compaction, source: str | None = None) -> str:
    """Who wrote a brief: the model, or rules; of an imported one the program, if the model is not known."""
    if body.verdict.outcome == "imported":
        return visible(body.model or source or "unknown")
    return visible(body.model or "rules")


def _focus(body: Compaction, typed: str | None) -> Iterator[Row]:
    """The focus, and what became of it."""
    if typed is not None and focus_of(typed) is None:
        yield fact("focus", "empty, so there was none")
    if not body.focus:
        return
    if body.model is None:
        yield fact("focus", "the focus is for a model; rules ignore it")
        return
    cut = f"cut to its first {FOCUS_LIMIT} characters: " if len((typed or "").strip()) > FOCUS_LIMIT else ""
    yield fact("focus", cut + one_line(body.focus, WIDTH))


def audit(body: Compaction) -> Iterator[Row]:
    """What the audit found, what was put back and what was taken out."""
    yield from _attempts(body.verdict.attempts)
    if back := body.verdict.restored:
        yield fact("restored", f"{len(back)}, put back by rules before the audit looked: {some(back)}")
    if out := body.verdict.dropped:
        yield fact("taken out", f"{plural(len(out), 'line')}, by rules: {some(out)}")
    if body.verdict.losses:
        yield fact("cut", f"the budget left no room for all of: {', '.join(body.verdict.losses)}")


def _attempts(attempts: tuple[Attempt, ...]) -> Iterator[Row]:
    for nth, attempt in enumerate(attempts, 1):
        name, writer = ("by rules", "") if attempt.writer == "ledger" else (f"attempt {nth}", f"{attempt.writer}, ")
        if attempt.failure:
            yield fact(name, f"{writer}no draft: {FAILURES.get(attempt.failure, attempt.failure)}")
            continue
        size = f"brief of {number(attempt.tokens)} tokens" if attempt.tokens else "no brief"
        found = findings(attempt.findings)
        yield fact(name, f"{writer}{size}: {'' if found else 'no findings'}")
        yield from (item(one) for one in found)


def findings(found: Iterable[Finding]) -> list[str]:
    """Findings in words, one a kind."""
    grouped: dict[str, list[str]] = {}
    for finding in found:
        grouped.setdefault(finding.code, []).append(finding.detail)
    return [_finding(FINDINGS.get(code, code), [one for one in details if one]) for code, details in grouped.items()]


def _finding(said: str, details: list[str]) -> str:
    times = f" ({len(details)} times)" if len(details) > 1 else ""
    return f"{said}{times}: {some(details)}" if details else said


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
    if body.verdict.outcome == "imported":
        return "unknown, since the brief was not audited"
    if not body.lost_total:
        return f"no identifier of the old view{_left_out(body)}"
    return (
        f"{plural(body.lost_total, 'identifier')} of the old view in neither brief nor tail, "
        f"such as {some(body.lost, body.lost_total)}; they stay in the transcript{_left_out(body)}"
    )


def _left_out(body: Compaction) -> str:
    """The other facts that are not shown, by count; the ledger keeps them for the next brief."""
    counted = [plural(len(texts), NOUNS.get(section, section)) for section, texts in body.left_out.items()]
    return f"; not shown, and kept in the ledger: {', '.join(counted)}" if counted else ""


NOUNS = {"asks": "ask", "rules": "rule", "pins": "pin", "todos": "to-do", "files": "file"}
"""The sections of a ledger, by the noun for one of its facts."""


def shown(key: str, wound: Wound, source: str | None = None) -> Iterator[RenderableType]:
    """One compaction in full: facts, audit, ledger, losses, and the brief with its line numbers.

    `source` is the format the session was imported from, None where it was not.
    """
    body = wound.body
    opening = Text.assemble(
        ("Compaction ", "bold"), (wound.id, "bold cyan"), f" of {visible(key)} ({wound.standing}): "
    )
    yield Row(Text(), opening.append(f"{sizes(body)}; {verdict(body)}."), again="  ")
    yield fact("when", moment(wound.at))
    yield fact("trigger", body.trigger)
    yield from facts(body, source=source)
    yield from _focus(body, None)
    yield from audit(body)
    yield fact("ledger", contents(body.ledger))
    yield fact("lost", lost(body))
    for name in body.lost[:NAMED_LOST]:
        yield fact("", one_line(name, WIDTH))
    if len(body.lost) > NAMED_LOST:
        yield fact("", f"… {number(body.lost_total - NAMED_LOST)} more")
    yield Text("")
    width = len(str(body.summary.count("\n") + 1))
    for number_, line in enumerate(body.summary.split("\n"), 1):
        words = Text(visible(line), style="bold" if line.startswith("## ") else "")
        yield Row(Text(f"{number_:>{width}} ", style="dim"), words, only_terminal=True)


def some(texts: Sequence[str], total: int | None = None) -> str:
    """The first of some texts as examples, and how many more there are."""
    named = [example(text) for text in texts[:EXAMPLES]]
    more = (len(texts) if total is None else total) - len(named)
    return ", ".join(named) + (f", … {number(more)} more" if more else "")
