"""The map of a window as a picture in PNG, for where no SVG is shown. Characters beyond ASCII are drawn as boxes."""

import unicodedata

from clew.prompt.report import Report
from clew.prompt.treemap import Rectangle, Region, characters, rectangles
from clew.render import palette
from clew.render.letters import MISSING
from clew.render.palette import Colour
from clew.render.png import LETTER, Picture, across, down
from clew.render.text import number, percent, short, visible
from clew.render.treemap import headline

WIDTH, HEIGHT = 1280, 860
"""Of the picture, in pixels."""
MARGIN, TOP, LEGEND, STRIP, GAP = 24, 84, 48, 24, 4
"""Pixels: around everything, above and below the map, a group's name, and around pieces."""
LEAST = 300
"""Pixels of area below which a piece is drawn together with others as small."""
PAPER: Colour = (251, 251, 250)
DIM: Colour = (92, 99, 112)


def png(report: Report, title: str = "") -> bytes:
    """The picture as the bytes of a PNG file."""
    picture = Picture(WIDTH, HEIGHT, PAPER)
    room = WIDTH - 2 * MARGIN
    _label(picture, visible(title) or "Who takes how much of the window", MARGIN, 20, room, palette.INK, largest=3)
    _label(picture, headline(report), MARGIN, 56, room, DIM)
    regions = rectangles(report, room, HEIGHT - TOP - LEGEND, strip=STRIP, gap=GAP, least=LEAST)
    for region in regions:
        _region(picture, region)
    _legend(picture, report)
    return picture.data()


def _region(picture: Picture, region: Region) -> None:
    box, colour = region.box, palette.mixed(palette.COLOURS[region.group], palette.INK, 0.35)
    _box(picture, box, colour)
    if box.height >= 3 * STRIP:
        words = f"{region.group}  {short(box.chars)} · {percent(box.chars, round(box.chars / box.share))}"
        _label(picture, words, MARGIN + box.x + 8, TOP + box.y + 5, box.width - 14, palette.on(colour))
    for place, piece in enumerate(region.pieces):
        _piece(picture, piece, palette.shade(region.group, place))


def _piece(picture: Picture, piece: Rectangle, colour: Colour) -> None:
    _box(picture, piece, colour)
    left, top, room = MARGIN + piece.x + 6, TOP + piece.y + 6, piece.width - 10
    ink = palette.on(colour)
    taken = _label(picture, visible(piece.name), left, top, room, ink, height=piece.height - 8)
    if taken:
        below, left_over = top + taken + 4, piece.height - 12 - taken
        _label(picture, number(piece.chars), left, below, room, ink, height=left_over, largest=taken // down())


def _box(picture: Picture, box: Rectangle, colour: Colour) -> None:
    inset = 0.75 if min(box.width, box.height) > 3 else 0
    left, top = MARGIN + box.x, TOP + box.y
    picture.fill(left + inset, top + inset, left + box.width - inset, top + box.height - inset, colour)


def _label(
    picture: Picture,
    words: str,
    x: float,
    y: float,
    room: float,
    ink: Colour,
    *,
    height: float = HEIGHT,
    largest: int = 2,
) -> int:
    """Write words as large as they fit whole, at the smallest size cut; the pixels they take downwards, 0 for none."""
    words = _drawable(words)
    fitting = [size for size in range(largest, 0, -1) if across(words, size) <= room and down(size) <= height]
    scale = fitting[0] if fitting else 1
    fits = int((room + 1) // LETTER)
    if not fitting and (fits < 3 or down() > height):
        return 0
    picture.write(words if fitting else f"{words[: fits - 1]}…", x, y, ink, scale=scale)
    return down(scale)


def _drawable(words: str) -> str:
    """Words in the letters there are: accents are taken off, and the rest becomes boxes."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", words) if not unicodedata.combining(char))
    return "".join(char if char.isascii() or char in "…·" else MISSING for char in plain.replace("...", "…"))


def _legend(picture: Picture, report: Report) -> None:
    sums = characters(report)
    total, x, y = sum(sums.values()), float(MARGIN), HEIGHT - LEGEND + 18
    for group, chars in sums.items():
        words = f"{group} {percent(chars, total)}"
        picture.fill(x, y, x + 14, y + 14, palette.COLOURS[group])
        _label(picture, words, x + 20, y, WIDTH - MARGIN - x, palette.INK)
        x += 20 + across(words, 2) + MARGIN
