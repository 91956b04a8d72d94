"""What a text is thought to cost in tokens, by the classes of its characters. Needs no vocabulary and no network.

A tokenizer splits a text where the class of its characters changes and then spells each piece with what its vocabulary
has. So the number of characters of each class, and of each kind of change between classes, tell the number of tokens:
a sum of counts times weights. `bytes.translate` and `bytes.count` do the counting at the speed of C.
"""

import json
from collections.abc import Iterable
from typing import Any

from clew.transcript import (
    Block,
    Call,
    Compaction,
    Entry,
    Foreign,
    Media,
    Message,
    Pin,
    Said,
    Text,
    Thinking,
    User,
    blocks_of,
    brief_text,
)
from clew.transcript.view import pin_text

MESSAGE_TOKENS = 4
"""The role and the marks around a message, as chat templates write them."""
CALL_TOKENS = 8
"""The marks and the id around a tool call; its name and arguments are counted."""
IMAGE_TOKENS = 1_600
"""One image. Providers bill by its sides, not its bytes; this is the most that Anthropic bills for one."""
DOCUMENT_TOKENS = 3_000
"""One sound or document, whose real cost depends on its minutes or pages: about two pages."""
HIDDEN_CHARS_PER_TOKEN = 16 / 3
"""Text inside base64 that a provider unpacks: four characters stand for three bytes, and four bytes make a token."""

LONG = 65_536
"""Characters beyond which a text is estimated from samples of it."""
WINDOWS, WINDOW_CHARS = 32, 1_024
"""How many samples, evenly spaced, and how long each."""
CHARS_PER_TOKEN_AT_MOST = 16
"""Long rows of one character compress to about this; no estimate is lower."""


def _table(classes: dict[str, Iterable[int]]) -> bytes:
    table = bytearray(b"p" * 256)
    for name, members in classes.items():
        for byte in members:
            table[byte] = ord(name)
    return bytes(table)


CONTINUATION = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""
SHAPES = _table({
    "a": [*b"abcdefghijklmnopqrstuvwxyz", *range(0xC3, 0xE2)], "U": range(0x41, 0x5B), "d": range(0x30, 0x3A),
    "s": b" \t", "x": range(0xE3, 0xF5),
})  # fmt: skip
"""The shape of a character by the first byte of its UTF-8: small letter (or a letter of another alphabet), capital,
digit, space, character of a script written without spaces (or Hangul, or emoji), and `p`, punctuation."""
HEAVY = b"\n\r)'<|!?$]+~"
"""Characters that rarely share a token with the ones before them."""
NOT_HEAVY = bytes(set(range(256)) - set(HEAVY))
SCRIPTS = _table({
    "e": range(0xC3, 0xCE), "k": range(0xCE, 0xD0), "R": range(0xD0, 0xD4), "W": range(0xD4, 0xD8),
    "A": range(0xD8, 0xE0), "I": range(0xE0, 0xE2), "S": range(0xE2, 0xE3), "J": range(0xE3, 0xE4),
    "H": range(0xE4, 0xEA), "G": range(0xEA, 0xEE), "F": range(0xEE, 0xF0), "Z": range(0xF0, 0xF5),
})  # fmt: skip
"""The script: accented Latin, Greek, Cyrillic, Hebrew, Arabic, Indic and Thai, symbols, kana, Han, Hangul, full-width
forms, and what lies beyond the basic plane (emoji)."""
NOT_SCRIPT = bytes(range(0xC0))

CHARACTER, HEAVY_CHARACTER = 0.2, 0.46
SHAPE_WEIGHTS: dict[bytes, float] = {
    b"d": 1.7, b"p": 0.03, b"dd": -2.0, b"ddd": -1.75, b"pppp": -0.7, b"sssssss": -1.4, b"aaaaa": -0.5, b"aU": 1.0,
    b"pa": 0.57, b"ps": 0.62, b"as": 0.1,
}  # fmt: skip
SCRIPT_WEIGHTS: dict[bytes, float] = {
    b"e": 0.97, b"k": 0.27, b"R": 0.12, b"W": 0.4, b"A": 0.21, b"I": 0.22, b"S": 0.55, b"SSSS": -1.3, b"J": 0.6,
    b"H": 0.49, b"G": 0.4, b"F": 0.74, b"Z": 3.2,
}  # fmt: skip
"""Tokens for each character, for each heavy one, for each place where a shape occurs (counted without overlap), for
each character of a script. Fitted by least squares on relative errors against o200k, half of the corpora held out:
`python -m bench.sizes --fit` prints them anew."""


