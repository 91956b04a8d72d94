"""What is wrong with settings, in sentences: the full key, what was found, and the nearest name that would be right."""

from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from clew.config.keys import Key, fields, group_at, join, key_of, nearest
from clew.settings import Settings

_SECRET = ("key", "token", "secret", "password", "headers")
"""A value below a key that ends so is never quoted."""
_LONGEST = 40
"""A value longer than this, in characters, is not quoted."""


class Mistake(msgspec.Struct, frozen=True):
    """One mistake in the settings."""

    key: str
    """The full dotted key; empty where the file as a whole is wrong."""
    problem: str
    """What is wrong and what would be right."""

    def __str__(self) -> str:
        return f"{self.key}: {self.problem}" if self.key else self.problem


def mistakes(error: ValidationError, root: type[BaseModel]) -> list[Mistake]:
    """Every mistake that a failed validation of `root` found, in the order of the tree, each once."""
    return list(dict.fromkeys(_mistake(detail, root) for detail in error.errors(include_url=False)))


def _mistake(detail: ErrorDetails, root: type[BaseModel]) -> Mistake:
    key = key_of(root, detail["loc"])
    problem = _unknown(key, root) if detail["type"] == "extra_forbidden" else _wrong(key, detail)
    return Mistake(join(key), problem)


def _unknown(key: Key, root: type[BaseModel]) -> str:
    group = group_at(root, key[:-1])
    retired = group.RETIRED.get(str(key[-1])) if group and issubclass(group, Settings) else None
    if retired:
        return retired
    near = nearest(root, key)
    if near:
        return f"unknown key; did you mean {near}?"
    names = ", ".join(name for name in fields(group or root) if not name.startswith("$"))
    what = f"Clew has no section {key[0]!r}" if len(key) == 1 else "unknown key"
    return f"{what}; known here: {names}"


def _wrong(key: Key, detail: ErrorDetails) -> str:
    own = detail["type"] == "value_error"
    said = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return said if own else said + _found(key, detail["input"])


def _found(key: Key, value: Any) -> str:
    """The value found, where it is short and cannot be a secret."""
    secret = any(str(part).lower().endswith(_SECRET) for part in key)
    shown = repr(value)
    if secret or isinstance(value, dict | list) or len(shown) > _LONGEST:
        return ""
    return f", but is {shown}"


def sentence(found: Sequence[Mistake], origin: str) -> str:
    """All mistakes as one message."""
    count = "One mistake" if len(found) == 1 else f"{len(found)} mistakes"
    return "\n".join([f"{count} in {origin}; nothing was changed.", *(f"  {mistake}" for mistake in found)])
