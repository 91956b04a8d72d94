"""The map of a window as a picture in SVG: one file, no script, no font, readable on light and on dark."""

from collections.abc import Iterator
from html import escape

from clew.prompt.report import Report
from clew.prompt.treemap import Rectangle, Region, characters, rectangles
from clew.render import palette
from clew.render.text import columns, number, one_line, percent, short, visible
from clew.render.treemap import headline
from clew.transcript import clean

WIDTH, HEIGHT = 1280, 860
"""Of the picture, in pixels; a viewer may show it at any size."""
MARGIN, TOP, LEGEND, STRIP, GAP = 24, 72, 54, 24, 4
"""Pixels: around everything, above and below the map, a group's name, and around pieces."""
LEAST = 300
"""Pixels of area below which a piece is drawn together with others as small."""
LETTER, SMALL_LETTER = 9.0, 7.0
"""Pixels a column of text takes at most, at 14 and at 12 pixels of height, in any sans-serif font."""

STYLE = """\
text{font-family:ui-sans-serif,system-ui,"Segoe UI",Helvetica,Arial,"Noto Sans","Noto Sans CJK SC",sans-serif}
.page{fill:#fbfbfa}.ink{fill:#181a1f}.dim{fill:#5c6370}
@media (prefers-color-scheme:dark){.page{fill:#17191e}.ink{fill:#f2f2f0}.dim{fill:#a4abb8}}"""


def svg(report: Report, title: str = "") -> bytes:
    """The picture as the bytes of an SVG file. Every piece tells its name and size where a pointer rests on it."""
    drawn = rectangles(report, WIDTH - 2 * MARGIN, HEIGHT - TOP - LEGEND, strip=STRIP, gap=GAP, least=LEAST)
    name = escape(visible(title) or "Who takes how much of the window")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' role="img" aria-label="{name}">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="ink" x="{MARGIN}" y="34" font-size="20" font-weight="600">{name}</text>',
        f'<text class="dim" x="{MARGIN}" y="57" font-size="14">{escape(headline(report))}</text>',
        f'<g transform="translate({MARGIN} {TOP})">',
        *(line for region in drawn for line in _region(region)),
        "</g>",
        *_legend(report),
        "</svg>\n",
    ]  # fmt: skip
    return clean("\n".join(lines)).encode()


def _region(region: Region) -> Iterator[str]:
    box, colour = region.box, palette.mixed(palette.COLOURS[region.group], palette.INK, 0.35)
    yield _rect(box, palette.hexed(colour), 4)
    if box.height >= 3 * STRIP:
        label = f"{region.group}  {short(box.chars)} · {percent(box.chars, round(box.chars / box.share))}"
        yield _text(label, box.x + 8, box.y + 17, box.width - 12, 14, palette.hexed(palette.on(colour)), bold=True)
    for place, piece in enumerate(region.pieces):
        yield from _piece(piece, palette.shade(region.group, place))


def _piece(piece: Rectangle, colour: palette.Colour) -> Iterator[str]:
    ink, name = palette.hexed(palette.on(colour)), visible(piece.name)
    yield f"<g><title>{escape(name)}: {number(piece.chars)} characters</title>{_rect(piece, palette.hexed(colour))}"
    if piece.height >= 18:
        yield _text(name, piece.x + 6, piece.y + 15, piece.width - 8, 12, ink)
    if piece.height >= 36:
        yield _text(number(piece.chars), piece.x + 6, piece.y + 30, piece.width - 8, 12, ink)
    yield "</g>"


def _rect(box: Rectangle, fill: str, radius: int = 2) -> str:
    inset = 0.75 if min(box.width, box.height) > 3 else 0
    x, y, width, height = box.x + inset, box.y + inset, box.width - 2 * inset, box.height - 2 * inset
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" fill="{fill}"/>'


def _text(words: str, x: float, y: float, room: float, size: int, fill: str, *, bold: bool = False) -> str:
    """Words cut to the room there is; nothing where not even three columns fit."""
    fits = int(room / (LETTER if size > 12 else SMALL_LETTER))
    if fits < 3 and columns(words) > fits:
        return ""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{weight} fill="{fill}">{escape(one_line(words, fits))}</text>'
    )


def _legend(report: Report) -> Iterator[str]:
    sums = characters(report)
    total, step = sum(sums.values()), (WIDTH - 2 * MARGIN) / max(len(sums), 1)
    for nth, (group, chars) in enumerate(sums.items()):
        x, y, fill = MARGIN + nth * step, HEIGHT - LEGEND + 20, palette.hexed(palette.COLOURS[group])
        yield f'<rect x="{x:.1f}" y="{y}" width="14" height="14" rx="3" fill="{fill}"/>'
        words = f"{group} {percent(chars, total)}"
        yield f'<text class="ink" x="{x + 20:.1f}" y="{y + 12}" font-size="14">{escape(words)}</text>'
