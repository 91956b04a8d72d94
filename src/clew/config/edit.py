"""Reading and writing one setting by its dotted key. A file keeps its comments, its order and its other bytes."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import json5

from clew.config.keys import Key, join, nearest, split
from clew.config.load import parse, read, tree
from clew.config.place import config_path
from clew.config.spans import Span, quoted, spans, written
from clew.config.tree import Config
from clew.errors import BadInput, BadSettings


def schema() -> dict[str, Any]:
    """The JSON Schema of a settings file."""
    return Config.model_json_schema(by_alias=True, mode="validation")


def get(config: Config, key: str) -> Any:
    """The value in force under a dotted key, defaults included, as plain data. Raises BadInput for an unknown key."""
    parts = split(key)
    value: Any = config.model_dump(mode="json", by_alias=True)
    for depth, part in enumerate(parts, 1):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            raise BadInput(_unknown(parts[:depth])) from None
    return value


def _unknown(key: Key) -> str:
    near = nearest(Config, key)
    hint = f" Did you mean {near}?" if near and near != join(key) else " `clew config schema` lists the keys."
    return f"There is no setting {join(key)}.{hint} Nothing was changed."


def value_of(typed: str) -> Any:
    """A value as somebody typed it: JSON5 where it is that, else the text itself."""
    try:
        return json5.loads(typed)
    except ValueError:
        return typed


def put(text: str, key: str, value: Any) -> str:
    """The settings text with one value set, all else byte for byte as it was.

    Raises BadSettings where the text, or the outcome, holds a mistake; BadInput for a key into a list.
    """
    parts = split(key)
    names = [part for part in parts if isinstance(part, str)]
    if not names or len(names) != len(parts):
        raise BadInput(f"{key!r} does not name a setting; set a list as a whole. Nothing was changed.")
    before = _data(text)
    changed = _splice(text if text.strip() else "{}\n", names, value)
    parse(changed, "the settings as they would be")
    if tree(changed) != _with(before, names, value):
        raise BadSettings(f"{join(parts)} cannot be set without touching the rest of the file; edit it by hand.")
    return changed


def _data(text: str) -> dict[str, Any]:
    try:
        return tree(text)
    except ValueError as error:
        raise BadSettings(f"The settings are {error}. Nothing was changed; mend that first.") from error


def _splice(text: str, names: list[str], value: Any) -> str:
    at, depth = spans(text), 0
    while depth < len(names) and at.members is not None and names[depth] in at.members:
        at, depth = at.members[names[depth]], depth + 1
    if depth == len(names):
        return text[: at.start] + written(value, _indent(text, at.start)) + text[at.end :]
    if at.members is None:
        raise BadInput(f"{join(names[:depth])} is set to a value that holds nothing. Nothing was changed.")
    for name in reversed(names[depth + 1 :]):
        value = {name: value}
    return _insert(text, at, names[depth], value)


def _insert(text: str, into: Span, name: str, value: Any) -> str:
    """A new member at the end of an object: on a line of its own, or within the line where the object is one."""
    outer = _indent(text, into.start)
    line = f"{quoted(name)}: {written(value, outer + '  ')}"
    comma = "" if into.comma or into.last is None else ","
    last = into.start + 1 if into.last is None else into.last
    if into.last is not None and "\n" not in text[into.start : into.end]:
        return f"{text[:last]}{comma} {line}{text[last:]}"
    remark, _, below = text[last : into.end - 1].partition("\n")
    below = f"{below.rstrip()}\n" if below.strip() else ""
    return f"{text[:last]}{comma}{remark.rstrip()}\n{below}{outer}  {line},\n{outer}{text[into.end - 1 :]}"


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _with(data: dict[str, Any], names: list[str], value: Any) -> dict[str, Any]:
    first, *rest = names
    inner = data.get(first, {})
    return {**data, first: _with(inner if isinstance(inner, dict) else {}, rest, value) if rest else value}


def save(path: Path | None, env: Mapping[str, str], key: str, value: Any) -> Path:
    """Set one value in the settings file, made if it is not there; the file's path. Raises BadSettings, BadInput."""
    where = config_path(path, env)
    text = read(where) if where.exists() else ""
    _replace(where, put(text, key, value))
    return where


def _replace(where: Path, text: str) -> None:
    """All of the new text or the old one, with the old one's rights; a new file is its owner's alone."""
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        target = where.resolve()
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, delete=False) as file:
            file.write(text)
        if target.exists():
            os.chmod(file.name, target.stat().st_mode & 0o7777)
        os.replace(file.name, target)
    except OSError as error:
        raise BadSettings(f"{where} cannot be written: {error.strerror}. It was left as it was.") from error
