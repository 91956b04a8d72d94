"""One old message shown shortened: head and tail, a line in its place, or its images as words; each a stub that helps.

The stub names the tool, its key argument, the size and the way back to the whole. Shortening twice is shortening once.
"""

import msgspec

from clew.transcript import Call, Text, ToolResult, User, text_of
from clew.transcript.characters import head, tail
from clew.transcript.message import Block, Media

HEAD, TAIL = 1_500, 1_500
"""Characters of a trimmed result that are shown."""

OVER = 4_000
"""Characters over which a result is trimmed."""

CLEARED = "[Old tool result content cleared]"
"""What a cleared result begins with."""

KEYS = (
    "file_path", "path", "command", "cmd", "url", "query", "pattern", "file", "filename", "notebook_path", "name", "id",
)  # fmt: skip
"""The argument that says best what a call was about: the first of these that is there, else the first that is words."""

LONGEST_KEY = 100
"""Characters of that argument in a stub."""


def trimmed(result: ToolResult, entry: str, call: Call | None = None) -> ToolResult:
    """A result's words cut to head and tail; media and short results stay."""
    text = text_of(result)
    if len(text) <= OVER:
        return result
    first, last = head(text, HEAD), tail(text, TAIL)
    left = len(text) - len(first) - len(last)
    note = f"[… {left:,} of {len(text):,} characters of {_about(result, call)} left out; {_back(entry)} …]"
    media = (block for block in result.blocks if not isinstance(block, Text))
    return msgspec.structs.replace(result, blocks=(Text(f"{first}\n{note}\n{last}"), *media))


def cleared(result: ToolResult, entry: str, call: Call | None = None, placeholder: str = "") -> ToolResult:
    """A result with one line in place of all of its content: the placeholder as it stands, or else a stub."""
    stub = f"{CLEARED} {_about(result, call)} gave {_size(result.blocks)}; {_back(entry)}."
    return msgspec.structs.replace(result, blocks=(Text(placeholder or stub),))


def pictured(message: User | ToolResult, entry: str) -> User | ToolResult:
    """A message with each image as a marker; its words stay as they are."""
    blocks = tuple(Text(_marker(b, entry)) if is_image(b) and isinstance(b, Media) else b for b in message.blocks)
    return msgspec.structs.replace(message, blocks=blocks)


def is_image(block: Block) -> bool:
    """Whether a block is an image."""
    return isinstance(block, Media) and block.media_type.startswith("image/")


def saved(result: ToolResult) -> int:
    """Characters that trimming a result would take off."""
    size = len(text_of(result))
    return size - HEAD - TAIL if size > OVER else 0


def _about(result: ToolResult, call: Call | None) -> str:
    """The tool and its key argument, on one line."""
    tool = result.tool or "a tool"
    given = call.arguments if call else {}
    texts = {name: value for name, value in given.items() if isinstance(value, str) and value.strip()}
    key = next((texts[name] for name in KEYS if name in texts), next(iter(texts.values()), ""))
    line = " ".join(key[: LONGEST_KEY * 4].split())
    return f"{tool} {head(line, LONGEST_KEY)}{'…' if len(line) > LONGEST_KEY else ''}" if line else tool


def _size(blocks: tuple[Block, ...]) -> str:
    """Characters of words and kinds of media: data in base64 is no text, and counts as what it is."""
    media = [f"{block.media_type}" for block in blocks if isinstance(block, Media)]
    chars = sum(len(block.text) for block in blocks if isinstance(block, Text))
    return ", ".join([f"{chars:,} characters", *media])


def _back(entry: str) -> str:
    return f"call it again to see all of it; the original is kept as entry {entry}"


def _marker(media: Media, entry: str) -> str:
    name = f" {head(' '.join(media.name.split()), LONGEST_KEY)}" if media.name else ""
    size = f", {len(media.data) * 3 // 4:,} bytes" if media.data else ""
    return f"[image{name} {media.media_type}{size}: shown earlier, kept as entry {entry}]"
