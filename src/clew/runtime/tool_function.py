"""A Python function as a tool: its type hints as JSON Schema, its docstring as the description, its arguments checked."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from clew.errors import BadInput
from clew.models.port import Tool
from clew.workspace.port import Offer

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names that every provider takes."""
_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters|Params)\s*:?\s*$", re.MULTILINE)
_OTHER_SECTION = re.compile(
    r"^\s*(Returns?|Raises|Yields|Examples?|Notes?|Warnings?|See Also)\s*:?\s*$", re.MULTILINE
)
_FIELD = re.compile(r"^\s*:(?:param|parameter|arg)\s+(?:[^:\s]+\s+)?(\w+):\s*(.*?)(?=^\s*:|\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^(\s*)\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


class _Schema(GenerateJsonSchema):
    """No warnings about defaults that JSON cannot hold: such a default is left out, and the argument is optional."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}


class _Arguments(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")


class ToolFunction:
    """An offer made ready: what a model is told of it, and how it is called. Schemas are made when first asked for."""

    def __init__(self, offer: Offer) -> None:
        """Raises BadInput for a name no provider takes."""
        self.offer = offer
        self.name = offer.name or getattr(offer.run, "__name__", "")
        if not _NAME.fullmatch(self.name):
            raise BadInput(
                f"{self.name!r} is no name for a tool: it has 1 to 64 letters, digits, `_` or `-`. Give one with "
                "`tool(name=…)`."
            )

    @cached_property
    def tool(self) -> Tool:
        """What a model is told: the same bytes each time."""
        described = self.offer.description if self.offer.description is not None else self._docs[0]
        return Tool(self.name, described, self.offer.schema if self.offer.schema is not None else self._schema)

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A call's arguments by name, checked and converted. Raises BadInput that names each field at fault."""
        if self.offer.schema is not None:
            return dict(given)
        try:
            checked = self._model.model_validate(dict(given))
        except ValidationError as error:
            raise BadInput(_faults(self.name, error, self._fields)) from None
        bound = {name: getattr(checked, inner) for name, inner in self._fields.items() if inner in checked.model_fields_set}
        return {**bound, **(checked.model_extra or {})}
