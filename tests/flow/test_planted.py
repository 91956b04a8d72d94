"""Planted facts through five compactions with every summariser double: a small seeded part of `bench.planted`."""

import pytest

from bench.planted import MUST, Scenario, play
from bench.planted_doubles import FAITHFUL, SPOILS

SEEDS = {"en": 3, "zh": 1}
"""A seed that gives up where no draft passes, and one whose rounds always land."""


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("double", sorted(SPOILS))
def test_every_law_holds_with_every_double_through_five_rounds(double, lang):
    seed = SEEDS[lang]
    tally = play(Scenario(double, lang, seed, "cancel" if seed == 3 else "ledger"), exchanges=5)
    assert [broken for broken in tally.failures if broken.split(":")[0] in MUST] == []
    assert all(caught == put for caught, put in tally.faults.values())
    assert tally.checks


@pytest.mark.parametrize("double", FAITHFUL)
def test_no_draft_without_a_fault_is_refused(double):
    tally = play(Scenario(double, "zh", 0, "ledger"), exchanges=5)
    assert tally.drafts >= 5
    assert (tally.refused, tally.blocked) == (0, {})


def test_the_same_seed_gives_the_same_figures():
    once, again = (play(Scenario("lossy", "en", 2, "ledger"), rounds=2, exchanges=4) for _ in range(2))
    assert once == again
