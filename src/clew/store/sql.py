"""SQL as text beside the code: named queries and numbered migrations, read once from `schema/*.sql`."""

import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

_SCHEMA = files("clew.store") / "schema"
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_MIGRATION = r"{}-(\d+)\.sql"


@cache
def queries(dialect: str) -> dict[str, str]:
    """The queries of a dialect (`sqlite`) by the name that stands above each."""
    text = (_SCHEMA / f"{dialect}-queries.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


@cache
def migrations(dialect: str) -> dict[int, tuple[str, ...]]:
    """The statements that lead from each version of a dialect's schema to the next, by the number they lead to."""
    numbered = re.compile(_MIGRATION.format(re.escape(dialect)))
    found = {int(hit[1]): file for file in _SCHEMA.iterdir() if (hit := numbered.fullmatch(file.name))}
    return {number: tuple(statements(found[number].read_text(encoding="utf-8"))) for number in sorted(found)}


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: sqlite3 commits before it runs a script as a whole."""
    lines: list[str] = []
    for line in script.splitlines():
        lines.append(line)
        if sqlite3.complete_statement(text := "\n".join(lines)):
            yield text
            lines = []
