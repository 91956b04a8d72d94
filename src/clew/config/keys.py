"""Names of settings: dotted keys there and back, what stands under them, and the nearest one to a slip."""

import difflib
import re
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clew.errors import BadInput

Key = tuple[str | int, ...]
"""A setting's place: names of groups and maps, numbers in lists."""

_PART = re.compile(r"""\.?([^.\[\]"']+)|\[(\d+)\]|\[("[^"]*"|'[^']*')\]""")
_PLAIN = re.compile(r"[\w$-]+")


def split(written: str) -> Key:
    """A dotted key as its parts: `a.b`, `models["openai/gpt-5.1"].alias`, `fallbacks[0]`. Raises BadInput."""
    parts: list[str | int] = []
    at = 0
    while at < len(written):
        match = _PART.match(written, at)
        if match is None:
            raise BadInput(f'{written!r} is no key: write a.b.c, and names with dots as a["b.c"]. Nothing was changed.')
        plain, number, quoted = match.groups()
        parts.append(plain if plain else int(number) if number else quoted[1:-1])
        at = match.end()
    return tuple(parts)


def join(key: Sequence[str | int]) -> str:
    """The parts as one dotted key."""
    return "".join(_written(part) for part in key).removeprefix(".") or "(the file)"


def _written(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _PLAIN.fullmatch(part) else f'["{part}"]'


def fields(group: type[BaseModel]) -> dict[str, FieldInfo]:
    """The settings of a group by the names they have in a file."""
    return {field.alias or name: field for name, field in group.model_fields.items()}


def group_of(field: FieldInfo) -> type[BaseModel] | None:
    """The group a setting holds, in a map or list perhaps; None for a plain value."""
    return next(_groups(field.annotation), None)


def is_many(field: FieldInfo) -> bool:
    """Whether a setting is a map or a list of groups."""
    return group_of(field) is not None and get_origin(field.annotation) in (dict, list, tuple)


def _groups(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and get_origin(annotation) is None and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _groups(argument)


def group_at(root: type[BaseModel], key: Key) -> type[BaseModel] | None:
    """The group that a key names, or None if it names none."""
    group: type[BaseModel] | None = root
    parts = list(key)
    while parts and group is not None:
        field = fields(group).get(str(parts.pop(0)))
        group = group_of(field) if field else None
        if field and is_many(field) and parts:
            parts.pop(0)
    return group


def key_of(root: type[BaseModel], place: Key) -> Key:
    """The key that a place in a failed validation stands for: without the names of the branches of a choice."""
    group: type[BaseModel] | None = root
    parts, key = list(place), []
    while parts and group is not None:
        key.append(parts.pop(0))
        field = fields(group).get(str(key[-1]))
        group = group_of(field) if field else None
        if field and is_many(field) and parts:
            key.append(parts.pop(0))
        if field and _is_choice(field) and parts and not (group and parts[0] in fields(group)):
            parts.pop(0)
    return (*key, *parts)


def _is_choice(field: FieldInfo) -> bool:
    branches = [branch for branch in get_args(field.annotation) if branch is not type(None)]
    return get_origin(field.annotation) in (UnionType, Union) and len(branches) > 1


def walk(root: type[BaseModel], above: Key = ()) -> Iterator[tuple[Key, FieldInfo]]:
    """Every setting with its key, groups before what they hold; `<id>` stands for the names in a map."""
    for name, field in fields(root).items():
        key: Key = (*above, name)
        yield key, field
        group = group_of(field)
        if group is not None:
            yield from walk(group, (*key, "<id>") if is_many(field) else key)


def nearest(root: type[BaseModel], key: Key) -> str | None:
    """The known key closest to an unknown one: a slip in the last part, or the right name in the wrong place."""
    name, group = str(key[-1]), group_at(root, key[:-1])
    here = {known.lower(): known for known in fields(group)} if group else {}
    close = difflib.get_close_matches(name.replace("_", "").lower(), here, n=1)
    if close:
        return join((*key[:-1], here[close[0]]))
    elsewhere = [join(known) for known, _ in walk(root) if known[-1] == name]
    return elsewhere[0] if elsewhere else None
