"""What was said: frozen messages made of blocks, equal by content. Knows nothing of order, time or storage."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec


class Value(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of every value that is stored: immutable, equal by content, strict about its fields."""


class Text(Value, frozen=True, tag="text"):
    """Words."""

    text: str


class Thinking(Value, frozen=True, tag="thinking"):
    """A model's reasoning. With a signature it is kept whole or dropped whole: a provider checks the pair."""

    text: str
    signature: str | None = None
    redacted: str | None = None
    """What a provider sent in place of the reasoning it hides, to be sent back as it came."""


class Call(Value, frozen=True, tag="call"):
    """A tool call."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    raw: str | None = None
    """The arguments as they came, where they are not a JSON object (cut off, or malformed)."""


class Media(Value, frozen=True, tag="media"):
    """An image, a sound or a document: bytes as base64, or a place to fetch them from."""

    media_type: str
    """The media type, such as `image/png`; `image/*` where it is not known."""
    data: str | None = None
    url: str | None = None
    name: str | None = None


class Foreign(Value, frozen=True, tag="foreign"):
    """A block of a kind Clew does not know, kept as it came so that an export gives it back."""

    kind: str
    data: dict[str, Any] = {}


Block = Text | Thinking | Call | Media | Foreign


class Usage(Value, frozen=True):
    """What a provider reported for one request, in tokens. A missing number is unknown, never 0."""

    input: int | None = None
    """Input that was neither read from the cache nor written to it."""
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None

    @property
    def context(self) -> int | None:
        """The size of the request together with its answer, or None if the provider reported no input or output."""
        parts = [part for part in (self.input, self.cache_read, self.cache_write, self.output) if part is not None]
        return sum(parts) if parts and sum(parts) > 0 else None


class Sender(Value, frozen=True):
    """Who spoke, where several people share a session."""

    id: str
    name: str | None = None


class User(Value, frozen=True, tag="user"):
    """Something a person said, or something the harness said in the user's place (`synthetic`)."""

    blocks: tuple[Block, ...]
    sender: Sender | None = None
    synthetic: bool = False
    """True for text a harness put there (reminders, caveats, hook output): never an ask of the user's."""


class Assistant(Value, frozen=True, tag="assistant"):
    """What the model answered: words, reasoning, tool calls."""

    blocks: tuple[Block, ...]
    model: str | None = None
    """`provider/model`, or the bare model id where the provider is not known."""
    usage: Usage | None = None
    stop: Literal["stop", "length", "tools", "aborted", "error"] | None = None


class ToolResult(Value, frozen=True, tag="tool"):
    """What a tool returned for one call."""

    call_id: str
    tool: str
    blocks: tuple[Block, ...]
    error: bool = False


class Shell(Value, frozen=True, tag="shell"):
    """A command the user ran beside the model."""

    command: str
    output: str
    exit_code: int | None = None


Message = User | Assistant | ToolResult | Shell


def user(text: str, **more: Any) -> User:
    """A user message of plain words."""
    return User((Text(text),), **more)


def assistant(text: str = "", *calls: Call, **more: Any) -> Assistant:
    """An assistant message of plain words, then tool calls."""
    words = (Text(text),) if text else ()
    return Assistant((*words, *calls), **more)


def result(call: Call, text: str, *, error: bool = False) -> ToolResult:
    """What `call` returned."""
    return ToolResult(call.id, call.name, (Text(text),), error)


def blocks_of(message: Message) -> tuple[Block, ...]:
    """The blocks of any message; a shell command is one block of text."""
    if isinstance(message, Shell):
        return (Text(shell_text(message)),)
    return message.blocks


def calls_of(message: Message) -> Iterator[Call]:
    """The tool calls a message makes, in order."""
    if isinstance(message, Assistant):
        yield from (block for block in message.blocks if isinstance(block, Call))


def text_of(message: Message) -> str:
    """The words of a message, without reasoning, calls and media, joined by line breaks."""
    return "\n".join(block.text for block in blocks_of(message) if isinstance(block, Text))


def shell_text(shell: Shell) -> str:
    """A user's shell command as the model reads it."""
    code = "" if shell.exit_code in (None, 0) else f"\n(exit code {shell.exit_code})"
    return f"$ {shell.command}\n{shell.output}{code}"
