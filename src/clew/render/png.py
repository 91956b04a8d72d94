"""A picture drawn with rectangles and letters, as the bytes of a PNG file. Needs nothing but the standard library."""

import struct
import zlib

from clew.render.letters import BASE, HEIGHT, WIDTH, glyph
from clew.render.palette import Colour

LETTER = WIDTH + 1
"""Dots from one letter to the next."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_INDEXED = 3
_MOST_COLOURS = 256


class Picture:
    """A picture of so many pixels, at first all in one colour. It holds at most 256 colours."""

    def __init__(self, width: int, height: int, ground: Colour) -> None:
        self.width, self.height = width, height
        self._colours: dict[Colour, int] = {ground: 0}
        self._rows = [bytearray(width) for _ in range(height)]

    def fill(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """Fill a rectangle; edges are rounded to whole pixels, and what is outside the picture is left out."""
        start, end = (min(max(round(edge), 0), self.width) for edge in (left, right))
        stroke = bytes([self._index(colour)]) * max(end - start, 0)
        for y in range(max(round(top), 0), min(round(bottom), self.height)):
            self._rows[y][start : start + len(stroke)] = stroke

    def write(self, words: str, x: float, y: float, colour: Colour, *, scale: int = 1) -> None:
        """Write words whose first letter has its upper left corner at x and y, a dot being `scale` pixels."""
        for nth, char in enumerate(words):
            left = round(x) + nth * LETTER * scale
            for row, dots in enumerate(glyph(char)):
                for column, dot in enumerate(dots):
                    if dot == "#":
                        at, down = left + column * scale, round(y) + row * scale
                        self.fill(at, down, at + scale, down + scale, colour)

    def data(self) -> bytes:
        """The PNG file."""
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, _INDEXED, 0, 0, 0)
        colours = b"".join(map(bytes, self._colours))
        pixels = zlib.compress(b"".join(b"\0" + row for row in self._rows), 9)
        chunks = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", pixels), (b"IEND", b""))
        return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)

    def _index(self, colour: Colour) -> int:
        if colour not in self._colours and len(self._colours) == _MOST_COLOURS:
            raise ValueError(f"The picture has {_MOST_COLOURS} colours already; draw with those.")
        return self._colours.setdefault(colour, len(self._colours))


def across(words: str, scale: int = 1) -> int:
    """The pixels that words take from left to right."""
    return max(len(words) * LETTER - 1, 0) * scale


def down(scale: int = 1, *, below: bool = True) -> int:
    """The pixels that a line of words takes, with or without what hangs `below` the line letters stand on."""
    return (HEIGHT if below else BASE) * scale


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
