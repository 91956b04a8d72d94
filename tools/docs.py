"""Writes the reference in docs/reference from the code, or with `--check` says which pages are stale.

python tools/docs.py            write every page
python tools/docs.py --check    write nothing; exit 1 if a page differs from what the code says
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from clew import errors
from clew.cli.commands import app
from clew.compact.audit import CHECKS
from clew.config import Config
from clew.config.keys import Key, group_of, join, walk
from clew.tokens.window import LADDER, thresholds

HERE = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "<!-- Written by `make docs` from the code; change the code, not this page. -->"
WINDOWS = (4_096, 8_192, 16_384, 32_768, 131_072, 200_000, 1_000_000)


def settings() -> Iterator[str]:
    """Every setting: key, type, default, meaning."""
    yield "# Settings"
    yield (
        "A JSON5 file under OpenClaw's names: `--config FILE`, else `$CLEW_CONFIG`, else `$CLEW_HOME/clew.json5`, else "
        "`clew.json5` in the user's configuration folder (`clew config path` prints it). Unknown and retired keys are "
        "refused. *Not used yet* marks what is checked and changes nothing in this version."
    )
    for key, field in walk(Config):
        group = group_of(field)
        yield f"{'##' if group else '###'} `{join(key)}`"
        if group is None:
            yield f"{_kind(field)}. Default {_default(field)}.{_mark(field)}"
        yield inspect.cleandoc(field.description or "")
        yield from _retired(key, group)


def _mark(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    return " *Not used yet.*" if isinstance(extra, dict) and extra.get("notYet") else ""


def _retired(key: Key, group: Any) -> Iterator[str]:
    retired = getattr(group, "RETIRED", {}) if group else {}
    if retired:
        yield "Refused keys:"
        yield "\n".join(f"- `{join((*key, name))}`: {sentence}." for name, sentence in retired.items())


def _kind(field: FieldInfo) -> str:
    bounds = [f"at least {one.ge}" for one in field.metadata if getattr(one, "ge", None) is not None]
    bounds += [f"above {one.gt}" for one in field.metadata if getattr(one, "gt", None) is not None]
    bounds += [f"at most {one.le}" for one in field.metadata if getattr(one, "le", None) is not None]
    words = ", ".join([_type(field.annotation), *bounds])
    return words[0].upper() + words[1:]


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if origin is tuple:
        return f"List of {_type(arguments[0])}"
    if origin is dict:
        return f"Map of {_type(arguments[1])}"
    if hasattr(annotation, "__metadata__") and arguments:
        return _type(arguments[0])
    if arguments:
        return " or ".join(_type(one) for one in arguments if one is not type(None))
    names = {str: "text", int: "whole number", float: "number", bool: "true or false", SecretStr: "text (a secret)"}
    return names.get(annotation, "anything")


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if field.is_required():
        return "none: it has to be given"
    written = {None: "none", True: "`true`", False: "`false`", (): "none"}
    if isinstance(default, bool | None | tuple) and default in written:
        return written[default]
    return f"`{default}`" if default not in ({}, "") else "none"


def error_tree() -> Iterator[str]:
    """The tree of errors and their default messages."""
    yield "# Errors"
    drawn = inspect.getdoc(errors) or ""
    yield drawn.split("\n")[0]
    yield "```text\n" + inspect.cleandoc(drawn.split("\n\n")[1]) + "\n```"
    yield drawn.split("\n\n")[-1]
    yield "\n".join(f"- `{kind.__name__}`: {inspect.getdoc(kind)}" for kind in _kinds(errors.ClewError))


def _kinds(kind: type[errors.ClewError]) -> Iterator[type[errors.ClewError]]:
    yield kind
    for inner in kind.__subclasses__():
        if inner.__module__ == errors.__name__:
            yield from _kinds(inner)


def ladder() -> Iterator[str]:
    """What is done as a view grows, and from which size on."""
    yield "# The ladder"
    yield "What is done as the view of a session grows, from light to heavy. The code reads the same table."
    rows = [f"| {step.name} | {step.when} | {step.does} |" for step in LADDER]
    yield "\n".join(["| step | from | what is done |", "|---|---|---|", *rows])
    yield "The same in tokens, for windows of several sizes:"
    named = [step for step in LADDER if step.field]
    head = ["window", "reserve", *(step.name for step in named), "early flush"]
    sizes = [f"| {_cells(window, named)} |" for window in WINDOWS]
    yield "\n".join([f"| {' | '.join(head)} |", "|" + "--:|" * len(head), *sizes])


def _cells(window: int, steps: list[Any]) -> str:
    limits = thresholds(window)
    numbers = [window, limits.reserve, *(step.at(limits) for step in steps), limits.flush_at]
    return " | ".join(f"{number:,}" for number in numbers)


MENDS = {
    "restore": "put right by rule at once",
    "ask": "asked again, then taken out by rule",
    "note": "noted with the compaction",
}


def audit() -> Iterator[str]:
    """The checks a brief has to pass."""
    yield "# The audit"
    yield "What is looked at in a brief, on the exact text that would be stored, and what follows a finding."
    rows = [
        f"| `{row.code}` | {(inspect.getdoc(row.check) or '').split('.')[0]} | {MENDS[row.mend]} |" for row in CHECKS
    ]
    yield "\n".join(["| code | what is found | what follows |", "|---|---|---|", *rows])


def commands() -> Iterator[str]:
    """Every command with its arguments and options."""
    yield "# Commands"
    yield "Exit codes: 0 done; 1 it failed and nothing was changed; 2 asked wrongly; 130 interrupted."
    yield from _command(typer.main.get_command(app), "clew")


def _command(command: Any, path: str) -> Iterator[str]:
    """A command in our own words and not in the library's layout, which changes from version to version."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    shown = "".join(f" {_name(one)}" if one.required else f" [{_name(one)}]" for one in arguments)
    yield f"## `{path}{shown}`"
    yield inspect.cleandoc(command.help or "")
    yield "\n".join(f"- `{_name(one)}`: {one.help or ''}" for one in (*arguments, *options) if one.name != "help")
    for name, inner in getattr(command, "commands", {}).items():
        yield from _command(inner, f"{path} {name}")


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name).upper().strip("[]")
    return ", ".join((*parameter.opts, *parameter.secondary_opts))


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "settings.md": settings,
    "errors.md": error_tree,
    "ladder.md": ladder,
    "audit.md": audit,
    "commands.md": commands,
}


def page(name: str) -> str:
    """A page as it should stand on disk."""
    return "\n\n".join([NOTE, *(part for part in PAGES[name]() if part)]) + "\n"


def main(arguments: list[str]) -> int:
    """Write the pages or compare them; 1 if one is stale."""
    made = {name: page(name) for name in PAGES}
    if arguments == ["--check"]:
        there = {name: (HERE / name).read_text("utf-8") if (HERE / name).exists() else "" for name in PAGES}
        stale = [f"docs/reference/{name}" for name in PAGES if there[name] != made[name]]
        if stale:
            print(f"Stale: {', '.join(stale)}. Run `make docs` and commit what it wrote.", file=sys.stderr)
        return 1 if stale else 0
    HERE.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (HERE / name).write_text(text, "utf-8")
    print(f"wrote {', '.join(PAGES)} in docs/reference")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
