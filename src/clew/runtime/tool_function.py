"""A Python function as a tool: its type hints as JSON Schema, its docstring as description, its arguments checked."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from inspect import Parameter
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from clew.errors import BadInput
from clew.models.port import Tool
from clew.workspace.port import Offer

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names that every provider takes."""
_ARGUMENTS = re.compile(r"^(?:Args|Arguments|Parameters|Params)\s*:?\s*$")
_SECTION = re.compile(
    r"^(?:Args|Arguments|Parameters|Params|Returns?|Raises|Yields|Examples?|Notes?|Warnings?|See Also)\s*:?\s*$|^:\w+"
)
_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument)\s+(?:[^:]+\s)?(\w+)\s*:\s*(.*)$")
NAMELESS = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)
GIVEN = 80
"""Characters of a wrong argument that are quoted."""


class _Schema(GenerateJsonSchema):
    """Without titles, which repeat the names; and a default that JSON cannot hold is left out in silence."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False


class ToolFunction:
    """An offer made ready: what a model is told of it, and how it is called. Schemas are made when first asked for."""

    def __init__(self, offer: Offer) -> None:
        """Raises BadInput for a name that some provider refuses."""
        self.offer = offer
        self.name = offer.name or getattr(offer.run, "__name__", "")
        if not _NAME.fullmatch(self.name):
            raise BadInput(
                f"{self.name!r} is no name for a tool: 1 to 64 letters, digits, `_` or `-`. Give one with "
                "`tool(name=…)`."
            )

    @cached_property
    def tool(self) -> Tool:
        """What a model is told: the same bytes each time. Raises BadInput where the function cannot be a tool."""
        described = self._docs[0] if self.offer.description is None else self.offer.description
        return Tool(self.name, described, self._schema() if self.offer.schema is None else self.offer.schema)

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A call's arguments by name, checked and converted. Raises BadInput that names each field at fault.

        Those that were not given are left to the function's defaults.
        """
        if self.offer.schema is not None:
            return dict(given)
        try:
            checked = self._model.model_validate(dict(given))
        except ValidationError as error:
            raise BadInput(_faults(self.name, error, tuple(self._names.values()))) from None
        bound = {
            name: getattr(checked, inner) for inner, name in self._names.items() if inner in checked.model_fields_set
        }
        return {**bound, **(checked.model_extra or {})}

    @cached_property
    def _docs(self) -> tuple[str, dict[str, str]]:
        return docs(inspect.getdoc(self.offer.run) or "")

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.offer.run)

    @cached_property
    def _names(self) -> dict[str, str]:
        """The function's arguments by the names they have in the model, where any name is free of pydantic's own."""
        kinds = {name: one.kind for name, one in self._signature.parameters.items()}
        unnamed = [name for name, kind in kinds.items() if kind in NAMELESS]
        if unnamed:
            raise BadInput(f"`{self.name}` cannot be a tool: {', '.join(unnamed)} cannot be given by name.")
        named = (name for name, kind in kinds.items() if kind is not Parameter.VAR_KEYWORD)
        return {f"a{nth}": name for nth, name in enumerate(named)}

    @cached_property
    def _model(self) -> type[BaseModel]:
        hints, parameters = _hints(self.name, self.offer.run), self._signature.parameters
        loose = any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
        fields: dict[str, Any] = {}
        for inner, name in self._names.items():
            default = parameters[name].default
            text = self._docs[1].get(name) or None
            field: Any = Field(... if default is Parameter.empty else default, alias=name, description=text)
            fields[inner] = (hints.get(name, Any), field)
        config = ConfigDict(extra="allow" if loose else "forbid", arbitrary_types_allowed=True)
        return create_model(self.name, __config__=config, **fields)

    def _schema(self) -> dict[str, Any]:
        try:
            schema = self._model.model_json_schema(schema_generator=_Schema)
        except PydanticUserError as error:
            raise BadInput(f"`{self.name}` cannot be a tool: {error.message.splitlines()[0]}") from error
        return {"type": "object", "properties": {}, **{key: part for key, part in schema.items() if key != "title"}}


def _hints(name: str, run: Callable[..., Any]) -> dict[str, Any]:
    while isinstance(run, partial):
        run = run.func
    try:
        return get_type_hints(run if inspect.isroutine(run) else type(run).__call__, include_extras=True)
    except NameError as error:
        raise BadInput(f"`{name}` cannot be a tool: a type hint of it is not known ({error}).") from error


def docs(docstring: str) -> tuple[str, dict[str, str]]:
    """A docstring's description, and what it says of each argument: in Google's, NumPy's or Sphinx's manner."""
    lines = docstring.splitlines()
    start = next((nth for nth, line in enumerate(lines) if _SECTION.match(line)), len(lines))
    described: dict[str, list[str]] = {}
    inside, base, last = False, 0, ""
    for line in lines[start:]:
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        if found := _SPHINX.match(line):
            inside, base, last = True, 0, found[1]
            described[last] = [found[2]]
        elif _SECTION.match(line):
            inside, base, last = bool(_ARGUMENTS.match(line)), -1, ""
        elif inside and bare and not set(bare) <= {"-"}:
            base = indent if base < 0 else base
            item = _ITEM.match(bare) if indent <= base else None
            if item:
                last = item[1]
                described[last] = [] if indent == 0 else [item[2]]
            elif last:
                described[last].append(bare)
    return "\n".join(lines[:start]).strip(), {name: " ".join(filter(None, said)) for name, said in described.items()}


def _faults(name: str, error: ValidationError, takes: tuple[str, ...]) -> str:
    found = "; ".join(_fault(one) for one in error.errors(include_url=False))
    return f"`{name}` was not run: {found}. It takes {', '.join(takes) or 'no arguments'}."


def _fault(one: Mapping[str, Any]) -> str:
    field = ".".join(map(str, one["loc"])) or "arguments"
    if one["type"] == "missing":
        return f"`{field}` is missing"
    if one["type"] == "extra_forbidden":
        return f"`{field}` is no argument of it"
    given = repr(one["input"])
    given = given if len(given) <= GIVEN else f"{given[:GIVEN]}…"
    return f"`{field}`: {one['msg'][:1].lower()}{one['msg'][1:]}, but is {given}"
