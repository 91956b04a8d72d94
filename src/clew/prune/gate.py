"""May a round of pruning run now: the mode, the route, and whether the provider's prompt cache has lapsed."""

import re

import msgspec

from clew.prune.settings import PruningSettings

SEEDED_TTL = 3_600.0
"""Seconds on Anthropic routes where no `ttl` is set: the longest its caches live."""

FAMILIES: dict[str, str] = {
    "openai": ".", "anthropic": ".", "anthropic-vertex": ".", "deepseek": ".", "moonshot": ".", "zai": ".",
    "google": r"gemini-(2\.5|[3-9])",
    "openrouter": r"^(anthropic|deepseek|moonshot(ai)?|z-?ai)/",
    "kilocode": r"^anthropic/",
    "amazon-bedrock": r"anthropic[./]claude",
}  # fmt: skip
"""Hosted providers whose prompt cache has a lifetime, each with a pattern of the models it holds for."""

ANTHROPIC = frozenset({"anthropic", "anthropic-vertex"})
"""Providers on whose routes pruning is on by default."""


class Route(msgspec.Struct, frozen=True):
    """Where requests go, as far as pruning cares."""

    provider: str
    model: str
    api: str = ""
    """`anthropic-messages`, `openai-completions`; empty where it is not known."""
    remote: bool = False
    """Whether the provider clears old results itself."""

    @property
    def caches(self) -> bool:
        """Whether the route has a prompt cache with a lifetime, so that there is a moment at which pruning is free."""
        family = FAMILIES.get(self.provider.lower())
        known = bool(family and re.search(family, self.model.lower()))
        return known or self.api == "anthropic-messages"

    @property
    def anthropic(self) -> bool:
        """Whether pruning is on here by default."""
        return self.provider.lower() in ANTHROPIC


def on(settings: PruningSettings, route: Route) -> bool:
    """Whether old results are pruned on this route at all, here or at the provider."""
    mode = settings.mode or ("cache-ttl" if route.anthropic else "off")
    return mode == "cache-ttl" and route.caches


def ttl(settings: PruningSettings, route: Route) -> float:
    """How long the cache lives, in seconds: as set, else an hour on Anthropic routes and 5 minutes elsewhere."""
    seeded = route.anthropic and "ttl" not in settings.model_fields_set
    return SEEDED_TTL if seeded else settings.ttl


def opens(settings: PruningSettings, route: Route, touched: int | None, now: int) -> bool:
    """Whether a local round may run: the last successful request began at least a cache's lifetime ago.

    `touched` is its start in milliseconds; None where no request of this model has succeeded, and then nothing runs.
    """
    life = ttl(settings, route)
    if not on(settings, route) or route.remote or touched is None or life <= 0:
        return False
    return now - touched >= life * 1000
