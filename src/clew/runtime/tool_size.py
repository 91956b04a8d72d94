"""A tool's result cut to what a window bears: at line ends, never inside a character, with the way to the rest."""

from collections.abc import Callable

import msgspec

from clew.tokens import estimate
from clew.transcript import Block, Media, Text, clean
from clew.transcript.characters import border
from clew.workspace.port import Output

SHARE = 0.3
"""Of the window, what one result may take."""
CAPS: tuple[tuple[int, int], ...] = ((200_000, 16_000), (100_000, 8_000), (0, 4_000))
"""From windows of so many tokens on, so many tokens a result at most (OpenClaw has four times as many characters)."""
CHARS_PER_TOKEN = 4
"""What a token's worth of text is taken for where a result is bounded by characters."""
HEAD = 0.6
"""Of a cut result, the share of its beginning; the rest is its end, where errors and totals stand."""
AT_LINE = 0.2
"""Of a kept part, what is given up to end at a line's end."""

NOTICE_TOKENS = 60
"""What is set aside for the line that says what is not shown."""
EMPTY = "(no output)"
LARGEST_MEDIA = 5_000_000
"""Characters of base64 in one image, sound or document (Anthropic's bound of 5 MB)."""

Save = Callable[[str], str | None]
"""Keeps a text that is too long to show; where it can be read, or None where it cannot be kept."""


def limit(window: int | None) -> int:
    """The tokens a result may take in a window of so many tokens; None is a window nobody knows."""
    cap = next(most for least, most in CAPS if (window or 0) >= least)
    return max(1, min(int(window * SHARE), cap)) if window else cap


def fit(output: Output, most: int, save: Save | None = None) -> tuple[Block, ...]:
    """The blocks of a result whose words take at most `most` tokens; what fits is given as it is.

    `save` keeps what is cut and is in no file yet. Lone surrogates and NUL characters, which no provider takes, are
    replaced.
    """
    valid = msgspec.structs.replace(
        output, text=_valid(output.text), tail=_valid(output.tail), closing=_valid(output.closing)
    )
    whole = _joined(valid.text + valid.tail, valid.closing)
    if valid.between or valid.more or not _fits(whole, most):
        whole = _cut(valid, most, save)
    return (*((Text(whole or EMPTY),) if whole or not output.blocks else ()), *map(_bounded, output.blocks))


def _bounded(block: Block) -> Block:
    """A block, or a note in its place: a request with too large an image is refused whole, and so is each after it."""
    if isinstance(block, Media) and len(block.data or "") > LARGEST_MEDIA:
        size = len(block.data or "") * 3 // 4
        return Text(f"[{block.media_type} {block.name or 'attachment'}: {size:,} bytes are too many to be shown]")
    return block


def _valid(text: str) -> str:
    return clean(text).replace("\0", "\ufffd")


def _joined(*parts: str) -> str:
    """The parts one below the other; empty ones are left out."""
    *before, last = [part for part in parts if part] or [""]
    return "\n".join([*(part.removesuffix("\n") for part in before), last])


def _fits(text: str, most: int) -> bool:
    return len(text) <= most * CHARS_PER_TOKEN and estimate.text(text) <= most


def _cut(output: Output, most: int, save: Save | None) -> str:
    """The part that is shown, a line that says what is not and how to get it, and the closing line."""
    if output.path is None and not output.between and save is not None:
        output = msgspec.structs.replace(output, path=save(output.text + output.tail))
    spent = NOTICE_TOKENS + estimate.text(f"{output.path or ''}{output.closing}")
    room = max(1, most - min(spent, most // 2))
    if output.keep == "head":
        at = _prefix(output.text, room)
        return _joined(output.text[:at], _continued(output, at), output.closing)
    at = _prefix(output.text, max(1, int(room * HEAD)))
    end = output.tail or output.text[at:]
    start = _suffix(end, max(1, int(room * (1 - HEAD))))
    gone = output.between + start + (len(output.text) - at if output.tail else 0)
    return _joined(output.text[:at], _missing(output, at, gone), end[start:], output.closing)


def _continued(output: Output, at: int) -> str:
    """Where to read on, behind the beginning of a file."""
    line, column = _place(output, at)
    last = line if column > 1 else line - 1
    total = f" of {output.lines:,}" if output.lines is not None else ""
    return f"[lines {output.line:,} to {last:,}{total} are shown; for more, read {_with(output, line, column)}]"


def _missing(output: Output, at: int, gone: int) -> str:
    """What is left out between beginning and end, and where it is."""
    if output.path is None:
        return f"[{gone:,} characters are left out here and were not kept; ask for less at a time to see them]"
    return f"[{gone:,} characters are left out here; for them, read {_with(output, *_place(output, at))}]"


def _with(output: Output, line: int, column: int) -> str:
    where = f'"{output.path}" with offset {line}'
    return f"{where} and column {column}" if column > 1 else where


def _place(output: Output, at: int) -> tuple[int, int]:
    """The line and column of the file at which a position of the text stands."""
    passed = output.text.count("\n", 0, at)
    before = at if not passed else at - output.text.rindex("\n", 0, at) - 1
    return output.line + passed, before + (output.column if not passed else 1)


def _prefix(text: str, most: int) -> int:
    """Where the longest beginning ends that takes at most `most` tokens, at a line's end if one is near."""
    at = _longest(min(len(text), most * CHARS_PER_TOKEN), lambda size: estimate.text(text[:size]) <= most)
    if at < len(text) and (line := text.rfind("\n", int(at * (1 - AT_LINE)), at)) >= 0:
        return line + 1
    return border(text, at, -1) or border(text, at, +1)


def _suffix(text: str, most: int) -> int:
    """Where the longest end starts that takes at most `most` tokens, at a line's start if one is near."""
    size = _longest(
        min(len(text), most * CHARS_PER_TOKEN), lambda size: estimate.text(text[len(text) - size :]) <= most
    )
    at = len(text) - size
    if at and (line := text.find("\n", at, at + int(size * AT_LINE))) >= 0:
        return line + 1
    return border(text, at, +1)


def _longest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest size up to `most` that fits, found by halving."""
    if fits(most):
        return most
    least = 0
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fits(middle) else (least, middle)
    return least
