"""What a request of the tests' server has in common with an earlier one, in bytes: what a prompt cache could reuse."""

import json
import re

from clew.testing.server import Seen

_MARK = re.compile(r',?"cache_control":\{[^}]*\}')
_FIELDS = ("tools", "system", "messages")
"""In the order in which providers put them in front of a model."""


def field(seen: Seen, name: str) -> str:
    """A field of a request as it was sent, without the marks that say where a cache may end; empty where none is."""
    raw = _MARK.sub("", seen.raw.decode())
    if (at := raw.find(f'"{name}":')) < 0:
        return ""
    start = at + len(name) + 3
    return raw[start : json.JSONDecoder().raw_decode(raw, start)[1]]


def prompt(seen: Seen) -> bytes:
    """The prompt of a request as one run of bytes, without what closes it, so that a longer one can go on from it."""
    return "".join(field(seen, name) for name in _FIELDS).rstrip('"}]').encode()


def shared(earlier: bytes, later: bytes) -> int:
    """Bytes that two prompts begin with alike."""
    if later.startswith(earlier):
        return len(earlier)
    low, high = 0, min(len(earlier), len(later))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if earlier[:middle] == later[:middle] else (low, middle - 1)
    return low


def extends(earlier: Seen, later: Seen) -> bool:
    """Whether a prompt goes on from another one: what the one says first, the other says too."""
    return prompt(later).startswith(prompt(earlier))
