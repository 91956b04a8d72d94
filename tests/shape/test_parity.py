"""docs/parity.md has a row for every requirement, and what it names is there."""

import ast
import re
from functools import cache
from typing import NamedTuple

import pytest

from tests.shape.source_tree import ROOT, modules

COUNTS = {"W": 6, "P": 6, "C": 11, "A": 5, "E": 7, "O": 3, "M": 2, "S": 6, "X": 9}
"""How many requirements each chapter has; they are numbered from 1."""

IDS = [f"{chapter}{number}" for chapter, count in COUNTS.items() for number in range(1, count + 1)]


class Row(NamedTuple):
    """One row of the page."""

    id: str
    state: str
    where: list[str]
    tests: list[str]


def rows() -> list[Row]:
    page = (ROOT / "docs/parity.md").read_text(encoding="utf-8")
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in page.splitlines() if re.match(r"\| [A-Z]\d+ \|", line)]
    quoted = re.compile(r"`([^`]+)`")
    return [Row(one.strip(), state.strip(), quoted.findall(at), quoted.findall(by)) for one, state, at, by in cells]


@cache
def functions(path: str) -> frozenset[str]:
    """The names of the tests in a file."""
    nodes = ast.walk(ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8")))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_requirement_has_one_row_in_order() -> None:
    assert [row.id for row in rows()] == IDS


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_a_row_says_how_far_it_is_and_what_proves_it(row: Row) -> None:
    state = re.match(r"(done|partly: .+|not yet \(.+\))", row.state)
    assert state, row.state
    assert bool(row.where) is bool(row.tests) is not row.state.startswith("not yet")


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_what_a_row_names_is_there(row: Row) -> None:
    assert [name for name in row.where if f"clew.{name}" not in modules()] == []
    named = [test.partition("::") for test in row.tests]
    assert [f"{path}::{name}" for path, _, name in named if name not in functions(path)] == []
