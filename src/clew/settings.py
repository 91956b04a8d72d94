"""What all settings share: strict keys under their JSON names, retired keys with a sentence, and written sizes.

Each floor keeps its settings beside the code that reads them, built from `Settings`; `clew.config` gathers them.
"""

import re
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic.alias_generators import to_camel

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}

NOT_YET: dict[str, Any] = {"notYet": True}
"""Marks a setting that is understood and checked, but that nothing in this version reads. Loading one warns."""


class Settings(BaseModel):
    """A group of settings: frozen, unknown keys refused, types strict; camelCase in files, snake_case in code."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )

    RETIRED: ClassVar[dict[str, str]] = {}
    """Keys of former versions, as written, and what to do instead."""


def bytes_of(written: object) -> object:
    """A size as a number of bytes: a number is one already, `"20mb"` is 20 × 1024². Anything else is left to fail."""
    if isinstance(written, bool):
        raise ValueError('a size is a number of bytes or a text such as "20mb"')
    if not isinstance(written, str):
        return written
    match = _SIZE.fullmatch(written)
    if match is None:
        raise ValueError(f'{written!r} is no size; write a number of bytes or a text such as "20mb"')
    return int(float(match[1]) * 1024 ** _POWERS[match[2].lower()])


def seconds_of(written: object) -> object:
    """A duration in seconds: `"5m"`, `"1h"`, `"90s"`; a bare number counts minutes. Anything else is left to fail."""
    if isinstance(written, bool):
        raise ValueError('a duration is a text such as "5m" or "1h"')
    match = _DURATION.fullmatch(str(written)) if isinstance(written, str | int | float) else None
    if match is None:
        raise ValueError(f'{written!r} is no duration; write a text such as "5m" or "1h"')
    return float(match[1]) * _SECONDS[(match[2] or "m").lower()]


Bytes = Annotated[int, BeforeValidator(bytes_of, json_schema_input_type=int | str), Field(ge=0)]
"""A size in bytes, written as a number or as a text such as "20mb" (1 kb is 1024 bytes)."""

Duration = Annotated[float, BeforeValidator(seconds_of, json_schema_input_type=int | float | str), Field(ge=0)]
"""A duration in seconds, written as a text such as "5m" or "1h"; a bare number counts minutes."""

Names = Annotated[tuple[str, ...], Strict(False)]
"""A list of texts; strict about its texts, lenient about being a list and not a tuple."""
