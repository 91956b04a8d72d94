"""The manners of the house: names, docstrings, sizes, errors, and what importing Clew costs."""

import ast
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from clew import errors
from tests.shape.source_tree import ROOT, SOURCE, modules, tree

BANNED = {"utils", "util", "helpers", "helper", "core", "managers", "manager", "common", "misc"}
LINES, FUNCTION_LINES = 400, 70
"""A module's length and a function's, at most. Soft: raise one with a reason, or cut the module in two."""

HEAVY = [
    *("openai", "anthropic", "rich", "typer", "pydantic", "genai_prices", "sqlite3", "httpx", "asyncio"),
    *("json5", "platformdirs"),
]


def definitions(node: ast.Module | ast.ClassDef, above: str) -> Iterator[tuple[str, ast.AST]]:
    """Public classes, functions and methods, each with its full name. A test's name is its docstring."""
    for inner in node.body:
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not inner.name.startswith(
            ("_", "test_")
        ):
            yield f"{above}.{inner.name}", inner
            if isinstance(inner, ast.ClassDef):
                yield from definitions(inner, f"{above}.{inner.name}")


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_says_what_it_is_for(name: str) -> None:
    first = (ast.get_docstring(tree(name)) or "").split("\n\n")[0]
    assert first.endswith((".", ":", "?")), f"{name} opens with no sentence"


def test_everything_public_has_a_docstring() -> None:
    bare = [
        full
        for name in modules()
        for full, node in definitions(tree(name), name)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not ast.get_docstring(node)
    ]
    assert bare == []


def test_no_file_or_folder_is_called_after_a_pattern() -> None:
    parts = {part for path in SOURCE.rglob("*.py") for part in path.relative_to(SOURCE).with_suffix("").parts}
    assert parts & BANNED == set()


def test_no_module_is_too_long() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()}
    assert {name: length for name, length in lengths.items() if length > LINES} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{name}.{node.name}": node.end_lineno - node.lineno + 1
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= FUNCTION_LINES
    }
    assert long == {}


def test_the_drawn_tree_of_errors_is_the_tree_of_classes() -> None:
    drawn: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        if line.startswith("    ") and (words := line.strip(" │├└─").split()):
            drawn.append(((len(line) - len(line.lstrip(" │├└─")) - 4) // 4, words[0]))
    assert drawn == list(descend(errors.ClewError, 0))


def descend(kind: type[errors.ClewError], depth: int) -> Iterator[tuple[int, str]]:
    """A class and those below it that `clew.errors` defines, in the order of their definition."""
    yield depth, kind.__name__
    for inner in kind.__subclasses__():
        if inner.__module__ == errors.__name__:
            yield from descend(inner, depth + 1)


def test_every_error_lives_in_the_tree() -> None:
    strays = [
        f"{name}.{node.name}"
        for name in modules()
        if name != "clew.errors"
        for node in ast.walk(tree(name))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id in {"Exception", "ClewError"} for base in node.bases)
    ]
    assert strays == []


def test_the_docstring_of_an_error_is_its_default_message() -> None:
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.ClewError):
            assert str(kind()) == (kind.__doc__ or "").strip() != ""


def loaded(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys, json; old = set(sys.modules); {statement}; print(json.dumps([*set(sys.modules) - old]))"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return set(json.loads(outcome.stdout))


def test_importing_clew_loads_nothing_heavy() -> None:
    assert loaded("import clew") & set(HEAVY) == set()


def test_the_command_line_starts_without_the_provider_libraries() -> None:
    assert loaded("import clew.cli") & {"openai", "anthropic", "genai_prices", "httpx", "quicktok"} == set()


def test_the_twins_of_the_store_stand_in_the_same_order() -> None:
    names = {twin: public(twin) for twin in ("sqlite", "inmemory")}
    assert names["sqlite"] == names["inmemory"]
    assert set(public("port")) <= set(names["sqlite"])


def public(module: str) -> list[str]:
    """The public methods of the store in a module, in the order they stand there."""
    classes = [node for node in tree(f"clew.store.{module}").body if isinstance(node, ast.ClassDef)]
    store = next(node for node in classes if node.name.endswith("Store"))
    return [one.name for one in store.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]


def test_the_generated_docs_are_fresh() -> None:
    outcome = subprocess.run(
        [sys.executable, str(ROOT / "tools/docs.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
