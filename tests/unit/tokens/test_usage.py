"""Where a size comes from: reports are anchors, estimates fill in, what is not known stays unknown."""

import pytest

from clew.tokens.usage import Size, calibrate, measure
from clew.transcript import (
    Compaction,
    Entry,
    Ledger,
    ModelChange,
    Pin,
    PruneMark,
    Said,
    Undo,
    Usage,
    Verdict,
    assistant,
    user,
    view,
)

REPORTED = Usage(input=900, output=100, cache_read=4_000)


def branch(*bodies):
    return [
        Entry(str(at), str(at - 1) if at else None, at, Said(body) if hasattr(body, "blocks") else body)
        for at, body in enumerate(bodies)
    ]


def brief(first_kept):
    return Compaction("brief", first_kept, 9_000, 900, "manual", Verdict("accepted"), Ledger())


def sizes(entries, each=10):
    return {entry.id: each for entry in entries}


def size_of(*bodies, **more):
    entries = branch(*bodies)
    return measure(view(entries), sizes(entries), **more)


def test_the_newest_report_is_the_anchor_and_what_came_after_is_estimated():
    said = (user("a"), assistant("b", usage=Usage(input=5, output=5)), user("c"), assistant("d", usage=REPORTED))
    assert size_of(*said, user("e"), user("f")) == Size(5_020, "reported", "3", 20)
    assert size_of(*said) == Size(5_000, "reported", "3", 0)


def test_without_a_report_everything_is_estimated_with_what_is_fixed():
    assert size_of(user("a"), assistant("b"), fixed=700) == Size(720, "estimated", None, 720)


@pytest.mark.parametrize(
    "unusable",
    [
        assistant("b", usage=Usage(input=0, output=0)),
        assistant("b", usage=Usage(output=50)),
        assistant("b", usage=REPORTED, stop="aborted"),
        assistant("b", usage=REPORTED, stop="error"),
        assistant("b", usage=None),
    ],
)
def test_a_report_of_nothing_is_unknown_and_not_zero(unusable):
    assert size_of(user("a"), unusable).source == "estimated"
    assert size_of(user("a"), assistant("x", usage=REPORTED), unusable).anchored_on == "1"


def test_a_report_without_its_output_has_the_answer_estimated():
    assert size_of(user("a"), assistant("b", usage=Usage(input=900))) == Size(910, "reported", "1", 10)


def test_a_report_from_before_the_boundary_is_stale():
    entries = branch(user("a"), assistant("b", usage=REPORTED), brief("1"), user("c"))
    assert measure(view(entries), sizes(entries)) == Size(30, "estimated", None, 30)
    entries = branch(user("a"), assistant("b", usage=REPORTED), brief("1"), assistant("c", usage=Usage(700, 20)))
    assert measure(view(entries), sizes(entries)) == Size(720, "reported", "3", 0)


@pytest.mark.parametrize("change", [ModelChange("other/model"), Undo("2")])
def test_a_report_of_another_model_or_another_view_is_stale(change):
    answered = assistant("b", usage=REPORTED)
    assert size_of(user("a"), answered, change, user("c")).source == "estimated"
    assert size_of(user("a"), change, answered, user("c")).source == "reported"


def test_a_size_that_is_missing_makes_the_whole_unknown():
    entries = branch(user("a"), assistant("b", usage=REPORTED), user("c"))
    assert measure(view(entries), {"0": 10}) == Size(None, "unknown")
    assert measure(view(entries), {"2": 10}).tokens == 5_010
    assert measure(view(branch(PruneMark("x"))), {}) == Size(0, "estimated")


def test_a_pin_takes_room_only_once_its_message_has_left_the_view():
    pin = Pin("0", "a", "user")
    assert size_of(user("a"), pin).tokens == 10
    assert size_of(user("z"), Pin("gone", "a", "user")).tokens == 20
    assert size_of(user("z"), Pin("gone", "a", "user"), Pin("gone", "a", "user", on=False)).tokens == 10


def test_a_calibration_scales_estimates_and_never_reports():
    said = (user("a"), assistant("b", usage=REPORTED), user("c"))
    assert size_of(*said, calibration=1.5) == Size(5_015, "reported", "1", 15)


def test_a_calibration_follows_reports_within_bounds():
    factor = 1.0
    for _ in range(40):
        factor = calibrate(120, 100, factor)
    assert factor == pytest.approx(1.2, abs=0.01)
    assert 1 < calibrate(10_000, 50) <= 2
    assert 0.5 <= calibrate(1, 10_000) < 1
    assert calibrate(None, 100, 1.3) == calibrate(0, 100, 1.3) == calibrate(100, 0, 1.3) == 1.3
