"""Whether a round of pruning pays: what is saved over the requests to come, against the cache that is broken."""

import msgspec

from clew.prune.plan import Plan
from clew.transcript import Assistant, Said, View

STILL_HELD = 0.25
"""How often a cache that should have lapsed is thought to be there still: providers promise the least time."""

FEWEST, MOST = 3, 40
"""Further requests that are counted on at least and at most."""


class Prices(msgspec.Struct, frozen=True):
    """What a token costs that is read from a cache or written to it, as a share of one that is neither."""

    read: float = 0.1
    write: float = 1.25


def worth(plan: Plan, prices: Prices, expected_requests: float) -> bool:
    """Whether the tokens saved over the requests to come pay for the cache a round breaks.

    A cache that is gone costs nothing to break, and what is cut need not be written again; one that is still there
    costs the writing of all behind the first cut in place of reading it.
    """
    gain = plan.freed * (prices.read * expected_requests + (1 - STILL_HELD) * prices.write)
    loss = plan.rewritten * STILL_HELD * max(0.0, prices.write - prices.read)
    return plan.freed > 0 and gain > loss


def expected(view: View) -> int:
    """Further requests to count on: as many as the view has seen, within bounds."""
    seen = sum(isinstance(one.body, Said) and isinstance(one.body.message, Assistant) for one in view.entries)
    return min(max(seen, FEWEST), MOST)
