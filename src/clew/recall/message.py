"""What is searched of a message, and on whose side it stands."""

from collections.abc import Iterator
from typing import Any

from clew.transcript import Call, Media, Message, Shell, Text, ToolResult, User, blocks_of

ROLES = ("user", "assistant", "tool")
"""The sides a message can stand on."""


def searchable(message: Message) -> str:
    """Its words, the names and arguments of its calls, the names of its media. Not its reasoning.

    What a tool calls its arguments is left out: it stands in every call alike.
    """
    return "\n".join(_parts(message))


def role(message: Message) -> str:
    """`user`, `assistant` or `tool`. A command the user ran beside the model is the user's."""
    if isinstance(message, User | Shell):
        return "user"
    return "tool" if isinstance(message, ToolResult) else "assistant"


def _parts(message: Message) -> Iterator[str]:
    for block in blocks_of(message):
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, Media):
            yield block.name or ""
        elif isinstance(block, Call):
            yield block.name
            yield from _values([*block.arguments.values()]) if block.raw is None else [_unescaped(block.raw)]


def _values(data: Any) -> Iterator[str]:
    """The names and texts among plain JSON values, however deep."""
    left = [data]
    while left:
        match left.pop():
            case str(text):
                yield text
            case bool() | None:
                pass
            case int() | float() as number:
                yield str(number)
            case dict(named):
                for name, value in reversed(named.items()):
                    left += [value, name]
            case list() | tuple() as listed:
                left += reversed(listed)


def _unescaped(raw: str) -> str:
    """Arguments that were cut off still have their line breaks escaped: no letters of the words behind them."""
    return raw.replace("\\n", "\n").replace("\\t", "\t")
