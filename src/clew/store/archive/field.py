"""One field of JSON that nobody checked: the value if it has the right type, else the plain empty one."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from clew.clock import from_iso
from clew.transcript.codec import scrub

_END_OF_TIME = 253_402_300_800_000
"""The year 10000 in milliseconds: a larger number is no time."""
_SECONDS_END = 100_000_000_000
"""Numbers below this are seconds (to the year 5138), above it milliseconds (from 1973 on)."""

MAX_DEPTH = 200
"""The deepest nesting taken in: reading and writing JSON is recursive, and Python's stack holds about 1,000 frames."""
_DEEP = f"nested more than {MAX_DEPTH} deep"


def loads(data: bytes | str) -> Any:
    """The JSON value of `data`, with NaN, control characters and lone surrogates put up with.

    Raises ValueError if it is no JSON, or is nested too deeply to be handled.
    """
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        value = _decoded(data, text)
    except RecursionError as error:
        raise ValueError(_DEEP) from error
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise ValueError(_DEEP)
    return value


def _decoded(data: bytes | str, text: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        # msgspec is strict and fast; what it refuses gets a second, lenient reading.
        return scrub(json.loads(text, strict=False))


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
    return bool(level)


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def dumps(value: Any) -> bytes:
    """Any value as JSON, with lone surrogates replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(scrub(msgspec.to_builtins(value)))


def string(raw: dict[str, Any], key: str) -> str:
    """The text under `key`, or an empty one."""
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def mapping(raw: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under `key`, or an empty one."""
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def listing(raw: dict[str, Any], key: str) -> list[Any]:
    """The list under `key`, or an empty one."""
    value = raw.get(key)
    return value if isinstance(value, list) else []


def objects(raw: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in the list under `key`; anything else in it is passed over."""
    return [item for item in listing(raw, key) if isinstance(item, dict)]


def whole(raw: dict[str, Any], key: str) -> int | None:
    """The count under `key`, or None if there is no such number."""
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value)


def moment(raw: dict[str, Any], key: str = "timestamp") -> int | None:
    """The time under `key` in milliseconds: ISO 8601 text, seconds, or milliseconds. None if it is no time."""
    value = raw.get(key)
    if isinstance(value, str):
        ms = from_iso(value)
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _END_OF_TIME:
        ms = int(value * 1000 if value < _SECONDS_END else value)
    else:
        return None
    return ms if ms is not None and 0 <= ms < _END_OF_TIME else None


def arguments(value: Any) -> tuple[dict[str, Any], str | None]:
    """A call's arguments as an object; where they are none, an empty object and the text as it came."""
    if isinstance(value, dict):
        return value, None
    if value is None or value == "":
        return {}, None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        parsed = loads(text)
    except ValueError:
        return {}, text
    return (parsed, None) if isinstance(parsed, dict) else ({}, text)
