"""One old tool result shown shortened: its head and tail, or a line in its place, and always how to get it back."""

import msgspec

from clew.transcript import Text, ToolResult

HEAD, TAIL = 1_500, 1_500
"""Characters of a trimmed result that are shown."""

OVER = 4_000
"""Characters over which a result is trimmed."""

CLEARED = "[Old tool result content cleared]"
"""What stands in for a cleared result."""


def trimmed(result: ToolResult, entry: str) -> ToolResult:
    """A result's words cut to head and tail; media and short results stay. Trimming twice is trimming once."""
    blocks = tuple(Text(_cut(b.text, entry)) if isinstance(b, Text) else b for b in result.blocks)
    return msgspec.structs.replace(result, blocks=blocks)


def cleared(result: ToolResult, placeholder: str = CLEARED) -> ToolResult:
    """A result with one line in place of all of its content."""
    return msgspec.structs.replace(result, blocks=(Text(placeholder),))


def _cut(text: str, entry: str) -> str:
    if len(text) <= OVER:
        return text
    left = len(text) - HEAD - TAIL
    return (
        f"{text[:HEAD]}\n[… {left:,} characters trimmed; the whole result is kept as entry {entry} …]\n{text[-TAIL:]}"
    )


def saved(result: ToolResult) -> int:
    """Characters that trimming a result would take off."""
    return sum(max(0, len(b.text) - HEAD - TAIL) for b in result.blocks if isinstance(b, Text) and len(b.text) > OVER)
