"""What happened in sessions, an entry or an event a line: time, what, where, and sizes. Never anybody's words.

Entries and events come as a gateway tells them (`clew.gateway.answers.entry`, `clew.gateway.events_routes.plain`). Of
what was said, called and returned only names and sizes are looked at.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from rich.text import Text

from clew.clock import iso
from clew.render.events import duration
from clew.render.text import columns, number, one_line, plural, short

WHAT, KEY = 16, 30
"""Columns of what happened, and of the session's key."""

Facts = Mapping[str, Any]


class Happening(msgspec.Struct, frozen=True):
    """One line."""

    at: str
    """UTC, `2026-11-30T14:00:00.000Z`."""
    what: str
    key: str
    preview: str = ""


ROLES = {"toolresult": "tool.result"}
"""What messages are called, where that is not by their role."""


def of_entry(entry: Facts, key: str) -> Happening:
    """An entry of a session."""
    kind = str(entry["kind"])
    if kind == "message":
        role = str(entry.get("role", ""))
        return Happening(str(entry["at"]), ROLES.get(role, role), key, _said(entry))
    sizes = f"{short(entry['tokensBefore'])} → {short(entry['tokensAfter'])} tokens" if kind == "compaction" else ""
    return Happening(str(entry["at"]), kind, key, sizes)


def _said(entry: Facts) -> str:
    parts = [plural(int(entry.get("chars", 0)), "character")]
    if entry.get("tool"):
        parts.insert(0, f"{entry['tool']} {'error' if entry.get('error') else 'ok'}")
    parts += [f"{name} {{…}}" for name in entry.get("calls") or ()]
    return " · ".join(parts)


def of_event(told: Facts) -> Happening | None:
    """An event of a gateway; None for what is no line of its own."""
    event = told["event"]
    found = EVENTS.get(str(event["type"]))
    if found is None:
        return None
    what, preview = found
    return Happening(iso(int(told["at"])), what, str(told["key"]), preview(event))


def _compacted(event: Facts) -> str:
    sizes = f"{short(event['tokensBefore'])} → {short(event['tokensAfter'])} tokens"
    attempts = f" · {plural(event['attempts'], 'attempt')}" if event.get("attempts") else ""
    return f"{event['outcome']} · {sizes}{attempts} · {duration(event.get('durationMs', 0))}"


def _returned(event: Facts) -> str:
    result = event["result"]
    return f"{result['tool']} {'error' if result.get('error') else 'ok'} · {duration(event['ms'])}"


def _ended(event: Facts) -> str:
    return " · ".join(filter(None, [event["outcome"], event.get("code"), plural(event.get("steps", 0), "request")]))


EVENTS: dict[str, tuple[str, Callable[[Facts], str]]] = {
    "Admitted": ("turn.start", lambda event: ""),
    "Interrupted": ("interrupted", lambda event: "the turn before never ended"),
    "Asking": ("request", lambda event: f"{event['model']} · {short(event.get('tokens'))} tokens"),
    "Answered": ("answer", lambda event: str(event["model"])),
    "Called": ("tool.call", lambda event: f"{event['call']['name']} {{…}}"),
    "Returned": ("tool.result", _returned),
    "Waiting": ("wait", lambda event: f"{event['model']} · asked again in {event['seconds']:.0f} s"),
    "Switched": ("model.switch", lambda event: f"{event['model']} → {event['next']}"),
    "Flushing": ("notes.start", lambda event: ""),
    "Flushed": ("notes.end", lambda event: str(event["outcome"])),
    "EngineTrouble": ("engine.trouble", lambda event: f"{event['engine']} in {event['method']}"),
    "Compacting": ("compact.start", lambda event: f"{event['trigger']} · {short(event['tokens'])} tokens"),
    "NativeCompaction": ("compact.native", lambda event: "failed" if event.get("failed") else str(event["model"])),
    "Compacted": ("compact.end", _compacted),
    "Trimmed": ("prune", lambda event: f"{plural(event['results'], 'result')} · {short(event['tokens'])} tokens"),
    "Ended": ("turn.end", _ended),
    "Missed": ("missed", lambda event: f"{number(event['count']) if event['count'] else 'some'} events are not shown"),
}
"""What each event is called, and what is told of it. Events that are not here come too often, or tell nothing more."""


def line(one: Happening) -> Text:
    """A line for a terminal or a pipe."""
    what, key = one_line(one.what, WHAT), one_line(one.key, KEY)
    made = Text.assemble(
        (f"{one.at[:19].replace('T', ' ')}  ", "dim"), f"{what:<{WHAT}}  ",
        (key + " " * (KEY - columns(key)), "cyan"), f"  {one_line(one.preview, 200)}",
    )  # fmt: skip
    made.rstrip()
    return made
