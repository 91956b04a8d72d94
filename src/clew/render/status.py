"""How full a window is and where a conversation stands, in words: for `/status`, the chat and `clew status`."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.console import RenderableType
from rich.text import Text

from clew.agency import Status
from clew.engine.legacy import ID as LEGACY
from clew.models.default import Found, Missing
from clew.models.port import Limits
from clew.render import as_json
from clew.render.cost import amount, bill, billed
from clew.render.layout import Row, fact, table
from clew.render.models import chosen
from clew.render.text import age, number, one_line, plural, short, visible
from clew.runtime.books import account_in
from clew.runtime.session import Wound
from clew.store.port import SessionRow
from clew.tokens.billing import Billing
from clew.tokens.usage import Size

MOST_PERCENT = 999
"""More than this is not told apart."""

WARN_PERCENT = 80
"""From this share of the window on it is said that the window is nearly full."""

CELLS = 10
"""Cells of the meter."""

SOURCES = {
    "given": "given with --window",
    "settings": "from the settings",
    "server": "the server says so",
    "catalog": "from the catalog",
    "error": "learnt from a refusal",
    "unknown": "not known",
}
"""Where the size of a window comes from, in words."""


def share(size: Size, window: int | None) -> int | None:
    """The part of the window that is taken, in percent; None where either is unknown."""
    if size.tokens is None or not window:
        return None
    return min(MOST_PERCENT, round(100 * size.tokens / window))


def used(size: Size, window: int | None) -> str:
    """`12k/32k (38%)`; with `~` and `est` where nothing was reported yet; `?` for what is unknown."""
    part, rough = share(size, window), size.source == "estimated"
    percent = "" if part is None else f" ({part}%{' est' if rough else ''})"
    return f"{'~' if rough else ''}{short(size.tokens)}/{short(window)}{percent}"


def meter(percent: int | None, cells: int = CELLS, full: str = "▰", empty: str = "▱") -> str:
    """A bar of so many cells."""
    filled = min(cells, round((percent or 0) * cells / 100))
    return full * filled + empty * (cells - filled)


def limits(found: Limits) -> str:
    """The size of a window and where the number comes from."""
    return f"{number(found.budget)} ({SOURCES.get(found.source, found.source)})"


def status(of: Status) -> Iterator[RenderableType]:
    """What `/status` tells, one fact a line."""
    window = of.limits.budget
    percent = share(of.size, window)
    stand_ins = f" · then {', '.join(of.stand_ins)}" if of.stand_ins else ""
    yield fact("session", f"{of.key} · {plural(of.entries, 'entry', 'entries')} kept")
    yield fact("model", f"{of.model}{stand_ins}")
    yield fact("window", limits(of.limits))
    if of.wanted != of.engine:
        yield fact("engine", f"{of.engine}, since {of.wanted} failed; clew doctor says why", "yellow")
    elif of.engine != LEGACY:
        yield fact("engine", of.engine)
    style = "yellow" if percent is not None and percent >= WARN_PERCENT else ""
    yield fact("context", f"{used(of.size, window)} {meter(percent)}", style)
    yield fact("fixed", f"{short(of.fixed)} of it prompt and tools, by estimate")
    if of.compactions:
        yield Text(f"  🧹 Compactions: {of.compactions}")
    yield fact("tokens", billed(of.account.total()))
    if of.workspace:
        yield fact("workspace", of.workspace)
    modes = [name for name, on in (("a turn is running", of.running), ("verbose", of.verbose)) if on]
    if modes:
        yield fact("now", ", ".join(modes))
    if percent is not None and percent >= WARN_PERCENT:
        yield fact("next", "the window is nearly full: /compact winds the old part up, or wait until it happens")


class Overview(msgspec.Struct, frozen=True):
    """What `clew status` tells of a store and its settings."""

    store: str
    """The store's file."""
    settings: str
    """The settings' file, or where it would be."""
    log: str
    sessions: tuple[SessionRow, ...]
    """The most recently used ones."""
    total: int
    """How many sessions there are."""
    spent: Billing
    """What all of them used."""
    choice: Found | Missing
    """The model a chat would take."""
    models: tuple[tuple[str, Limits, str], ...]
    """Models with their windows; the last word says what is wrong with one, empty for nothing."""
    compactions: tuple[tuple[str, Wound], ...]
    """The last compactions with their sessions' keys, the newest first."""


def overview(of: Overview, now: int) -> Iterator[RenderableType]:
    """`clew status` on a terminal."""
    yield fact("store", of.store)
    yield fact("settings", of.settings)
    yield fact("log", of.log)
    yield from (Row(Text("  default    ", style="dim"), line) for line in chosen(of.choice))
    for name, found, wrong in of.models:
        yield fact("model", f"{name} · {wrong or f'window {limits(found)}'}", "yellow" if wrong else "")
    yield fact("sessions", f"{number(of.total)}" + (" · clew sessions lists them" if of.total else ""))
    if of.spent.requests:
        yield fact("spent", f"{billed(of.spent)} · clew cost KEY tells more")
    yield from _recent(of.sessions, now)
    yield from _wounds(of.compactions, now)


def _recent(rows: Sequence[SessionRow], now: int) -> Iterator[RenderableType]:
    if not rows:
        return
    shown = table("session", "window:r", "🧹:r", "cost:r", "used")
    for row in rows:
        spent, used_at = amount(account_in(row.meta).total()), f"{age(row.updated, now)} ago"
        shown.add_row(one_line(row.key, 40), short(row.window_tokens), str(row.compactions), spent, used_at)
    yield shown


def _wounds(found: Iterable[tuple[str, Wound]], now: int) -> Iterator[RenderableType]:
    rows = list(found)
    if not rows:
        return
    shown = table("compaction", "session", "before:r", "after:r", "when")
    for key, wound in rows:
        sizes = short(wound.body.tokens_before), short(wound.body.tokens_after)
        shown.add_row(wound.id, one_line(key, 40), *sizes, f"{age(wound.at, now)} ago")
    yield shown


def plain(of: Overview) -> dict[str, object]:
    """The same as data."""
    found = of.choice
    model = {"missing": visible(found.message)} if isinstance(found, Missing) else msgspec.to_builtins(found)
    return {
        "ok": not isinstance(found, Missing), "store": of.store, "settings": of.settings, "log": of.log,
        "default": model, "total": of.total, "spent": bill(of.spent),
        "sessions": [as_json.plain(row) for row in of.sessions],
        "models": [{"name": name, **msgspec.to_builtins(known), "budget": known.budget, "wrong": wrong}
                   for name, known, wrong in of.models],
        "compactions": [{"key": key, "id": w.id, "at": w.at, "tokensBefore": w.body.tokens_before,
                         "tokensAfter": w.body.tokens_after} for key, w in of.compactions],
    }  # fmt: skip
