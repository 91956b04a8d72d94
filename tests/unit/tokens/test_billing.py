"""What was used and what it cost: sums that add up in any order, and money that is never made up."""

from functools import reduce

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.models.catalog import Price, Rates
from clew.tokens.billing import DEEPEST, NEWEST, Account, Billing
from clew.transcript import Usage

PRICE = Price(Rates(3e-6, 15e-6, 0.3e-6, 3.75e-6))
"""Dollars per token, as a hosted model with a cache is priced."""

ASKED = Usage(input=1_000, output=100, cache_read=9_000, cache_write=0)


def test_billing_adds_up_and_says_what_was_not_reported():
    bill = Billing().add(ASKED).add(ASKED).add(None).add(Usage(input=0, output=0))
    assert (bill.input, bill.output, bill.cache_read, bill.cache_write) == (2_000, 200, 18_000, 0)
    assert (bill.requests, bill.unreported, bill.sent) == (4, 2, 20_000)
    assert (bill.cache_share, Billing().cache_share) == (0.9, None)


@pytest.mark.parametrize(
    ("usage", "price"),
    [
        pytest.param(ASKED, None, id="no price"),
        pytest.param(None, PRICE, id="nothing reported"),
        pytest.param(Usage(output=100), PRICE, id="no input reported"),
        pytest.param(Usage(input=100), PRICE, id="no output reported"),
    ],
)
def test_one_request_without_a_price_makes_the_sum_unknown_and_keeps_what_is_known(usage, price):
    bill = Billing().add(ASKED, PRICE).add(usage, price)
    assert bill.dollars is None
    assert (bill.money, bill.unpriced) == (pytest.approx(PRICE.cost(ASKED)), 1)


def test_nothing_asked_costs_nothing():
    assert Account().total().dollars == 0.0


def test_requests_are_kept_by_model_and_purpose():
    account = Account().spend("a/b", "turn", ASKED, PRICE).spend("a/b", "flush", ASKED, PRICE)
    account = account.spend("c/d", "turn", ASKED)
    assert {name: list(purposes) for name, purposes in account.models.items()} == {
        "a/b": ["turn", "flush"],
        "c/d": ["turn"],
    }
    assert account.purposes()["turn"].requests == 2
    assert (account.total().requests, account.total().unpriced) == (3, 1)


def test_a_compaction_saves_what_each_later_request_need_not_read_again():
    account = Account().spend("m", "compaction", ASKED, PRICE)
    account = account.broke("compaction", freed=50_000, id="c1", own=Billing().add(ASKED, PRICE))
    for _ in range(3):
        account = account.spend("m", "turn", ASKED, PRICE)
    own = account.changes["compaction:c1"]
    assert (own.count, own.freed, own.spared) == (1, 50_000, 150_000)
    assert own.saved == pytest.approx(150_000 * 0.3e-6)
    assert own == account.breaks["compaction"]


def test_the_first_request_after_a_break_pays_for_it_and_no_other():
    cold = Usage(input=100, output=50, cache_read=0, cache_write=8_000)
    account = Account().broke("trim", freed=2_000).spend("m", "turn", cold, PRICE).spend("m", "turn", ASKED, PRICE)
    trim = account.breaks["trim"]
    assert trim.rewritten == 8_100
    assert trim.extra == pytest.approx(100 * 2.7e-6 + 8_000 * 3.45e-6)
    assert trim.net == pytest.approx(trim.saved - trim.extra)


def test_where_a_provider_tells_of_no_cache_a_break_costs_nothing_that_is_known():
    account = Account().broke("trim", freed=10).spend("m", "turn", Usage(input=500, output=5), PRICE)
    assert (account.breaks["trim"].rewritten, account.breaks["trim"].extra) == (0, 0.0)


def test_what_freed_nothing_saved_nothing_that_is_known_without_a_price_too():
    account = Account().broke("model").spend("m", "turn", ASKED)
    model = account.breaks["model"]
    assert (model.unpriced, model.saved, model.unpaid, model.net) == (0, 0.0, 1, None)
    again = account.broke("undo").spend("m", "turn", Usage(cache_read=9, cache_write=0, output=1)).breaks["undo"]
    assert (again.unpriced, again.unpaid, again.net) == (0, 0, 0.0)


def test_a_request_nothing_was_reported_for_leaves_open_what_the_break_before_it_cost():
    account = Account().broke("trim", freed=10).spend("m", "turn", None, PRICE)
    assert (account.breaks["trim"].unpaid, account.breaks["trim"].net, account.total().unreported) == (1, None, 1)


def test_without_a_price_tokens_are_counted_and_money_is_unknown():
    account = Account().broke("compaction", freed=10, id="c").spend("m", "turn", ASKED)
    assert (account.changes["compaction:c"].spared, account.changes["compaction:c"].net) == (10, None)


def test_housekeeping_neither_pays_for_a_break_nor_saves():
    account = Account().broke("trim", freed=10).spend("m", "flush", ASKED, PRICE)
    assert (account.breaks["trim"].spared, account.broken) == (0, "trim")


def test_a_compaction_takes_the_place_of_what_was_freed_before_it():
    account = Account().broke("trim", freed=10).broke("compaction", freed=100, id="c1")
    account = account.broke("compaction", freed=300, id="c2").spend("m", "turn", ASKED, PRICE)
    assert account.standing == {"compaction:c2": 300}
    assert (account.changes["compaction:c1"].spared, account.changes["compaction:c2"].spared) == (0, 300)


def test_what_was_freed_counts_no_longer_once_the_view_starts_elsewhere():
    account = Account().broke("compaction", freed=100, id="c1")
    assert account.carried("c1").standing == {"compaction:c1": 100}
    assert account.carried("a reset").standing == account.carried(None).standing == {}


