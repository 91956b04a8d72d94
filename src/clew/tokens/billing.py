"""What a session's requests cost: tokens and money by model and purpose, and what each break of the prefix did.

Sums only, which survive a restart and never grow with the history. None of it is a context size; that is
`clew.tokens.usage`. Money is US dollars; what is not priced is counted as such and makes the sum unknown, never 0.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Protocol, TypeVar

import msgspec

from clew.transcript import Usage

Sums = TypeVar("Sums", "Billing", "Break")

NEWEST = 16
"""Changes whose own account is kept, the newest ones; those before them are in the sums of their cause."""

DEEPEST = 4
"""Compactions one below the other that can be taken back with what was freed before them standing again."""


class Pricing(Protocol):
    """What a model costs."""

    def cost(self, usage: Usage) -> float:
        """US dollars for one request."""
        ...


class Billing(msgspec.Struct, frozen=True):
    """What requests have used in all, in tokens and money."""

    input: int = 0
    """Input that was neither read from a cache nor written to one."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    requests: int = 0
    unreported: int = 0
    """Requests without a full report: while there are any, the sums are lower bounds."""
    money: float = 0.0
    """US dollars of the requests that could be priced."""
    unpriced: int = 0
    """Requests that could not: the price is not known, or what they used is not."""

    @classmethod
    def of(cls, bills: Iterable["Billing"]) -> "Billing":
        """Several as one."""
        return reduce(_sum, bills, cls())

    @property
    def dollars(self) -> float | None:
        """US dollars of all requests; None where one of them has no price."""
        return None if self.unpriced else self.money

    @property
    def sent(self) -> int:
        """All input, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def cache_share(self) -> float | None:
        """The part of the input that came from the cache, 0 to 1; None where nothing was sent."""
        return self.cache_read / self.sent if self.sent else None

    def add(self, usage: Usage | None, price: Pricing | None = None) -> "Billing":
        """The totals after one more request; None is a request that nothing was reported for, or has no price."""
        return _sum(self, _bill(usage or Usage(), price))


class Break(msgspec.Struct, frozen=True, omit_defaults=True):
    """What changes of the bytes already sent came to: those of one cause, or a single one."""

    count: int = 0
    freed: int = 0
    """Tokens by which they made the next request shorter, by estimate."""
    spared: int = 0
    """Tokens not sent since: what was freed, once for each later request of the conversation."""
    saved: float = 0.0
    """US dollars of these at the price of cached input, the least they would have cost."""
    rewritten: int = 0
    """Tokens the next request had to send past the cache, where the provider reports its cache."""
    extra: float = 0.0
    """US dollars that was dearer than reading them from the cache, the newly said included: at most."""
    unpriced: int = 0
    """Requests among these without a price: `saved` is a lower bound."""
    unpaid: int = 0
    """Breaks whose next request has no price, or reported nothing: `extra` is a lower bound."""
    own: Billing = Billing()
    """The requests made for the change itself: those that wrote a brief."""

    @property
    def net(self) -> float | None:
        """US dollars saved less what the change cost; None where a part of it is unknown."""
        unknown = self.unpriced or self.unpaid or self.own.unpriced
        return None if unknown else self.saved - self.extra - self.own.money


class Account(msgspec.Struct, frozen=True, omit_defaults=True):
    """The account of one session."""

    models: dict[str, dict[str, Billing]] = {}
    """By the model's name and the purpose of the request: `turn`, `flush`, `compaction`."""
    breaks: dict[str, Break] = {}
    """By cause, as `PrefixBreak` names it."""
    changes: dict[str, Break] = {}
    """Compactions and rounds of pruning one by one, as `cause:id`, oldest first, the newest ones only."""
    standing: dict[str, int] = {}
    """Tokens by which each request is shorter now, by the change that freed them: `cause:id`, or a cause alone."""
    newest: str = ""
    """The id of the compaction that `standing` counts from; empty for none."""
    below: dict[str, dict[str, int]] = {}
    """What stood before each of the newest compactions, by the boundary it stood on, for when one is taken back."""
    broken: str = ""
    """The newest break, named as in `standing`, until a request has paid for it."""

    def total(self) -> Billing:
        """All requests together."""
        return Billing.of(bill for billed in self.models.values() for bill in billed.values())

    def purposes(self) -> dict[str, Billing]:
        """The requests of all models by purpose."""
        found: dict[str, Billing] = {}
        for billed in self.models.values():
            found = _joined(found, billed)
        return found

    def spend(self, model: str, purpose: str, usage: Usage | None, price: Pricing | None = None) -> "Account":
        """The account after one more answered request. One of the conversation's own settles what a break cost."""
        bill = _bill(usage or Usage(), price)
        after = msgspec.structs.replace(self, models=_billed(self.models, {model: {purpose: bill}}))
        return after._carried_on(usage or Usage(), price) if purpose == "turn" else after

    def broke(self, cause: str, *, freed: int = 0, id: str = "", own: Billing | None = None) -> "Account":
        """The account after a break of the prefix, of the change `id` where it has one.

        A compaction takes the place of all that stood before it: what that shortens of the kept tail is not counted on.
        """
        name, change = f"{cause}:{id}" if id else cause, Break(1, freed, own=own or Billing())
        anew = cause == "compaction" and bool(id)
        standing = {} if anew else self.standing
        below = dict([*self.below.items(), (self.newest, self.standing)][-DEEPEST:]) if anew else self.below
        return msgspec.structs.replace(
            self,
            breaks=_joined(self.breaks, {cause: change}),
            changes=_newest(_joined(self.changes, {name: change} if id else {})),
            standing=_folded({**standing, name: standing.get(name, 0) + freed}) if freed else standing,
            newest=id if anew else self.newest,
            below=below,
            broken=name,
        )

    def carried(self, boundary: str | None) -> "Account":
        """An empty account that goes on from this one, on a view that starts at `boundary`.

        Where a compaction was taken back, what stood before it stands again, beside the marks that were set since.
        Anywhere else (a reset, another's compaction) nothing that was freed counts any more.
        """
        levels = {**self.below, self.newest: self.standing}
        names, at = list(levels), boundary or ""
        if at not in levels:
            return Account(newest=at, broken=self.broken)
        depth = names.index(at)
        standing = dict(levels[at])
        for name in names[depth + 1 :]:
            for change, tokens in levels[name].items():
                if _cause(change) != "compaction":
                    standing[change] = standing.get(change, 0) + tokens
        below = {name: self.below[name] for name in names[:depth]}
        return Account(standing=_folded(standing), newest=at, below=below, broken=self.broken)

    def merge(self, later: "Account", *, began: str | None = None, boundary: str | None = None) -> "Account":
        """This account and one `carried` on from it (or beside it) as one: sums add up, the later one's state holds.

        `began` is what `newest` was here when the later one was carried on (None: what it is). Where it is another now,
        somebody else moved the view, and the state here holds, unless the view starts where only the later one says.
        """
        moved = began is not None and began != self.newest
        state = self if moved and (self.newest == (boundary or "") or later.newest != (boundary or "")) else later
        return msgspec.structs.replace(
            state,
            models=_billed(self.models, later.models),
            breaks=_joined(self.breaks, later.breaks),
            changes=_newest(_joined(self.changes, later.changes)),
        )

    def _carried_on(self, usage: Usage, price: Pricing | None) -> "Account":
        """One request of the conversation later: shorter by what stands, and past the cache if the prefix broke."""
        gains = {name: _gain(tokens, price) for name, tokens in self.standing.items() if tokens}
        came_to = _joined(gains, {self.broken: _paid(usage, price)} if self.broken else {})
        breaks = self.breaks
        for name, one in came_to.items():
            breaks = _joined(breaks, {_cause(name): one})
        own = {name: one for name, one in came_to.items() if name != _cause(name)}
        return msgspec.structs.replace(self, breaks=breaks, changes=_joined(self.changes, own), broken="")


