"""Imports point down, siblings in policy are strangers, nothing goes round in a circle."""

import ast

from tests.shape.source_tree import area, imports, modules, tree, within

FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "clock", "settings"),
    ("logs",),
    ("transcript",),
    ("tokens",),
    ("prune", "compact", "prompt", "memory", "recall"),
    ("store", "models", "workspace"),
    ("engine",),
    ("runtime",),
    ("config", "plugins", "agency", "staff", "subagents", "crew", "app"),
    ("commands", "render"),
    ("gateway", "client"),
    ("cli", "tui", "web", "integrations", "testing", "demo", "__main__"),
)
"""From the ground up. A module imports from its own floor and those below it."""

STRANGERS = {"prune", "compact", "prompt", "memory", "recall"}

PURE = {"transcript", "tokens", *STRANGERS}
WORLD = {
    "asyncio",
    "socket",
    "sqlite3",
    "subprocess",
    "threading",
    "time",
    "random",
    "secrets",
    "os",
    "httpx",
    "logging",
}

LATE = {
    ("clew.cli.mcp", "mcp"),
    ("clew.client.gateway", "httpx2"),
    ("clew.gateway.channels.irc_link", "irc"),
    ("clew.models.catalog", "genai_prices"),
    ("clew.workspace.mcp", "mcp"),
    ("clew.workspace.mcp", "httpx2"),
    ("clew.models.discover", "httpx2"),
    ("clew.models.local", "httpx2"),
    ("clew.models.pull", "httpx2"),
    ("clew.models.providers.anthropic", "anthropic"),
    ("clew.models.providers.openai", "openai"),
}
"""Imports inside a function: heavy or optional packages, and nothing of Clew's own."""


def floor(name: str) -> int:
    return next(number for number, areas in enumerate(FLOORS) if area(name) in areas)


def test_every_module_stands_on_a_floor() -> None:
    known = {one for areas in FLOORS for one in areas} | {""}
    assert {name for name in modules() if area(name) not in known} == set()


def test_imports_point_down() -> None:
    upward = [
        f"{name} imports {other}"
        for name in modules()
        for other in within(name)
        if name != "clew" and other != "clew" and floor(other) > floor(name)
    ]
    assert upward == []


def test_siblings_in_policy_are_strangers() -> None:
    met = [
        f"{name} imports {other}"
        for name in modules()
        for other in within(name)
        if {area(name), area(other)} <= STRANGERS and area(name) != area(other)
    ]
    assert met == []


def test_the_pure_core_touches_nothing_of_the_world() -> None:
    touched = [
        f"{name} imports {imported}"
        for name in modules()
        if area(name) in PURE
        for imported, _ in imports(tree(name))
        if imported.split(".")[0] in WORLD
    ]
    assert touched == []


def test_the_pure_core_waits_for_nothing() -> None:
    waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    found = {
        name for name in modules() if area(name) in PURE for node in ast.walk(tree(name)) if isinstance(node, waiting)
    }
    assert found == set()


def test_no_import_goes_round_in_a_circle() -> None:
    left = {name: within(name) for name in modules()}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    assert sorted(left) == []


def test_late_imports_are_the_listed_ones() -> None:
    late = {
        (name, imported.split(".")[0])
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for imported, _ in imports(node)
    }
    assert late == LATE
