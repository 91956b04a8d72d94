"""Which tools' results may be pruned: names with `*`, and `deny` wins."""

import re
from collections.abc import Iterable

from clew.prune.settings import PrunableTools


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a tool's name is one of the patterns, in any case; `*` stands for any characters."""
    tool = name.strip().lower()
    parts = (pattern.strip().lower().split("*") for pattern in patterns if pattern.strip())
    return any(re.fullmatch(".*".join(map(re.escape, part)), tool, re.DOTALL) for part in parts)


def prunable(name: str, tools: PrunableTools) -> bool:
    """Whether a tool's results may be pruned. No `allow` means all."""
    allowed = [pattern for pattern in tools.allow if pattern.strip()]
    return not matches(name, tools.deny) and (not allowed or matches(name, allowed))
