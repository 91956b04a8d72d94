"""Sessions, compactions, windows and threads as tables."""

from collections.abc import Iterable, Iterator, Mapping

from rich.table import Table
from rich.text import Text

from clew.prompt.fixed import Fixed
from clew.prompt.report import Report, what
from clew.prompt.sections import HEADING
from clew.render.compaction import author
from clew.render.layout import Cut, Listing, Row, table
from clew.render.text import age, moment, number, one_line, path_end, percent, plural, short, visible
from clew.runtime.session import Thread, Wound, told
from clew.store.port import DAMAGED, Record, SessionRow
from clew.tokens.window import LADDER
from clew.transcript import Compaction, Said

ORDER = ("system prompt", "workspace files", "skills", "tools")
"""The groups of what is fixed, as they are listed."""
CUTS = {
    "file": "cut to the limit of one file",
    "total": "cut to what was left for all files",
    "left out": "left out, no room was left",
}


STATES = {"accepted": "as drafted", "repaired": "repaired", "fallback": "by rules", "imported": "imported"}
"""How a brief came to stand, in a word for a table."""

SESSION_COLUMNS = (
    ("session", "entries:r", "window:r", "compacted:r", "used:r", "from"),
    ("session", "entries:r", "window:r", "compacted:r", "used:r"),
    ("session", "window:r", "compacted:r", "used:r"),
)
"""What a table of sessions tells, less and less where keys are long."""

AUTHORS = (14, 9)
"""Columns of a model's name where a table is short of room, and where it is shorter still."""


def sessions(rows: Iterable[SessionRow], now: int) -> Listing:
    """Sessions, one a row, with their compaction counts."""
    tables = [table(*columns) for columns in SESSION_COLUMNS]
    blocks = []
    for row in rows:
        key, source = Text(visible(row.key), style="cyan"), visible(_source(row))
        cells = (number(row.entries), short(row.window_tokens), str(row.compactions), age(row.updated, now))
        for made, shown in zip(tables, [(*cells, source), cells, cells[1:]], strict=True):
            made.add_row(key, *shown)
        entries, window, compacted, used = cells
        words = [f"{entries} entries", f"window {window}", f"compacted {compacted}", f"used {used}", source]
        blocks.append((key, " · ".join(filter(None, words))))
    return Listing(tables, blocks)


def _source(row: SessionRow) -> str:
    return "damaged: clew doctor" if DAMAGED in row.meta else str(row.meta.get("format", ""))


def compactions(wounds: Iterable[Wound], now: int, source: str | None = None) -> Listing:
    """The compactions of a session, one a row; `source` is the format the session was imported from."""
    tables = [table("id", "when", "before:r", "after:r", "brief", "by", "state") for _ in range(4)]
    blocks = []
    for wound in wounds:
        body, name = wound.body, Text(wound.id, style="cyan")
        before, after, state = _short(body, body.tokens_before), _short(body, body.tokens_after), _state(body)
        by, ago = author(body, source), age(wound.at, now)
        shorter = [(ago, path_end(by, columns)) for columns in AUTHORS]
        for made, (when, who) in zip(tables, [(moment(wound.at), by), (ago, by), *shorter], strict=True):
            made.add_row(name, when, before, after, state, who, wound.standing)
        title = Text.assemble(name, f"  {wound.standing}")
        blocks.append((title, f"{ago} · {before} → {after} tokens · {state}{f' · {by}' if by != 'rules' else ''}"))
    return Listing(tables, blocks)


def _state(body: Compaction) -> str:
    return STATES[body.verdict.outcome]


def _short(body: Compaction, tokens: int) -> str:
    """A size; an import whose source named none has 0, which no view has."""
    return short(tokens) if tokens or body.verdict.outcome != "imported" else "unknown"


def context(report: Report, *, detail: bool = False) -> Iterator[Text | Table]:
    """Who takes how much of a window: by group and kind, and in `detail` piece by piece with the ladder."""
    yield from _fill(report)
    table = _table("part", "tokens:r", "share:r", "items:r", "characters:r")
    for name, tokens, items, chars in _rows(report):
        table.add_row(name, number(tokens), percent(tokens, report.estimated), number(items), number(chars))
    yield table
    yield from _cuts(report.fixed)
    if detail:
        yield from _pieces(report)
        largest = _table("largest entries:id", "what", "tokens:r")
        for one in report.largest:
            largest.add_row(one.id, visible(one.what), number(one.tokens))
        yield largest
        yield from _ladder(report)


def _fill(report: Report) -> Iterator[Text]:
    size, window = report.size, report.window
    fill = f" of {number(window)}, {percent(size.tokens, window)}" if window and size.tokens is not None else ""
    yield Text(f"{number(size.tokens)} tokens{fill} ({size.source}) in {plural(report.messages, 'message')}")
    if report.fixed:
        apart = f"{number(report.fixed_tokens)} in every request, {number(report.history_tokens)} of conversation"
        yield Text(f"By estimate: {apart}", style="dim")
    if window is None:
        yield Text(
            "The window is unknown. Name its size with --window N, or as contextWindow of the model in the settings.",
            style="dim",
        )
        return
    free = f"{number(report.free)} tokens are free. " if report.free is not None else ""
    yield Text(f"{free}The window's size comes from: {report.window_source}.", style="dim")
    if report.doubtful:
        yield Text(
            "Doubtful: this is more than the window holds, so one of the two numbers is wrong. "
            "Set the window with --window N, or its contextWindow in the settings of the model's provider.",
            style="yellow",
        )


