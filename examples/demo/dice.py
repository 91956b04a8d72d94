"""Chance that falls the same on every machine and every Python: each throw is a hash of the seed and its number."""

import hashlib
import uuid
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A row of throws that depends on its seed alone."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._thrown = 0

    def raw(self) -> bytes:
        """The next 32 bytes."""
        self._thrown += 1
        return hashlib.sha256(f"{self._seed}/{self._thrown}".encode()).digest()

    def below(self, top: int) -> int:
        """A number from 0 up to, not including, `top`."""
        return int.from_bytes(self.raw()[:8], "big") % top

    def between(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[self.below(len(choices))]

    def some(self, choices: Sequence[T], count: int) -> list[T]:
        """`count` of the choices, each at most once, in an order of their own."""
        ranked = sorted(choices, key=lambda _: self.raw())
        return ranked[:count]

    def hex(self, digits: int) -> str:
        """Hexadecimal digits."""
        return self.raw().hex()[:digits]

    def uuid(self) -> str:
        """A version 4 UUID."""
        return str(uuid.UUID(bytes=self.raw()[:16], version=4))
