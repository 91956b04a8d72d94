"""Old messages as text for a summariser: labelled by speaker, long results cut, media as markers, tags made inert."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from clew.transcript import (
    Assistant,
    Block,
    Call,
    Entry,
    Foreign,
    Media,
    Message,
    Said,
    Shell,
    Text,
    ToolResult,
    User,
    blocks_of,
    shell_text,
)
from clew.transcript.characters import head, tail

RESULT_CHARS = 2_000
"""Characters of a tool result a summariser is shown (OpenClaw's bound)."""

TAIL_CHARS = 600
"""Of these, characters of its end where the end tells of an error."""

ARGUMENT_CHARS = 800
"""Characters of one argument of a call: a written file's content is in the file."""

IMAGE = "[image data omitted from summary input]"
OTHER_MEDIA = "[non-text data omitted from summary input]"
MORE_MEDIA = "[further media omitted from summary input]"
MAX_MARKED = 8
"""Messages that carry media markers; the rest share one line."""

DIAGNOSTIC = re.compile(
    r"\b(error|exception|failed|fatal|traceback|panic|stack trace|errno|exit code)\b|错误|失败|异常|エラー|오류",
    re.IGNORECASE,
)
"""Words that make the end of a long result worth showing."""

_TAG = re.compile(r"<(?=/?\s*(?:conversation|previous-summary|draft|findings|focus|summary|part)\b)", re.IGNORECASE)
_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=\s]{64,}")
_BLOB = re.compile(r"[A-Za-z0-9+/]{400,}={0,2}")
"""A run this long without a blank is data, not words."""


class Piece(msgspec.Struct, frozen=True):
    """One entry as a summariser reads it."""

    id: str
    text: str
    tokens: int


def inert(text: str) -> str:
    """`text` in which no tag of the summariser's prompt can be opened or closed."""
    return _TAG.sub("&lt;", text)


def pieces(entries: Iterable[Entry], count: Callable[[str], int]) -> list[Piece]:
    """The entries that say something, as text with its size."""
    found, marked = [], 0
    for entry in entries:
        if not isinstance(entry.body, Said):
            continue
        message = entry.body.message
        markers = _markers(message)
        marked += bool(markers)
        if marked > MAX_MARKED:
            markers = [MORE_MEDIA] if markers and marked == MAX_MARKED + 1 else []
        if text := inert("\n".join([*_lines(message), *markers])):
            found.append(Piece(entry.id, text, count(text)))
    return found


def _markers(message: Message) -> list[str]:
    media = [block for block in blocks_of(message) if isinstance(block, Media | Foreign)]
    kinds = {IMAGE if isinstance(b, Media) and b.media_type.startswith("image") else OTHER_MEDIA for b in media}
    return sorted(kinds)


def _lines(message: Message) -> Iterator[str]:
    """A message as labelled lines."""
    match message:
        case User():
            yield from _labelled(_speaker(message), _words(message.blocks))
        case Assistant():
            yield from _labelled("[Assistant]", _words(message.blocks))
            for call in (block for block in message.blocks if isinstance(block, Call)):
                yield f"[Assistant calls {call.name}] {_arguments(call)}"
        case ToolResult():
            label = f"[{'Error' if message.error else 'Result'} of {message.tool}]"
            yield from _labelled(label, clip_result(_without_blobs(_words(message.blocks))))
        case Shell():
            yield from _labelled("[User's shell]", clip_result(_without_blobs(shell_text(message))))


def _labelled(label: str, words: str) -> Iterator[str]:
    if words.strip():
        yield f"{label} {words}"


def _speaker(message: User) -> str:
    if message.synthetic:
        return "[Harness]"
    return (
        f"[User {json.dumps(msgspec.to_builtins(message.sender), ensure_ascii=False)}]" if message.sender else "[User]"
    )


def _words(blocks: Sequence[Block]) -> str:
    return _DATA_URL.sub(IMAGE, "\n".join(block.text for block in blocks if isinstance(block, Text)))


def _without_blobs(text: str) -> str:
    return _BLOB.sub(lambda blob: f"{blob.group()[:40]}…[{len(blob.group())} characters of data]", text)


def _arguments(call: Call) -> str:
    if call.raw is not None:
        return clip(call.raw, ARGUMENT_CHARS)
    return ", ".join(f"{name}={_argument(value)}" for name, value in call.arguments.items())


def _argument(value: object) -> str:
    return clip(_without_blobs(json.dumps(value, ensure_ascii=False, default=str)), ARGUMENT_CHARS)


def clip(text: str, limit: int) -> str:
    """At most about `limit` characters of `text`: its head and tail, and between them how much is gone."""
    if len(text) <= limit:
        return text
    first = head(text, limit * 2 // 3)
    last = tail(text, limit - limit * 2 // 3)
    return f"{first} …[{len(text) - len(first) - len(last)} characters left out]… {last}"


def clip_result(text: str, limit: int = RESULT_CHARS) -> str:
    """A tool result to size: its head, and its end where that tells of an error."""
    if len(text) <= limit:
        return text
    last = tail(text, TAIL_CHARS) if DIAGNOSTIC.search(text, max(0, len(text) - limit)) else ""
    first = head(text, limit - len(last))
    ending = f"\n{last}" if last else ""
    return f"{first}\n[{len(text) - len(first) - len(last)} characters left out]{ending}"


def chunks(found: Sequence[Piece], limit: int) -> list[list[Piece]]:
    """Pieces packed in order into requests of at most `limit` tokens; one that is larger alone is cut to fit."""
    packed: list[list[Piece]] = []
    used = limit + 1
    for piece in found:
        if piece.tokens > limit:
            chars = max(200, len(piece.text) * limit // piece.tokens)
            piece = Piece(piece.id, clip(piece.text, chars), limit)
        if used + piece.tokens > limit:
            packed.append([])
            used = 0
        packed[-1].append(piece)
        used += piece.tokens
    return packed