def text(words: str) -> int:
    """The estimated tokens of a text; 0 for the empty one alone. A lone surrogate counts as a character."""
    if not words:
        return 0
    if len(words) > LONG:
        return max(1, round(_weigh(_sample(words)) * len(words) / (WINDOWS * WINDOW_CHARS)))
    return max(1, round(_weigh(words)))


def message(said: Message) -> int:
    """The estimated tokens of a message as it is sent: words, reasoning, calls, media, and what stands around them."""
    sender = text(said.sender.name or said.sender.id) if isinstance(said, User) and said.sender else 0
    return MESSAGE_TOKENS + sender + sum(map(_block, blocks_of(said)))


def entry(one: Entry) -> int:
    """The estimated tokens an entry takes where a view shows it; 0 for the kinds that are never shown."""
    match one.body:
        case Said(message=said):
            return message(said)
        case Compaction(summary=summary):
            return MESSAGE_TOKENS + text(brief_text(summary))
        case Pin() as pin if pin.on:
            return MESSAGE_TOKENS + text(pin_text(pin))
    return 0


def features(words: str) -> list[int]:
    """The counts that are weighed, in the order of `weights`: what the weights are fitted to."""
    raw, shapes, scripts = _classes(words)
    heavy = len(raw.translate(None, NOT_HEAVY))
    return [len(words), heavy, *map(shapes.count, SHAPE_WEIGHTS), *map(scripts.count, SCRIPT_WEIGHTS)]


def weights() -> list[float]:
    """The tokens that each count of `features` stands for."""
    return [CHARACTER, HEAVY_CHARACTER, *SHAPE_WEIGHTS.values(), *SCRIPT_WEIGHTS.values()]


def _weigh(words: str) -> float:
    raw, shapes, scripts = _classes(words)
    tokens = CHARACTER * len(words) + HEAVY_CHARACTER * len(raw.translate(None, NOT_HEAVY))
    for shape, weight in SHAPE_WEIGHTS.items():
        tokens += weight * shapes.count(shape)
    if scripts:
        for script, weight in SCRIPT_WEIGHTS.items():
            tokens += weight * scripts.count(script)
    return max(tokens, len(words) / CHARS_PER_TOKEN_AT_MOST)


def _classes(words: str) -> tuple[bytes, bytes, bytes]:
    """The UTF-8 of a text, the shapes of its characters, and the scripts of those beyond ASCII."""
    raw = words.encode("utf-8", "replace")
    if len(raw) == len(words):
        return raw, raw.translate(SHAPES), b""
    return raw, raw.translate(SHAPES, CONTINUATION), raw.translate(SCRIPTS, NOT_SCRIPT)


def _sample(words: str) -> str:
    """Evenly spaced windows of a long text, the first at its start and the last at its end."""
    step = (len(words) - WINDOW_CHARS) / (WINDOWS - 1)
    return "".join([words[(at := round(index * step)) : at + WINDOW_CHARS] for index in range(WINDOWS)])


def _block(block: Block) -> int:
    match block:
        case Text(text=words):
            return text(words)
        case Thinking(text=words, redacted=redacted):
            return text(words) + round(len(redacted or "") / HIDDEN_CHARS_PER_TOKEN)
        case Call(name=name, arguments=arguments, raw=raw):
            return CALL_TOKENS + text(name) + text(_json(arguments) if raw is None else raw)
        case Media():
            return _media(block)
        case Foreign(kind=kind, data=data):
            return text(kind) + text(_json(data))


def _media(media: Media) -> int:
    if media.media_type.startswith("image/"):
        return IMAGE_TOKENS
    if media.media_type.startswith("text/") and media.data:
        return round(len(media.data) / HIDDEN_CHARS_PER_TOKEN)
    return DOCUMENT_TOKENS


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
