"""Windows and prices of models, keyed by provider and model: declared ones first, then a catalog that works offline.

What neither knows stays unknown. A number here is never a guess.
"""

from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec

from clew.models.port import Limits
from clew.models.settings import ModelSettings, ModelsSettings
from clew.transcript import Usage

ALIASES = {"moonshot": "moonshotai", "xai": "x-ai"}
"""Our provider ids where the catalog spells them otherwise."""

BOUNDS: dict[str, dict[str, tuple[int | None, int | None]]] = {
    "openai": {
        "gpt-4o": (None, 16_384), "gpt-4o-mini": (None, 16_384),
        "gpt-4.1": (None, 32_768), "gpt-4.1-mini": (None, 32_768), "gpt-4.1-nano": (None, 32_768),
        "gpt-5": (272_000, 128_000), "gpt-5-mini": (272_000, 128_000), "gpt-5-nano": (272_000, 128_000),
        "gpt-5.1": (272_000, 128_000), "gpt-5.2": (272_000, 128_000),
        "gpt-6.1-sol": (922_000, 128_000),
    },
    "anthropic": {
        "claude-haiku-4-5": (None, 64_000), "claude-sonnet-4-5": (None, 64_000), "claude-opus-4-5": (None, 64_000),
        "claude-sonnet-4-6": (None, 128_000), "claude-opus-4-6": (None, 128_000), "claude-opus-5-5": (None, 128_000),
    },
}  # fmt: skip
"""Maximum input (where below the window) and output by the catalog's own model id, which resolves dated names.

Figures of the package ctxlen 2026.10.27.2 (MIT), which carries litellm's and models.dev's. The rest stay unknown.
"""


class Rates(msgspec.Struct, frozen=True):
    """US dollars per token; None is not priced apart."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float:
        """US dollars for one request. Cached input without a price of its own is priced as input."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        spent = ((usage.input, self.input), (usage.output, self.output), (usage.cache_read, read),
                 (usage.cache_write, write))  # fmt: skip
        return sum((tokens or 0) * rate for tokens, rate in spent)


class Price(msgspec.Struct, frozen=True):
    """What a model costs: the rates, and those that hold for the whole request once its input passes a bound."""

    rates: Rates
    tiers: tuple[tuple[int, Rates], ...] = ()
    """Tokens of input to rates, ascending."""

    def cost(self, usage: Usage) -> float:
        """US dollars for one request."""
        sent = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
        passed = [rates for start, rates in self.tiers if sent > start]
        return (passed[-1] if passed else self.rates).cost(usage)


def limits(provider: str, model: str, settings: ModelsSettings | None = None) -> Limits:
    """What a model can take: what is declared, field by field, and for the rest what the catalog knows."""
    known = _known(provider, model)
    declared = settings.model(provider, model) if settings else None
    return declare(known, declared) if declared else known


def declare(known: Limits, declared: ModelSettings) -> Limits:
    """`known` with what the settings say put over it. `contextTokens` only ever lowers."""
    window = declared.context_window or known.window
    used = min(filter(None, (window, declared.context_tokens)), default=None)
    said = declared.context_window or declared.context_tokens
    inputs = declared.max_input or (known.max_input if not declared.context_window else None)
    return Limits(
        window=used,
        max_input=inputs if used is None or inputs is None or inputs < used else None,
        max_output=declared.max_tokens or known.max_output,
        source="settings" if said or declared.max_input else known.source,
    )


def lower(known: Limits, window: int, source: str) -> Limits:
    """`known` bounded by a window that a server named or a refusal gave away; a larger one changes nothing."""
    if known.window is not None and known.window <= window:
        return known
    inputs = known.max_input if known.max_input and known.max_input < window else None
    return Limits(window=window, max_input=inputs, max_output=known.max_output, source=source)


def price(
    provider: str, model: str, settings: ModelsSettings | None = None, *, at: datetime | None = None
) -> Price | None:
    """What a model costs at `at` (None: now), or None where it is not known."""
    declared = settings.model(provider, model) if settings else None
    if declared and declared.cost:
        cost = declared.cost
        return Price(Rates(*(_per_token(rate) for rate in (cost.input, cost.output)),
                           *(None if rate is None else _per_token(rate)
                             for rate in (cost.cache_read, cost.cache_write))))  # fmt: skip
    found = _find(provider, model)
    return None if found is None else _price(found.get_prices(at or datetime.now(UTC)))


def _known(provider: str, model: str) -> Limits:
    found = _find(provider, model)
    if found is None:
        return Limits()
    most_in, most_out = BOUNDS.get(provider, {}).get(found.id, (None, None))
    source = "catalog" if found.context_window or most_in or most_out else "unknown"
    return Limits(found.context_window or None, most_in, most_out, source)


@cache
def _find(provider: str, model: str) -> Any | None:
    # The package takes a third of a second to load and is needed once a process at most.
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

    try:
        return get_snapshot().find_provider_model(model, None, ALIASES.get(provider, provider), None)[1]
    except LookupError:
        return None


def _price(listed: Any) -> Price | None:
    names = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    parts = [getattr(listed, name) for name in names]
    if parts[0] is None or parts[1] is None:
        return None
    starts = sorted({tier.start for part in parts for tier in getattr(part, "tiers", ())})
    return Price(_rates(parts, 0), tuple((start, _rates(parts, start)) for start in starts))


def _rates(parts: list[Any], start: int) -> Rates:
    """The rates of a request whose input has passed `start`."""

    def rate(part: Any) -> float | None:
        if part is None:
            return None
        passed = [tier.price for tier in getattr(part, "tiers", ()) if tier.start <= start]
        return _per_token(passed[-1] if passed else getattr(part, "base", part))

    return Rates(rate(parts[0]) or 0.0, rate(parts[1]) or 0.0, rate(parts[2]), rate(parts[3]))


def _per_token(per_million: Any) -> float:
    return float(per_million) / 1_000_000
