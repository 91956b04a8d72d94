"""One root stated once instead of in front of every path, and what a written name makes legible besides itself."""

import re
from collections import Counter
from collections.abc import Iterable

from clew.compact.identifiers import kind

_JOINT = re.compile(r"/|\.|::|->|:|#")


def root(paths: Iterable[str]) -> str:
    """The directory a session works in, as its own paths show it; empty where they do not.

    It is the one that turns most absolute paths into relative ones that were written as such, or, where none was, the
    one that saves most characters and leaves a directory in front of most names.
    """
    listed = list(dict.fromkeys(path for path in paths if "/" in path))
    absolute = [path for path in listed if path.startswith("/")]
    return _voted(absolute, {path for path in listed if path[0] not in "/~."}) or _saving(absolute)


def _voted(absolute: list[str], shown: set[str]) -> str:
    votes: Counter[str] = Counter()
    for path in absolute:
        cuts = [at for at, mark in enumerate(path) if mark == "/" and at]
        votes.update(path[:at] for at in cuts[1:] if path[at + 1 :] in shown)
    best = max(votes, key=lambda at: (votes[at], -len(at), at), default="")
    return best if votes[best] > 1 else ""


def _saving(absolute: list[str]) -> str:
    below: Counter[str] = Counter()
    for path in absolute:
        parts = path.split("/")
        below.update("/".join(parts[:depth]) for depth in range(3, len(parts) - 1))
    best = max(below, key=lambda at: ((below[at] - 1) * len(at), at), default="")
    return best if below[best] > 1 else ""


def relative(path: str, base: str) -> str:
    """`path` as it is written below the line that states the root."""
    return path[len(base) + 1 :] if base and path.startswith(f"{base}/") else path


def legible(name: str) -> set[str]:
    """A name and the whole names that can be read in it: `a/b/x.py` shows `b/x.py`, `pkg.func` shows `func`."""
    names = {name}
    if "://" in name:
        return names
    if "/" in name:
        parts = name.removeprefix("/").split("/")[:24]
        names.update("/".join(parts[a:b]) for a in range(len(parts)) for b in range(a + 1, len(parts) + 1))
    elif _JOINT.search(name) and not name[0].isdigit():
        names.update(part for part in _JOINT.split(name) if part)
        names.update(name[joint.end() :] for joint in _JOINT.finditer(name))
    return names


def essential(name: str) -> list[str]:
    """What of a name is worth a place of its own: of `state.FilesTouched` the part that can be searched for.

    Two words with a slash between them are dropped: they are `and/or` more often than a branch.
    """
    what = kind(name)
    if what == "pair":
        return []
    parts = [part for part in _JOINT.split(name) if kind(part) in ("symbol", "env")] if what == "symbol" else []
    return parts or [name]
