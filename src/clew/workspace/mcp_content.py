"""What a server says in the Model Context Protocol, in Clew's words: names a provider takes, text, blocks."""

import hashlib
import json
import re
from typing import Any

from clew.transcript import Block, Media
from clew.workspace.port import Output

LONGEST_NAME = 64
"""Characters of a tool's name, the providers' bound."""
_INVALID = re.compile(r"[^A-Za-z0-9_-]")


def tool_name(server: str, tool: str) -> str:
    """`<server>__<tool>`, with `_` for what no provider takes; one that is too long ends in a hash of it."""
    name = _INVALID.sub("_", f"{server}__{tool}")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def output_of(result: Any) -> Output:
    """A tool's result: its texts one below the other, then its media."""
    words: list[str] = []
    blocks: list[Block] = []
    for part in result.content:
        text, block = _part(part)
        words += [text] if text else []
        blocks += [block] if block else []
    if not words and not blocks and result.structured_content is not None:
        words.append(json.dumps(result.structured_content, ensure_ascii=False))
    return Output("\n".join(words), tuple(blocks), error=bool(result.is_error))


def _part(part: Any) -> tuple[str, Block | None]:
    match part.type:
        case "text":
            return part.text, None
        case "image" | "audio":
            return "", Media(part.mime_type, part.data)
        case "resource_link":
            return f"[{part.name}: {part.uri}]", None
        case "resource":
            return _resource(part.resource)
    return f"[{part.type} is not shown]", None


def _resource(held: Any) -> tuple[str, Block | None]:
    if (text := getattr(held, "text", None)) is not None:
        return f"[{held.uri}]\n{text}", None
    return "", Media(held.mime_type or "application/octet-stream", held.blob, name=str(held.uri))
