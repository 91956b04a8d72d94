"""Time and fresh names, the two things a pure core has to be handed."""

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: no letter that reads like a digit."""

Now = Callable[[], int]
"""A clock: milliseconds since 1970-01-01 UTC."""

NewId = Callable[[], str]
"""A source of fresh entry ids."""


def now_ms() -> int:
    """Milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """A fresh id of 20 characters: ten of time in milliseconds, so that ids sort by age, and ten of chance."""
    stamp, chars = now_ms(), []
    for _ in range(10):
        chars.append(_ALPHABET[stamp & 31])
        stamp >>= 5
    return "".join(reversed(chars)) + "".join(secrets.choice(_ALPHABET) for _ in range(10))


def iso(ms: int) -> str:
    """`ms` as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_iso(text: str) -> int | None:
    """The milliseconds an ISO 8601 time stands for, or None if it is no such time."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
