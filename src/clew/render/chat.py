"""What the commands of a chat came to, in words: the chat, the plain mode and later channels say the same."""

import shlex
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from clew.agency import Status
from clew.commands import result
from clew.commands.command import COMMANDS
from clew.commands.result import Result
from clew.compact.outcome import Compacted, Declined, Outcome, Skipped
from clew.render import as_json, listing
from clew.render.cost import billed, cached, dollars, money
from clew.render.layout import Row, fact
from clew.render.status import limits, status, used
from clew.render.text import one_line, plural, short, visible
from clew.render.treemap import Map
from clew.tokens.billing import Billing

SKIPPED = {
    "empty": "nothing compactable in this session yet",
    "one_exchange": "nothing compactable in this session yet",
    "already_compacted": "session is already compacted",
    "too_small": "context is already under the compaction target",
}
"""Why there was nothing to do, in words: none of these is a failure."""

MODES = {
    "off": "nothing is shown below an answer",
    "tokens": "tokens are shown below each answer",
    "full": "tokens, cache and money are shown below each answer",
}
"""What `/usage` sets, in words."""


def answer(of: Result) -> Iterator[RenderableType]:
    """The words for what a command came to."""
    match of:
        case result.Helped():
            yield from _help(of.topic)
        case result.NoCommand():
            near = f" Did you mean /{of.nearest}?" if of.nearest else " /help lists them."
            yield Text(f"There is no command /{of.name}; nothing was sent.{near} //{of.name} sends it as text.")
        case result.Misused():
            given = one_line(of.given, 60)
            yield Text(f"/{of.name} does not know {given}; nothing was changed. It is {COMMANDS[of.name].usage}.")
        case result.Failed():
            yield Text(f"/{of.name}: {visible(of.why)}", style="red")
        case result.Context():
            yield from _context(of)
        case result.Compaction():
            yield from compacted(of)
        case result.Standing():
            yield from status(of.status)
        case result.Usage():
            yield from _usage(of)
        case _:
            yield Text(_changed(of))


def _changed(of: Result) -> str:
    match of:
        case result.Verbose():
            return f"Compactions that run by themselves are {'told of' if of.on else 'not told of'} from here on."
        case result.ModelInUse():
            return _model(of)
        case result.Fresh():
            words = "New session started." if of.reason == "new" else "Session reset."
            model = f" {_model(of.model)}" if of.model else ""
            return f"{words} The window is empty; the transcript keeps {plural(of.entries, 'entry', 'entries')}.{model}"
    return ""


def _model(of: result.ModelInUse) -> str:
    stand_ins = f", then {', '.join(of.stand_ins)}" if of.stand_ins else ""
    when = " from here on" if of.changed else ""
    return f"{visible(of.name)} answers{when}{stand_ins}, window {limits(of.limits)}."


def _help(topic: str | None) -> Iterator[RenderableType]:
    chosen = {topic: COMMANDS[topic]} if topic else COMMANDS
    for kind in chosen.values():
        yield Row(Text(f"  {kind.usage:<38} " if not topic else f"{kind.usage}: ", style="bold"), Text(kind.does))
    if not topic:
        yield Text("  A line that begins with // is sent with one slash, as text.", style="dim")


def _context(of: result.Context) -> Iterator[RenderableType]:
    if of.what == "json":
        yield Text(as_json.dumps(as_json.context(of.report)))
        return
    yield from [Map(of.report)] if of.what == "map" else listing.context(of.report, detail=of.what == "detail")
    if of.written:
        yield Text(f"Wrote {visible(of.written)}.")
    elif of.what == "list":
        yield Text("More: /context detail, /context map, /context json", style="dim")


def compacted(of: result.Compaction) -> Iterator[RenderableType]:
    """The outcome on a line as OpenClaw words it, then the way to look into it."""
    yield Text(f"⚙️ {label(of.outcome)} • Context {room(of.after)}")
    match of.outcome:
        case Compacted():
            yield fact("look", f"clew compactions show {of.outcome.id} · clew trace {of.key} · clew undo {of.key}")
        case Declined():
            if of.outcome.detail:
                yield fact("said", one_line(of.outcome.detail, 300))
            yield fact("kept", "the history is as it was, and the session goes on")


def label(outcome: Outcome) -> str:
    """How a compaction ended, in a few words. What is nothing to do is skipped, not failed."""
    match outcome:
        case Compacted():
            return f"Compacted ({short(outcome.body.tokens_before)} → {short(outcome.body.tokens_after)})"
        case Skipped():
            return f"Compaction skipped: {SKIPPED.get(outcome.code, outcome.reason)}"
    return f"Compaction failed: {outcome.reason}"


def room(of: Status) -> str:
    """`Context used/limit (pct%)` without its first word."""
    return used(of.size, of.limits.budget)


def _usage(of: result.Usage) -> Iterator[RenderableType]:
    total, turn = of.status.account.total(), of.status.turn
    yield Text(f"/usage {of.mode}: {MODES[of.mode]}.")
    if turn.requests:
        yield fact("this turn", f"{plural(turn.requests, 'request')} · {billed(turn)}")
    yield fact("session", f"{plural(total.requests, 'request')} · {billed(total)}")
    if total.unpriced:
        yield fact("money", money(total))
    if total.requests:
        yield fact("more", f"clew cost {shlex.quote(of.status.key)}")


def footer(spent: Billing, mode: result.Mode) -> str:
    """What one turn used, below its answer; empty where that is not asked for."""
    if mode == "off" or not spent.requests:
        return ""
    if mode == "tokens":
        return f"{short(spent.sent)} in / {short(spent.output)} out"
    cost = "price unknown" if spent.dollars is None else dollars(spent.dollars)
    return f"{short(spent.sent)} in / {short(spent.output)} out · cache {cached(spent)} · {cost}"
