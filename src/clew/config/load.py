"""From a JSON5 file to settings, or to every mistake in it at once."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import json5
from pydantic import BaseModel, ValidationError

from clew.config.keys import Key, fields, join
from clew.config.mistakes import Mistake, mistakes, sentence
from clew.config.place import config_path, is_named
from clew.config.tree import Config
from clew.errors import BadSettings


def load(path: Path | None, env: Mapping[str, str]) -> Config:
    """The settings in force. No file where nobody named one means the defaults.

    Raises BadSettings with every mistake, or where a named file cannot be read.
    """
    where = config_path(path, env)
    if not where.exists() and not is_named(path, env):
        return Config()
    return parse(read(where), str(where))


def read(where: Path) -> str:
    """The text of a settings file. Raises BadSettings where it cannot be read."""
    try:
        return where.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadSettings(f"{where} is not UTF-8 text (byte {error.start}); it was left as it is.") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadSettings(f"The settings file {where} cannot be read: {reason}. Nothing was changed.") from error


def parse(text: str, origin: str = "the settings") -> Config:
    """The settings a JSON5 text holds. Raises BadSettings with every mistake."""
    outcome = _attempt(text)
    if isinstance(outcome, Config):
        return outcome
    raise BadSettings(sentence(outcome, origin))


def check(text: str) -> list[Mistake]:
    """Every mistake in a JSON5 text; empty if it holds none."""
    outcome = _attempt(text)
    return [] if isinstance(outcome, Config) else outcome


def _attempt(text: str) -> Config | list[Mistake]:
    try:
        data = tree(text)
        # As JSON, so that strict types still let a list be a tuple; by alias only, as the file writes them.
        return Config.model_validate_json(json.dumps(data), by_alias=True, by_name=False)
    except ValidationError as error:
        return mistakes(error, Config)
    except ValueError as error:
        return [Mistake("", str(error))]


def tree(text: str) -> dict[str, Any]:
    """A JSON5 text as plain data; an empty text is an empty object. Raises ValueError with line and column."""
    if not text.strip():
        return {}
    try:
        data = json5.loads(text, allow_duplicate_keys=False)
    except ValueError as error:
        raise ValueError(f"not JSON5: {_place(str(error))}") from error
    if not isinstance(data, dict):
        raise ValueError("not JSON5 settings: the outermost value has to be an object, { … }")
    return data


def _place(message: str) -> str:
    """A parser's `<string>:3 … at column 5` as `line 3: … at column 5`."""
    return message.replace("<string>:", "line ", 1).replace(" Unexpected", ": unexpected", 1)


def not_yet(config: Config) -> tuple[str, ...]:
    """The keys somebody set that this version checks and does not use yet."""
    return tuple(join(key) for key in _unused(config, ()))


def _unused(group: BaseModel, above: Key) -> Iterator[Key]:
    names = {id(field): name for name, field in type(group).model_fields.items()}
    for written, field in fields(type(group)).items():
        name = names[id(field)]
        if name not in group.model_fields_set:
            continue
        if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("notYet"):
            yield (*above, written)
        for key, inner in _inside(getattr(group, name)):
            yield from _unused(inner, (*above, written, *key))


def _inside(value: object) -> Iterator[tuple[Key, BaseModel]]:
    if isinstance(value, BaseModel):
        yield (), value
    elif isinstance(value, dict):
        yield from (((str(key),), item) for key, item in value.items() if isinstance(item, BaseModel))
