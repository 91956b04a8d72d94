"""Who takes how much of a window: prompt, tools and a view's contents by kind, beside the window's thresholds."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from clew.prompt.assemble import SystemPrompt
from clew.prompt.fixed import Count, Fixed, ToolSchema, fixed
from clew.tokens import estimate
from clew.tokens.usage import Size, measure
from clew.tokens.window import Thresholds, thresholds
from clew.transcript import (
    Assistant,
    Block,
    Call,
    Entry,
    Foreign,
    Media,
    Message,
    Pin,
    Said,
    Shell,
    Text,
    Thinking,
    ToolResult,
    User,
    View,
    blocks_of,
    brief_text,
)

LARGEST = 10
"""Entries a report names one by one."""

PARTS = (
    "brief", "pinned", "user words", "harness words", "assistant words", "reasoning", "tool calls", "tool results",
    "shell", "media", "other",
)  # fmt: skip
"""The kinds of content a report counts, in the order it shows them."""


class Part(msgspec.Struct, frozen=True):
    """One kind of content."""

    name: str
    tokens: int
    """Estimated."""
    items: int
    chars: int


class Large(msgspec.Struct, frozen=True):
    """One of the largest entries."""

    id: str
    what: str
    """The kind of message, with the tool's name where there is one."""
    tokens: int


class Report(msgspec.Struct, frozen=True):
    """A session's window, taken apart."""

    size: Size
    """What the next request will take, anchored on reported usage where there is any."""
    estimated: int
    """The sum of the parts and of what is fixed."""
    parts: tuple[Part, ...]
    """The conversation, by kind of content."""
    largest: tuple[Large, ...]
    messages: int
    window: int | None = None
    """In tokens; None where it is unknown."""
    window_source: str = "unknown"
    thresholds: Thresholds | None = None
    """Where pruning and compaction set in; None where the window is unknown."""
    fixed: tuple[Fixed, ...] = ()
    """System prompt, workspace files, skills and tool schemas, piece by piece; empty where no prompt was given."""
    fixed_tokens: int = 0
    """The sum of what is fixed: no compaction makes it smaller."""
    history_tokens: int = 0
    """The sum of the parts: what a compaction works on."""
    free: int | None = None
    """Tokens of the window that are not taken; None where the window or the size is unknown."""
    doubtful: bool = False
    """Whether the size is over the window: then one of the two numbers is wrong."""


def report(
    shown: View,
    sizes: Mapping[str, int],
    *,
    window: int | None = None,
    source: str = "unknown",
    count: Count | None = None,
    prompt: SystemPrompt | None = None,
    tools: Sequence[ToolSchema] = (),
) -> Report:
    """The report on a view whose entries have these stored sizes, by id, and on what is sent with it.

    `count` counts texts in place of the estimator, which still sizes media.
    """
    pieces = fixed(prompt, tools, count=count)
    fixed_tokens = sum(piece.tokens for piece in pieces)
    chars: dict[str, list[int]] = {name: [0, 0, 0] for name in PARTS}
    for name, tokens, length in _counted(shown, count or estimate.text):
        row = chars[name]
        row[0], row[1], row[2] = row[0] + tokens, row[1] + 1, row[2] + length
    parts = tuple(Part(name, tokens, items, length) for name, (tokens, items, length) in chars.items() if items)
    said = [entry for entry in shown.entries if isinstance(entry.body, Said)]
    largest = sorted(said, key=lambda entry: sizes.get(entry.id, 0), reverse=True)[:LARGEST]
    history_tokens = sum(part.tokens for part in parts)
    size = measure(shown, sizes, fixed=fixed_tokens)
    return Report(
        size=size,
        estimated=fixed_tokens + history_tokens,
        parts=parts,
        largest=tuple(Large(entry.id, what(entry), sizes.get(entry.id, 0)) for entry in largest),
        messages=len(said),
        window=window,
        window_source=source,
        thresholds=thresholds(window) if window else None,
        fixed=pieces,
        fixed_tokens=fixed_tokens,
        history_tokens=history_tokens,
        free=max(window - size.tokens, 0) if window and size.tokens is not None else None,
        doubtful=bool(window and size.tokens is not None and size.tokens > window),
    )


def what(entry: Entry) -> str:
    """What an entry is, in two or three words."""
    message: Message | None = entry.body.message if isinstance(entry.body, Said) else None
    match message:
        case User():
            return "harness message" if message.synthetic else "user message"
        case Assistant():
            calls = [block.name for block in message.blocks if isinstance(block, Call)]
            return f"assistant calls {', '.join(calls[:3])}" if calls else "assistant message"
        case ToolResult():
            return f"{'error' if message.error else 'result'} of {message.tool}"
        case Shell():
            return "shell command"
    return type(entry.body).__name__.lower()


def _counted(shown: View, count: Count) -> Iterator[tuple[str, int, int]]:
    """Each piece of content: the name of its part, its tokens, its characters."""
    if shown.brief:
        yield "brief", count(brief_text(shown.brief.summary)), len(shown.brief.summary)
    for entry in shown.entries:
        if isinstance(entry.body, Said):
            yield from _of_message(entry.body.message, count)
        elif isinstance(entry.body, Pin) and entry.body.on:
            yield "pinned", count(entry.body.text), len(entry.body.text)


def _of_message(message: Message, count: Count) -> Iterator[tuple[str, int, int]]:
    for block in blocks_of(message):
        text = (
            block.text if isinstance(block, Text | Thinking) else _call_text(block) if isinstance(block, Call) else None
        )
        tokens = estimate.message(Assistant((block,))) if text is None else count(text)
        yield _part_of(message, block), tokens, _chars(block)


def _call_text(call: Call) -> str:
    return f"{call.name} {call.raw or msgspec.json.encode(call.arguments).decode()}"


def _part_of(message: Message, block: Block) -> str:
    match block:
        case Thinking():
            return "reasoning"
        case Call():
            return "tool calls"
        case Media():
            return "media"
        case Foreign():
            return "other"
    match message:
        case User():
            return "harness words" if message.synthetic else "user words"
        case Assistant():
            return "assistant words"
        case ToolResult():
            return "tool results"
    return "shell"


def _chars(block: Block) -> int:
    match block:
        case Text() | Thinking():
            return len(block.text)
        case Call():
            return len(_call_text(block))
        case Media():
            return len(block.data or block.url or "")
    return 0
