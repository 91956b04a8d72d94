"""What every request carries whatever was said: the pieces of the system prompt and the tool schemas, with their sizes.

No compaction makes it smaller, so where it alone is over the window there is nothing to wind up.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from clew.prompt.assemble import SystemPrompt
from clew.prompt.sections import Group, Side
from clew.tokens import estimate

Count = Callable[[str], int]
"""A counter of tokens."""

TOOL_TOKENS = 8
"""The marks around a tool's schema, as chat templates write them."""


class ToolSchema(Protocol):
    """A tool as a model is told of it; `clew.models.port.Tool` is one."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def description(self) -> str:
        """What it does."""
        ...

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its arguments."""
        ...


class Fixed(msgspec.Struct, frozen=True):
    """One piece."""

    group: Group
    name: str
    tokens: int
    """Estimated, or counted where a counter was given."""
    chars: int
    """As it is sent."""
    side: Side | None = None
    """Before or behind the cache boundary; None for tools, which stand before the prompt."""
    raw_chars: int | None = None
    """Characters of the whole file; None for what is no file."""
    injected_chars: int | None = None
    """Characters of the file that are shown; None for what is no file."""
    cut: str = ""
    """How a file was cut: `file`, `total`, `left out`; empty for what is whole."""
    parameters: int | None = None
    """How many arguments a tool takes; None for what is no tool."""


def fixed(
    prompt: SystemPrompt | None, tools: Sequence[ToolSchema] = (), *, count: Count | None = None
) -> tuple[Fixed, ...]:
    """The pieces of a prompt and a set of tools, in the order they are sent."""
    size = count or estimate.text
    parts = prompt.parts if prompt else ()
    pieces = (
        Fixed(
            group=part.group,
            name=part.name,
            tokens=size(part.text),
            chars=len(part.text),
            side=part.side,
            raw_chars=part.raw_chars,
            injected_chars=part.injected_chars,
            cut=part.cut,
        )
        for part in parts
    )
    return (*pieces, *tools_size(tools, count=count))


def tools_size(tools: Sequence[ToolSchema], *, count: Count | None = None) -> tuple[Fixed, ...]:
    """Each tool's schema with its size, in the given order."""
    return tuple(_tool(tool, count or estimate.text) for tool in tools)


def _tool(tool: ToolSchema, count: Count) -> Fixed:
    said = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    text = msgspec.json.encode(said).decode()
    properties = tool.schema.get("properties")
    parameters = len(properties) if isinstance(properties, dict) else 0
    return Fixed("tools", tool.name, TOOL_TOKENS + count(text), len(text), parameters=parameters)
