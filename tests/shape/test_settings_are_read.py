"""A setting is read by some module, or it is marked as not used yet; never the third."""

import ast
from functools import cache

import pytest
from pydantic.fields import FieldInfo

from clew.config import Config
from clew.config.keys import Key, group_of, join, walk
from tests.shape.source_tree import modules, tree

VALUES = [
    pytest.param(key, field, id=join(key))
    for key, field in walk(Config)
    if group_of(field) is None and not str(key[-1]).startswith("$")
]


def marked(field: FieldInfo) -> bool:
    return isinstance(field.json_schema_extra, dict) and bool(field.json_schema_extra.get("notYet"))


@cache
def read() -> frozenset[str]:
    """Every attribute that some module outside the settings themselves looks at."""
    return frozenset(
        node.attr
        for name in modules()
        if not name.startswith("clew.config") or name.endswith(".edit")
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Attribute)
    )


def attribute(key: Key) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in str(key[-1]))


@pytest.mark.parametrize(("key", "field"), VALUES)
def test_a_setting_is_read_or_marked(key: Key, field: FieldInfo) -> None:
    assert marked(field) or attribute(key) in read(), f"nothing reads {join(key)}; mark it with NOT_YET"


UNMISTAKABLE = [value for value in VALUES if "_" in attribute(value.values[0])]  # type: ignore[arg-type]
"""Settings whose names say enough: `enabled` or `mode` may be somebody else's."""


@pytest.mark.parametrize(("key", "field"), UNMISTAKABLE)
def test_a_setting_that_is_read_is_not_marked(key: Key, field: FieldInfo) -> None:
    assert not (marked(field) and attribute(key) in read()), f"{join(key)} is read now; take NOT_YET off"


@pytest.mark.parametrize(("key", "field"), [pytest.param(key, field, id=join(key)) for key, field in walk(Config)])
def test_a_setting_says_what_it_means(key: Key, field: FieldInfo) -> None:
    assert (field.description or "").rstrip().endswith((".", '"', ")")), f"{join(key)} has no docstring"
