"""What a text is thought to cost in tokens, by the classes of its characters. Needs no vocabulary and no network.

A tokenizer splits a text where the class of its characters changes and then spells each piece with what its vocabulary
has. So the characters of each class, and the places where one class follows another, tell how many tokens there are:
a sum of counts times weights. `bytes.translate`, `bytes.count` and large integers do the counting at the speed of C.
"""

import json
from collections.abc import Iterable
from operator import mul
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

LONG = 32_768
"""Characters beyond which a text is estimated from samples of it."""
WINDOWS, WINDOW_CHARS = 32, 512
"""How many samples, evenly spaced, and how long each."""
CHARS_PER_TOKEN_AT_MOST = 16
"""Long rows of one character compress to about this; no estimate is lower."""


def _table(classes: dict[int, Iterable[int]]) -> bytes:
    """A table for `bytes.translate` from a byte to its class; bytes of no class become 0."""
    table = bytearray(256)
    for name, members in classes.items():
        for byte in members:
            table[byte] = name
    return bytes(table)


CONTINUATION = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""
SMALL, CAPITAL, DIGIT, SPACE, MARK = 1, 2, 4, 8, 16
"""The shape of a character, as one bit: a small letter or one of another alphabet, a capital, a digit, a space or tab,
anything else below 0x80 or a symbol. Han, kana, Hangul and emoji have none: they neither open nor close a word."""
SHAPES = _table({
    MARK: [*range(0x80), *range(0xC0, 0xC3), 0xE2], SMALL: [*b"abcdefghijklmnopqrstuvwxyz", *range(0xC3, 0xE2)],
    CAPITAL: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", DIGIT: b"0123456789", SPACE: b" \t",
})  # fmt: skip
HEAVY = b"\n\r)'<|!?$]+~"
"""Characters that rarely share a token with the ones before them."""
NOT_HEAVY = bytes(set(range(256)) - set(HEAVY))
SCRIPTS = _table({
    ord("e"): range(0xC3, 0xCE), ord("k"): range(0xCE, 0xD0), ord("R"): range(0xD0, 0xD4), ord("W"): range(0xD4, 0xD8),
    ord("A"): range(0xD8, 0xE0), ord("I"): range(0xE0, 0xE2), ord("S"): range(0xE2, 0xE3), ord("J"): range(0xE3, 0xE4),
    ord("H"): range(0xE4, 0xEA), ord("G"): range(0xEA, 0xEE), ord("F"): range(0xEE, 0xF0), ord("Z"): range(0xF0, 0xF5),
})  # fmt: skip
"""The script by the first byte: accented Latin, Greek, Cyrillic, Hebrew, Arabic, Indic and Thai, symbols, kana, Han,
Hangul, full-width forms and joiners, and what lies beyond the basic plane (emoji)."""
NOT_SCRIPT = bytes(range(0xC0))

CHARACTER, HEAVY_CHARACTER = 0.05, 0.5
RUNS: dict[bytes, float] = {bytes([DIGIT] * 3): -0.37, bytes([SMALL] * 16): 7.17, bytes([CAPITAL] * 8): 4.7}
SINGLES: dict[int, float] = {DIGIT: 1.84, SPACE: -0.81, CAPITAL: 1.51}
PAIRS: dict[tuple[int, int], float] = {
    (MARK, SMALL): 1.25, (MARK, SPACE): 0.84, (SPACE, SMALL): 1.51, (SPACE, MARK): 1.08, (SPACE, DIGIT): 1.41,
    (SPACE, SPACE): 0.77, (CAPITAL, CAPITAL): -1.61, (DIGIT, DIGIT): -1.64, (CAPITAL, DIGIT): -0.29,
}  # fmt: skip
SCRIPT_WEIGHTS: dict[bytes, float] = {
    b"e": 0.83, b"k": 0.28, b"R": 0.09, b"W": 0.25, b"A": 0.13, b"I": 0.16, b"S": 0.63, b"SSSS": -2.65, b"J": 0.73,
    b"H": 0.67, b"G": 0.99, b"F": 2.11, b"Z": 2.27,
}  # fmt: skip
"""Tokens for each character, each heavy one, each run of a shape (three digits; more letters than a word has: genes,
keys), each character of a shape, each place where one shape follows another, each character of a script. Fitted by
least squares on relative errors against o200k, half of every corpus held out: `python -m bench.sizes --fit --more DIR`,
where DIR held translated documentation, news, reviews, laws and interface texts in 15 languages, web pages, headers."""


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
    """The counts that are weighed, in the order of `weights`, for at most LONG characters: what the fit is given."""
    counted = _count(words)
    return counted + [0] * (len(_WEIGHTS) - len(counted))


def weights() -> list[float]:
    """The tokens that each count of `features` stands for."""
    first = [CHARACTER, HEAVY_CHARACTER, *RUNS.values()]
    return [*first, *SINGLES.values(), *PAIRS.values(), *SCRIPT_WEIGHTS.values()]


_WHERE = {shape: int.from_bytes(bytes([shape]) * LONG, "little") for shape in (SMALL, CAPITAL, DIGIT, SPACE, MARK)}
_SINGLES = [_WHERE[shape] for shape in SINGLES]
_PAIRS = [(8 + then.bit_length() - first.bit_length(), _WHERE[first]) for first, then in PAIRS]
"""For each pair, how far the next character's bit is shifted to lie on the first one's, and where those bits are.

A text is one large integer, a byte a character: one shift, two ands and a count of bits find a pair in all of it."""
_SHIFTS = {shift for shift, _ in _PAIRS}
_WEIGHTS = weights()


def _weigh(words: str) -> float:
    return max(float(sum(map(mul, _count(words), _WEIGHTS))), len(words) / CHARS_PER_TOKEN_AT_MOST)


def _count(words: str) -> list[int]:
    """The counts of a text; those of scripts are left out where it has none."""
    raw = words.encode("utf-8", "replace")
    plain = len(raw) == len(words)
    shapes = raw.translate(SHAPES) if plain else raw.translate(SHAPES, CONTINUATION)
    bits = int.from_bytes(shapes, "little")
    meets = {shift: bits >> shift & bits for shift in _SHIFTS}
    counted = [len(words), len(raw.translate(None, NOT_HEAVY))]
    counted += [shapes.count(run) for run in RUNS]
    counted += [(bits & mask).bit_count() for mask in _SINGLES]
    counted += [(meets[shift] & mask).bit_count() for shift, mask in _PAIRS]
    if not plain:
        counted += map(raw.translate(SCRIPTS, NOT_SCRIPT).count, SCRIPT_WEIGHTS)
    return counted


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
