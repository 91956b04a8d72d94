"""A report as rectangles whose areas are the characters each piece takes: geometry alone, drawn elsewhere."""

from collections.abc import Iterable, Iterator

import msgspec
import squarify  # type: ignore[import-untyped]

from clew.prompt.report import Report

GROUPS = ("conversation", "workspace files", "system prompt", "tools", "skills")
"""In the order of their colours and of the legend."""

MEDIA_CHARS = 4
"""Characters a token of an image stands for: its base64 would fill the map and says nothing of its cost."""
MOST = 40
"""Pieces of a group that get a rectangle of their own."""


class Rectangle(msgspec.Struct, frozen=True):
    """One piece: where it is, from the upper left corner, in the units of the width and height that were asked for."""

    name: str
    chars: int
    share: float
    """Of all characters, from 0 to 1."""
    x: float
    y: float
    width: float
    height: float


class Region(msgspec.Struct, frozen=True):
    """One group with its pieces inside it, the largest first."""

    group: str
    box: Rectangle
    pieces: tuple[Rectangle, ...]

    @property
    def place(self) -> int:
        """The place of the group in GROUPS: which colour it has."""
        return GROUPS.index(self.group)


def rectangles(
    report: Report, width: float, height: float, *, strip: float = 0, gap: float = 0, least: float = 1
) -> tuple[Region, ...]:
    """The groups with something in them, the largest first; nothing for an empty report.

    `strip` is left free at the top of a group for its name where the group is at least three times as high; `gap` is
    left free around its pieces. Pieces whose areas would be below `least` stand together as one.
    """
    sizes = characters(report)
    total = sum(sizes.values())
    fewest = total * least / (width * height)
    groups = {group: _merged(pieces, fewest) for group, pieces in _pieces(report).items()}
    regions = []
    for box in _laid_out(sizes.items(), total, 0, 0, width, height):
        side, end = min(gap, box.width / 4), min(gap, box.height / 4)
        top = strip if strip and box.height >= 3 * strip else end
        inner = (box.x + side, box.y + top, box.width - 2 * side, box.height - top - end)
        regions.append(Region(box.name, box, tuple(_laid_out(groups[box.name], total, *inner))))
    return tuple(regions)


def characters(report: Report) -> dict[str, int]:
    """The characters of each group, in the order of GROUPS; groups with none are left out."""
    sums = {group: sum(chars for _, chars in pieces) for group, pieces in _pieces(report).items()}
    return {group: chars for group, chars in sums.items() if chars}


def _pieces(report: Report) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {group: [] for group in GROUPS}
    for part in report.parts:
        found["conversation"].append((part.name, part.tokens * MEDIA_CHARS if part.name == "media" else part.chars))
    for piece in report.fixed:
        found[piece.group].append((piece.name, piece.chars))
    return found


def _merged(pieces: Iterable[tuple[str, int]], fewest: float) -> list[tuple[str, int]]:
    """The pieces by size, those of fewer characters than `fewest` as one."""
    ordered = sorted(((name, chars) for name, chars in pieces if chars > 0), key=lambda piece: (-piece[1], piece[0]))
    large = [piece for piece in ordered[:MOST] if piece[1] >= fewest]
    small = ordered[len(large) :]
    if len(small) < 2:
        return ordered
    name = f"{len(small)} smaller" if large else f"all {len(small)}"
    return sorted([*large, (name, sum(chars for _, chars in small))], key=lambda piece: -piece[1])


def _laid_out(
    pieces: Iterable[tuple[str, int]], total: int, x: float, y: float, width: float, height: float
) -> Iterator[Rectangle]:
    ordered = sorted(pieces, key=lambda piece: -piece[1])
    sizes = squarify.normalize_sizes([chars for _, chars in ordered], width, height) if ordered else []
    for (name, chars), place in zip(ordered, squarify.squarify(sizes, x, y, width, height), strict=True):
        yield Rectangle(name, chars, chars / total, place["x"], place["y"], place["dx"], place["dy"])
