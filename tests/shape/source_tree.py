"""The source of Clew as the shape tests see it: modules, their syntax trees, and who imports whom."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "clew"


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    return {_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(name: str) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


def imports(node: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """Every name imported below a node, with the statement: `a.b` for `import a.b`, `a.b.c` for `from a.b import c`."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import):
            yield from ((alias.name, inner) for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom) and inner.module:
            yield from ((f"{inner.module}.{alias.name}", inner) for alias in inner.names)


def within(name: str) -> set[str]:
    """The modules of Clew that a module imports."""
    found = (_module_of(imported) for imported, _ in imports(tree(name)))
    return {module for module in found if module is not None and module != name}


def _module_of(imported: str) -> str | None:
    if imported in modules():
        return imported
    parent = imported.rpartition(".")[0]
    return parent if parent in modules() else None


def area(name: str) -> str:
    """The part of Clew a module belongs to: `compact` for `clew.compact.cut`."""
    return [*name.split("."), ""][1]