def test_a_compaction_taken_back_lets_what_stood_before_it_stand_again_beside_the_marks_set_since():
    account = Account().broke("prune", freed=10, id="p0").broke("compaction", freed=100, id="c1")
    account = account.broke("prune", freed=5, id="p1").broke("compaction", freed=70, id="c2")
    account = account.broke("trim", freed=3, id="t2")
    one, two = {"compaction:c1": 100, "prune:p1": 5, "trim:t2": 3}, {"prune:p0": 10, "prune:p1": 5, "trim:t2": 3}
    once = account.carried("c1")
    assert (once.standing, once.newest) == (one, "c1")
    assert once.carried(None).standing == account.carried(None).standing == two
    assert once.broke("compaction", freed=9, id="c3").carried("c1").standing == one
    assert account.carried("a reset").carried("c1").standing == {}


def test_what_stood_is_kept_for_the_newest_compactions_only():
    account = reduce(lambda one, n: one.broke("compaction", freed=1, id=f"c{n}"), range(DEEPEST + 4), Account())
    assert list(account.below) == [f"c{n}" for n in range(3, DEEPEST + 3)]
    assert account.carried("c2").standing == {}


STORED = Account().broke("prune", freed=10, id="p0")
MOVED = STORED.broke("compaction", freed=100, id="theirs")


@pytest.mark.parametrize(
    ("stored", "ours", "boundary", "newest"),
    [
        pytest.param(STORED, STORED.carried(None), None, "", id="nobody moved the view"),
        pytest.param(MOVED, STORED.carried(None), "theirs", "theirs", id="another process did"),
        pytest.param(MOVED, STORED.carried("theirs"), "theirs", "theirs", id="and we saw it before its account"),
        pytest.param(STORED, STORED.carried("theirs"), "theirs", "theirs", id="its account is still to come"),
        pytest.param(
            MOVED, MOVED.carried("theirs").broke("compaction", id="ours"), "ours", "ours", id="we did after it"
        ),
    ],
)
def test_the_state_of_whoever_moved_the_view_last_holds_and_sums_add_up(stored, ours, boundary, newest):
    merged = stored.merge(ours.spend("m", "turn", ASKED, PRICE), began="", boundary=boundary)
    assert (merged.newest, merged.total().requests) == (newest, 1)
    assert merged.standing == (stored if newest == stored.newest else ours).standing
    assert merged.breaks["prune"].freed == 10


def test_a_round_of_pruning_has_an_account_of_its_own_and_stands_beside_the_others():
    cold = Usage(input=100, output=50, cache_read=0, cache_write=8_000)
    account = Account().broke("prune", freed=10, id="p1").spend("m", "turn", cold, PRICE)
    account = account.broke("prune", freed=5, id="p2").spend("m", "turn", ASKED, PRICE)
    assert (account.changes["prune:p1"].spared, account.changes["prune:p2"].spared) == (20, 5)
    assert account.changes["prune:p1"].rewritten == 8_100
    assert (account.breaks["prune"].spared, account.breaks["prune"].count) == (25, 2)


def test_what_stands_of_changes_no_longer_kept_apart_counts_under_their_cause():
    account = reduce(lambda one, n: one.broke("prune", freed=1, id=f"p{n}"), range(NEWEST + 4), Account())
    account = account.spend("m", "turn", ASKED, PRICE)
    assert (len(account.changes), len(account.standing)) == (NEWEST, NEWEST + 1)
    assert account.breaks["prune"].spared == NEWEST + 4


def test_only_the_newest_compactions_keep_an_account_of_their_own():
    account = reduce(lambda one, n: one.broke("compaction", freed=1, id=f"c{n}"), range(NEWEST + 4), Account())
    assert list(account.changes) == [f"compaction:c{n}" for n in range(4, NEWEST + 4)]
    assert account.breaks["compaction"].freed == NEWEST + 4


PARTS = st.none() | st.integers(0, 10_000)
SPENT = st.tuples(
    st.just("spend"), st.sampled_from(["a/b", "c/d"]), st.sampled_from(["turn", "flush", "compaction"]),
    st.none() | st.builds(Usage, input=PARTS, output=PARTS, cache_read=PARTS, cache_write=PARTS),
    st.sampled_from([None, PRICE]),
)  # fmt: skip
BROKE = st.tuples(st.just("broke"), st.sampled_from(["trim", "model", "compaction"]), st.integers(0, 5_000))


def played(account: Account, steps, first: int = 0) -> Account:
    for number, (kind, *given_) in enumerate(steps, first):
        if kind == "spend":
            account = account.spend(*given_)
        else:
            account = account.broke(given_[0], freed=given_[1], id=f"c{number}" if given_[0] == "compaction" else "")
    return account


def rounded(account: Account):
    """Without the last digits of money, which depend on the order of a sum."""

    def walk(value):
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        return round(value, 9) if isinstance(value, float) else value

    return walk(msgspec.to_builtins(account))


@settings(max_examples=60, deadline=None)
@given(st.lists(SPENT | BROKE, max_size=12), st.integers(0, 12))
def test_an_account_parted_anywhere_and_merged_is_the_account_kept_in_one(steps, at):
    first = played(Account(), steps[:at])
    merged = first.merge(played(first.carried(first.newest), steps[at:], len(steps[:at])))
    assert rounded(merged) == rounded(played(Account(), steps))


@settings(max_examples=30, deadline=None)
@given(st.lists(SPENT | BROKE, max_size=12))
def test_an_account_is_the_same_after_it_was_stored(steps):
    account = played(Account(), steps)
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(account)), Account) == account
