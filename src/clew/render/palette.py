"""The colours of the map's groups, and the shades that part one piece of a group from the next."""

from clew.prompt.treemap import GROUPS

Colour = tuple[int, int, int]
"""Red, green, blue, each from 0 to 255."""

COLOURS: dict[str, Colour] = dict(
    zip(GROUPS, ((196, 78, 92), (52, 138, 86), (214, 132, 40), (58, 116, 182), (128, 88, 170)), strict=True)
)
SHADES, STEP = 4, 0.11
"""Shades a group has, and how much lighter each is than the one before."""
WHITE: Colour = (255, 255, 255)
INK: Colour = (24, 26, 31)


def shade(group: str, place: int) -> Colour:
    """The colour of a group's piece; neighbours differ."""
    return mixed(COLOURS[group], WHITE, STEP * (place % SHADES))


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    """`one` with a share of `other` in it."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def on(colour: Colour) -> Colour:
    """What can be read on a colour: white or ink, whichever stands out more (WCAG 2 contrast)."""
    light = _luminance(colour)
    return WHITE if 1.05 / (light + 0.05) >= (light + 0.05) / (_luminance(INK) + 0.05) else INK


def hexed(colour: Colour) -> str:
    """A colour as `#rrggbb`."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _luminance(colour: Colour) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (one / 255 for one in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
