"""A window as rectangles within rectangles: groups, kinds of content, and the entries behind each kind.

The geometry of groups and kinds is `clew.prompt.treemap`'s; here the entries are laid out inside each kind.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import squarify  # type: ignore[import-untyped]

from clew.prompt.fixed import Fixed
from clew.prompt.report import Report, report, what
from clew.prompt.treemap import MEDIA_CHARS, Rectangle, rectangles
from clew.transcript import Pin, View

STRIP, GAP = 20, 3
"""Pixels: a name's height, and what is left free around pieces."""

LEAST = 140
"""Pixels of area below which a piece stands together with others."""

MOST = 120
"""Entries of a kind that get a rectangle of their own."""


class Holder(msgspec.Struct, frozen=True):
    """What one entry has of one kind of content."""

    entry: str
    what: str
    chars: int
    tokens: int


def holders(shown: View) -> dict[str, list[Holder]]:
    """The entries behind each kind of content of a view, sized as `report` sizes them."""
    found: dict[str, list[Holder]] = {}
    if shown.brief is not None and shown.boundary is not None:
        (part,) = report(View((), shown.boundary), {}).parts
        found[part.name] = [Holder(shown.boundary.id, "brief", part.chars, part.tokens)]
    for entry in shown.entries:
        for part in report(View((entry,)), {}).parts:
            chars = part.tokens * MEDIA_CHARS if part.name == "media" else part.chars
            name = entry.body.target if isinstance(entry.body, Pin) else entry.id
            found.setdefault(part.name, []).append(Holder(name, what(entry), chars, part.tokens))
    return found


def drawn(told: Report, behind: Mapping[str, Sequence[Holder]], width: float, height: float) -> list[dict[str, Any]]:
    """The groups with their pieces, and in each piece the entries it stands for, the largest first."""
    facts: dict[tuple[str, str], Fixed] = {(piece.group, piece.name): piece for piece in told.fixed}
    tokens = {("conversation", part.name): part.tokens for part in told.parts}
    tokens |= {at: piece.tokens for at, piece in facts.items()}
    regions = []
    for region in rectangles(told, width, height, strip=STRIP, gap=GAP, least=LEAST):
        pieces = []
        for piece in region.pieces:
            at = (region.group, piece.name)
            known = behind.get(piece.name, ()) if region.group == "conversation" else ()
            one = {**_box(piece), "tokens": tokens.get(at), "entries": len(known), "inner": _inner(piece, known)}
            if (fact := facts.get(at)) is not None:
                one |= {"cut": fact.cut, "rawChars": fact.raw_chars, "parameters": fact.parameters}
            pieces.append(one)
        regions.append({**_box(region.box), "name": region.group, "pieces": pieces})
    return regions


def _inner(piece: Rectangle, known: Sequence[Holder]) -> list[dict[str, Any]]:
    """The entries of a piece, those that would be too small to point at as one without an entry."""
    sized = sorted((one for one in known if one.chars > 0), key=lambda one: -one.chars)
    total = sum(one.chars for one in sized)
    strip = STRIP if piece.height >= 2.5 * STRIP and piece.width >= 2 * STRIP else 0
    width, height = piece.width, piece.height - strip
    if not total or width * height < LEAST:
        return []
    fewest = total * LEAST / (width * height)
    large = [one for one in sized[:MOST] if one.chars >= fewest]
    if (small := sized[len(large) :]) and not large:
        return []
    rest = sum(one.chars for one in small)
    boxes = [*large, *([Holder("", f"{len(small)} smaller", rest, sum(one.tokens for one in small))] if small else [])]
    boxes.sort(key=lambda one: -one.chars)
    sizes = squarify.normalize_sizes([one.chars for one in boxes], width, height)
    places = squarify.squarify(sizes, piece.x, piece.y + strip, width, height)
    return [
        {
            "name": one.what, "id": one.entry or None, "chars": one.chars, "tokens": one.tokens,
            "share": round(one.chars / total * piece.share, 6), **_place(at["x"], at["y"], at["dx"], at["dy"]),
        }
        for one, at in zip(boxes, places, strict=True)
    ]  # fmt: skip


def _box(box: Rectangle) -> dict[str, Any]:
    place = _place(box.x, box.y, box.width, box.height)
    return {"name": box.name, "chars": box.chars, "share": round(box.share, 6), **place}


def _place(x: float, y: float, width: float, height: float) -> dict[str, float]:
    return {"x": round(x, 2), "y": round(y, 2), "width": round(width, 2), "height": round(height, 2)}
