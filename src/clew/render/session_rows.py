"""A list of sessions as a table: of rows as `clew.gateway.rows` tells them, from a store or from a gateway."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.text import Text

from clew.render.layout import Listing, table
from clew.render.text import age, number, one_line, path_end, percent, short, visible

COLUMNS = (
    ("agent", "key", "age:r", "model", "tokens (ctx %):r", "compacted:r", "flags"),
    ("key", "age:r", "model", "tokens (ctx %):r", "compacted:r", "flags"),
    ("key", "age:r", "tokens (ctx %):r", "compacted:r", "flags"),
)
"""What a table tells, less and less where keys are long."""

MODEL = 28
"""Columns of a model's name."""

FILLS = ((95, "bold red"), (80, "red"), (60, "yellow"))
"""From which share of the window on its size is shown how."""


def listing(rows: Iterable[dict[str, Any]], now: int) -> Listing:
    """Rows as a table, or as blocks where the terminal is narrow."""
    tables, blocks = [table(*columns) for columns in COLUMNS], []
    for row in rows:
        agent, key = visible(str(row["agentId"])), Text(one_line(str(row["key"]), 10_000), style="cyan")
        model = path_end(one_line(str(row["model"] or "–"), 10_000), MODEL)
        used, flags = age(row["updatedAt"], now), ", ".join(flags_of(row))
        counted, fill = number(row["compactionCount"]), filled(row)
        cells = (key, used, model, fill, counted, flags)
        tables[0].add_row(agent, *cells)
        tables[1].add_row(*cells)
        tables[2].add_row(key, used, fill, counted, flags)
        words = [f"used {used}", f"{fill.plain} tokens", f"compacted {counted}", model if row["model"] else "", flags]
        blocks.append((key, " · ".join(filter(None, words))))
    return Listing(tables, blocks)


def filled(row: dict[str, Any]) -> Text:
    """A session's size and its share of the window."""
    tokens, window = int(row["totalTokens"]), row["contextTokens"]
    if not window:
        return Text(short(tokens))
    share = 100 * tokens // window
    style = next((style for least, style in FILLS if share >= least), "")
    return Text(f"{short(tokens)}/{short(window)} ({percent(tokens, window)})", style=style)


def flags_of(row: dict[str, Any]) -> Sequence[str]:
    """What is special about a session."""
    waiting = f"{row['queued']} waiting" if row.get("queued") else ""
    flags = (waiting, *(name for name in ("running", "archived", "interrupted", "damaged") if row.get(name)))
    return [one for one in flags if one]