def _cause(name: str) -> str:
    """The cause of a change that is named `cause:id`, or by its cause alone."""
    return name.partition(":")[0]


def _folded(standing: dict[str, int]) -> dict[str, int]:
    """What stands, with the changes that are no longer kept one by one under their cause alone."""
    older = [name for name in standing if name != _cause(name)][:-NEWEST]
    folded = {name: tokens for name, tokens in standing.items() if name not in older}
    for name in older:
        folded[_cause(name)] = folded.get(_cause(name), 0) + standing[name]
    return folded


def _bill(usage: Usage, price: Pricing | None) -> Billing:
    """One request."""
    used = Billing(usage.input or 0, usage.output or 0, usage.cache_read or 0, usage.cache_write or 0, requests=1)
    if not (used.sent and used.output):
        return msgspec.structs.replace(used, unreported=1, unpriced=1)
    return (
        msgspec.structs.replace(used, money=price.cost(usage)) if price else msgspec.structs.replace(used, unpriced=1)
    )


def _gain(tokens: int, price: Pricing | None) -> Break:
    """One request shorter by so many tokens, which would have come from the cache."""
    return Break(spared=tokens, saved=price.cost(Usage(cache_read=tokens)) if price else 0.0, unpriced=int(not price))


def _paid(usage: Usage, price: Pricing | None) -> Break:
    """The first request after a break; nothing where the provider does not tell of a cache."""
    if usage.cache_read is None and usage.cache_write is None:
        return Break(unpaid=int(usage.input is None))
    past = (usage.input or 0) + (usage.cache_write or 0)
    warm = Usage(output=usage.output, cache_read=past + (usage.cache_read or 0))
    dearer = price.cost(usage) - price.cost(warm) if price else 0.0
    return Break(rewritten=past, extra=max(0.0, dearer), unpaid=int(past > 0 and not price))


def _billed(one: dict[str, dict[str, Billing]], other: dict[str, dict[str, Billing]]) -> dict[str, dict[str, Billing]]:
    return {**one, **{model: _joined(one.get(model, {}), purposes) for model, purposes in other.items()}}


def _joined(one: Mapping[str, Sums], other: Mapping[str, Sums]) -> dict[str, Sums]:
    """Two tables of sums as one, in the order of the first."""
    return {**one, **{key: _sum(one[key], more) if key in one else more for key, more in other.items()}}


def _newest(table: dict[str, Break]) -> dict[str, Break]:
    return dict(list(table.items())[-NEWEST:])


def _sum(one: Sums, other: Sums) -> Sums:
    """Two values of sums, field by field."""
    parts = zip(msgspec.structs.astuple(one), msgspec.structs.astuple(other), strict=True)
    return type(one)(*(_sum(a, b) if isinstance(a, Billing) else a + b for a, b in parts))
