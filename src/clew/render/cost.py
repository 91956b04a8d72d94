"""What a session cost, in words and as data. What has no price is `?` and null, never 0."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from clew.render.layout import Listing, fact, sentence, table
from clew.render.text import plural, short, visible
from clew.tokens.billing import Account, Billing, Break

MODELS = ("model", "for", "requests:r", "in:r", "out:r", "cached:r", "cost:r")
BREAKS = ("prefix break", "times:r", "freed:r", "not sent:r", "saved:r", "re-sent:r", "extra:r")
CHANGES = ("change", "id", "freed:r", "not sent:r", "saved:r", "re-sent:r", "extra:r", "brief:r", "net:r")
"""The columns of the three tables; how to read them stands in docs/how-to/cost.md."""

# One bill -------------------------------------------------------------------------------------------------------------


def billed(billing: Billing) -> str:
    """What requests used, in one line."""
    parts = [f"{short(billing.sent)} in / {short(billing.output)} out"]
    if billing.cache_read or billing.cache_write:
        parts.append(f"cache {cached(billing)}")
    if billing.requests:
        parts.append(amount(billing) if billing.dollars is not None or not billing.money else least(billing))
    if billing.unreported:
        parts.append(f"{plural(billing.unreported, 'request')} without a report")
    return " · ".join(parts)


def cached(billing: Billing) -> str:
    """How much of what was sent came from the provider's cache."""
    hit = "–" if billing.cache_share is None else f"{round(100 * billing.cache_share)}% hit"
    return f"{hit} · {short(billing.cache_read)} read, {short(billing.cache_write)} written, {short(billing.input)} new"


def money(billing: Billing) -> str:
    """What requests cost, in words; where some have no price, the least it can be."""
    if billing.dollars is not None:
        return dollars(billing.dollars)
    known = f"{least(billing)}, " if billing.money else ""
    return f"? ({known}{plural(billing.unpriced, 'request')} of {billing.requests:,} without a price)"


def least(billing: Billing) -> str:
    """What the requests cost that have a price, where others have none."""
    return f"at least {dollars(billing.money)}"


def amount(billing: Billing) -> str:
    """The same in a cell; `–` where nothing was asked."""
    return dollars(billing.dollars) if billing.requests else "–"


def dollars(sum: float | None) -> str:
    """US dollars, small sums with as many digits as tell something; `?` for None."""
    if sum is None:
        return "?"
    sign = "-" if sum < 0 else ""
    return f"{sign}${abs(sum):.2f}" if abs(sum) >= 1 or not sum else f"{sign}${abs(sum):.4f}"


def bill(of: Billing) -> dict[str, Any]:
    """A bill as data: `cost` is US dollars, null where a request has no price; `priced` the sum of those that have."""
    told: dict[str, Any] = msgspec.to_builtins(of)
    priced = told.pop("money")
    return {**told, "cache_share": of.cache_share, "cost": of.dollars, "priced": priced}


# A session ------------------------------------------------------------------------------------------------------------


def account(of: Account, key: str) -> Iterator[RenderableType]:
    """`clew cost` on a terminal."""
    total = of.total()
    yield fact("session", key)
    if not total.requests and not of.breaks:
        yield sentence("Nothing was asked of a model in this session yet.")
        return
    yield fact("total", f"{plural(total.requests, 'request')} · {billed(total)}")
    if total.unpriced:
        yield fact("cost", money(total))
    yield _listing(MODELS, _models(of))
    yield _listing(BREAKS, ((cause, str(one.count), *_did(one)) for cause, one in of.breaks.items()))
    rows = ((cause, id, *_did(one), amount(one.own), dollars(one.net)) for cause, id, one in newest(of))
    yield _listing(CHANGES, rows)
    if of.breaks:
        yield sentence("saved is the least, extra the most it can be; docs/how-to/cost.md says how they are counted.")


def newest(of: Account) -> list[tuple[str, str, Break]]:
    """The changes that are kept one by one, the newest first: cause, id, what it came to."""
    return [(*name.partition(":")[::2], one) for name, one in reversed(of.changes.items())]


def _models(of: Account) -> Iterator[tuple[str, ...]]:
    for model, purposes in of.models.items():
        for purpose, one in purposes.items():
            share = "–" if one.cache_share is None else f"{round(100 * one.cache_share)}%"
            yield model, purpose, f"{one.requests:,}", short(one.sent), short(one.output), share, amount(one)


def _did(one: Break) -> tuple[str, ...]:
    """What a change did: freed, not sent since, saved; sent past the cache, extra."""
    saved, extra = dollars(None if one.unpriced else one.saved), dollars(None if one.unpaid else one.extra)
    return short(one.freed), short(one.spared), saved, short(one.rewritten), extra


def _listing(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> RenderableType:
    """Rows as a table, or as blocks where it does not fit; nothing for none."""
    names, shown, blocks = [column.partition(":")[0] for column in columns], table(*columns), []
    for head, *cells in rows:
        shown.add_row(Text(visible(head), style="cyan"), *cells)
        words = " · ".join(f"{name} {cell}" for name, cell in zip(names[1:], cells, strict=True))
        blocks.append((Text(visible(head), style="cyan"), words))
    return Listing([shown] if blocks else [], blocks)


def plain(of: Account, key: str) -> dict[str, Any]:
    """The same as data; money in US dollars, null where it is not known."""
    return {
        "ok": True, "key": key, "total": bill(of.total()),
        "purposes": [{"purpose": name, **bill(one)} for name, one in of.purposes().items()],
        "models": [{"model": model, "purpose": name, **bill(one)}
                   for model, purposes in of.models.items() for name, one in purposes.items()],
        "breaks": [{"cause": cause, **_change(one)} for cause, one in of.breaks.items()],
        "changes": [{"cause": cause, "id": id, **_change(one)} for cause, id, one in newest(of)],
    }  # fmt: skip


def _change(one: Break) -> dict[str, Any]:
    return {
        "count": one.count, "freed": one.freed, "spared": one.spared,
        "saved": None if one.unpriced else one.saved, "rewritten": one.rewritten,
        "extra": None if one.unpaid else one.extra, "own": bill(one.own), "net": one.net,
    }  # fmt: skip
