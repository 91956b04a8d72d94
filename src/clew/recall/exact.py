"""All that an entry says, word for word as it is stored: texts as they are, arguments as JSON, media by name alone."""

from collections.abc import Iterator
from typing import Any

import msgspec

from clew.transcript import (
    Block,
    Call,
    Compaction,
    Custom,
    Entry,
    Foreign,
    Media,
    ModelChange,
    Pin,
    PruneMark,
    Reset,
    Said,
    Shell,
    Text,
    Thinking,
    ToolResult,
    Undo,
    User,
    blocks_of,
)

_JSON = msgspec.json.Encoder(order="sorted")


def exact(entry: Entry) -> str:
    """The words of an entry, its blocks one below the other. Base64 is named and not given; all else is whole.

    The words of an entry that is no message are in brackets, but for a compaction's brief, which is given as it is.
    """
    match entry.body:
        case Said(message):
            return "\n".join(_block(block) for block in blocks_of(message))
        case Compaction(summary=summary):
            return summary
        case Pin(target, text, on=on):
            return f"[pin of {target}]\n{text}" if on else f"[pin of {target} taken off]"
        case PruneMark(cuts=cuts):
            return f"[{len(cuts)} older results or images are shown shortened from here on]"
        case Reset(reason):
            return f"[the view was reset: {reason}]"
        case Undo(target):
            return f"[compaction {target} was taken back]"
        case ModelChange(model):
            return f"[the session goes on with {model}]"
        case Custom(kind, data):
            return f"[{kind}] {_json(data)}"


def speaker(entry: Entry) -> str:
    """Who an entry is from, in a word or two: `user`, `assistant`, `result of Bash`, `compaction`."""
    match entry.body:
        case Said(User(sender=sender, synthetic=synthetic)):
            who = (sender.name or sender.id) if sender else ""
            return f"user {who}" if who else "harness" if synthetic else "user"
        case Said(ToolResult(tool=tool, error=error)):
            return f"{'error' if error else 'result'} of {tool}"
        case Said(Shell()):
            return "user's shell"
        case Said():
            return "assistant"
    return type(entry.body).__name__.lower()


def media(entry: Entry) -> Iterator[Media]:
    """The images, sounds and documents of an entry."""
    if isinstance(entry.body, Said):
        yield from (block for block in blocks_of(entry.body.message) if isinstance(block, Media))


def _block(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Thinking(text, redacted=redacted):
            return f"[reasoning] {text}" if redacted is None else f"[reasoning, {len(redacted):,} characters hidden]"
        case Call(id, name, arguments, raw):
            return f"[call {id} of {name}] {_json(arguments) if raw is None else raw}"
        case Media():
            return f"[{_named(block)}]"
        case Foreign(kind, data):
            return f"[{kind}] {_json(data)}"


def _named(block: Media) -> str:
    """What a medium is, how large, and where it is: `image/png shot.png, 12,345 bytes`."""
    named = f"{block.media_type} {block.name}" if block.name else block.media_type
    if block.data is not None:
        return f"{named}, {len(block.data) * 3 // 4 - block.data[-2:].count('='):,} bytes"
    url = block.url or ""
    return f"{named}, {len(url):,} characters of data" if url.startswith("data:") else f"{named}, {url}"


def _json(value: Any) -> str:
    return _JSON.encode(value).decode()