def _rows(report: Report) -> Iterator[tuple[str, int, int, int]]:
    """What is fixed by group, the prompt by the sides of the cache boundary; then the conversation by kind."""
    groups: dict[str, list[Fixed]] = {}
    for piece in report.fixed:
        name = f"{piece.group}, {piece.side}" if piece.group == "system prompt" else piece.group
        groups.setdefault(name, []).append(piece)
    for name, pieces in groups.items():
        named = sum(piece.name != HEADING for piece in pieces)
        yield name, sum(piece.tokens for piece in pieces), named, sum(piece.chars for piece in pieces)
    for part in report.parts:
        yield part.name, part.tokens, part.items, part.chars


def _cuts(pieces: Iterable[Fixed]) -> Iterator[Text]:
    for piece in pieces:
        if piece.cut:
            kept = f"{number(piece.injected_chars)} of {number(piece.raw_chars)} characters shown"
            yield Text(f"{visible(piece.name)}: {CUTS[piece.cut]} ({kept})", style="yellow")


def _pieces(report: Report) -> Iterator[Table]:
    """Every piece of what is fixed: the prompt's sections and files in their order, skills and tools by size."""
    if not report.fixed:
        return
    table = _table("piece", "of", "tokens:r", "characters:r", "whole:r")
    ranked = sorted(report.fixed, key=lambda piece: -piece.tokens if piece.group in ("skills", "tools") else 0)
    for piece in sorted(ranked, key=lambda piece: ORDER.index(piece.group)):
        whole = number(piece.raw_chars) if piece.cut else ""
        table.add_row(visible(piece.name), piece.group, number(piece.tokens), number(piece.chars), whole)
    yield table


def _ladder(report: Report) -> Iterator[Table]:
    if report.thresholds is None:
        return
    table = _table("step", "from tokens:r", "what happens")
    for rung in LADDER:
        table.add_row(rung.name, number(rung.at(report.thresholds)), rung.does)
    yield table


def threads(found: Iterable[Thread], *, quote: int = 0) -> Iterator[Cut | Row | Text]:
    """The lines of a brief with what stands behind them, and up to `quote` lines of each entry."""
    for thread in found:
        style = "bold" if thread.text.startswith("#") else "" if thread.sources or not thread.claims else "red"
        mark = f"  ← {', '.join(f'#{record.seq}' for record in thread.sources)}" if thread.sources else ""
        lacking = thread.claims and not thread.sources
        why = "its entries were cut off for good" if thread.gone else "nothing supports this line"
        unsupported = f"  ← {why}" if lacking else ""
        label, behind = Text(f"{thread.number:>4} ", style="dim"), Text(mark + unsupported, style="cyan")
        yield Cut(label, one_line(thread.text, 10_000), behind, style=style)
        if quote:
            for record in thread.sources:
                yield from quoted(record, quote)


def quoted(record: Record, most: int) -> Iterator[Row | Text]:
    """The first lines of an entry word for word, under its number, id, time and kind."""
    entry = record.entry
    about = f"#{record.seq} · {entry.id} · {moment(entry.at)} · {visible(what(entry))}"
    yield Row(Text("     ┌ ", style="cyan"), Text(about, style="cyan"), again="     │ ", only_terminal=True)
    text = told(entry.body.message) if isinstance(entry.body, Said) else ""
    lines = visible(text).split("\n")
    for line in lines[:most]:
        yield Row(Text("     │ "), Text(line), again="     │ ", only_terminal=True)
    if len(lines) > most:
        yield Text(f"     └ … {plural(len(lines) - most, 'more line')}; clew trace --json gives all", style="dim")


def pinned(record: Record, *, off: bool, left: int) -> Iterator[Row | Text]:
    """What `pin` did to a message, and with `off` what is left."""
    did = "Took the pin off" if off else "Pinned"
    text = told(record.entry.body.message) if isinstance(record.entry.body, Said) else ""
    opening = Text.assemble((f"{did} #{record.seq}", "bold"), f" ({visible(what(record.entry))}): ")
    yield Row(Text(), opening.append(one_line(text, 100)), again="  ")
    if off and not left:
        yield Text("Nothing is pinned.")


def pins(texts: Mapping[str, str], records: Mapping[str, Record]) -> Iterator[Cut | Text]:
    """The pinned messages by number; `texts` and `records` are by the id of their entry."""
    for name, text in texts.items():
        record = records.get(name)
        label = f"#{record.seq}" if record else name
        yield Cut(Text(f"{label:>5}  ", style="dim"), one_line(text, 10_000), Text())
    if not texts:
        yield Text("Nothing is pinned.")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        name, _, how = column.partition(":")
        table.add_column(name, justify="right" if how == "r" else "left", overflow="fold", no_wrap=how == "id")
    return table
