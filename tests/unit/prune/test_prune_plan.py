"""Which results a round shortens, what stands in their place, and when it pays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.prune.mark import cuts, project
from clew.prune.plan import Plan, images, results
from clew.prune.settings import HardClear, PrunableTools, PruningSettings
from clew.prune.tools import prunable
from clew.prune.trim import CLEARED, HEAD, OVER, TAIL, trimmed
from clew.prune.worth import Prices, worth
from clew.tokens import estimate
from clew.tokens.window import thresholds
from clew.transcript import (
    Assistant,
    Call,
    Entry,
    PruneMark,
    Said,
    Text,
    ToolResult,
    User,
    View,
    assistant,
    result,
    text_of,
    user,
)
from clew.transcript.message import Media

WINDOW = 100_000
LIMITS = thresholds(WINDOW)
DEFAULTS = PruningSettings()


def seen(*bodies) -> View:
    return View(
        tuple(Entry(f"e{n}", None, n, b if isinstance(b, PruneMark) else Said(b)) for n, b in enumerate(bodies))
    )


def talk(*texts: str, tool: str = "read"):
    """A user's ask, then a call and its result for each text, then three answers that protect themselves."""
    calls = [Call(f"c{n}", tool, {"path": f"src/page{n}.py"}) for n in range(len(texts))]
    pairs = [(assistant("", one), result(one, text)) for one, text in zip(calls, texts, strict=True)]
    return [user("go"), *(said for pair in pairs for said in pair), *(assistant(f"answer {n}") for n in range(3))]


def sizes(view: View) -> dict[str, int]:
    return {entry.id: estimate.entry(entry) for entry in project(view).entries}


def round_of(view: View, tokens: int, given=DEFAULTS):
    return results(view, sizes(view), tokens, LIMITS, given)


def marked(view: View, plan, placeholder: str = "") -> View:
    mark = Entry(f"m{len(view.entries)}", None, 9, PruneMark("x", plan.cuts, placeholder))
    return View((*view.entries, mark))


def shown(view: View, name: str) -> str:
    (entry,) = (one for one in project(view).entries if one.id == name)
    return text_of(entry.body.message)


@pytest.mark.parametrize(("tokens", "cut"), [(29_999, {}), (30_000, {"e2": "trim"})])
def test_a_long_result_is_trimmed_from_thirty_percent_on(tokens, cut):
    assert round_of(seen(*talk("x" * 5_000, "short")), tokens).cuts == cut


@pytest.mark.parametrize(("length", "cut"), [(OVER, False), (OVER + 1, True)])
def test_four_thousand_characters_are_left_as_they_are(length, cut):
    assert bool(round_of(seen(*talk("x" * length)), 40_000).cuts) is cut


def test_a_trimmed_result_keeps_head_tail_tool_argument_size_and_the_way_back():
    view = seen(*talk("a" * 3_000 + "b" * 3_000))
    text = shown(marked(view, round_of(view, 40_000)), "e2")
    assert text.startswith("a" * HEAD + "\n[")
    assert text.endswith("]\n" + "b" * TAIL)
    assert "3,000 of 6,000 characters of read src/page0.py" in text
    assert "entry e2" in text


def test_the_results_of_the_last_three_answers_are_not_touched():
    long = "x" * 9_000
    calls = talk(long, long, long)[:-3]
    assert round_of(seen(*calls), 40_000).cuts == {}
    assert round_of(seen(*calls, assistant("one")), 40_000).cuts == {"e2": "trim"}


def test_nothing_before_the_first_user_message_is_touched():
    call = Call("c", "read", {})
    early = [assistant("", call), result(call, "x" * 9_000)]
    assert round_of(seen(*early, *talk("short")), 40_000).cuts == {}


FULL = ["y" * 3_200] * 20
"""64,000 characters of results, none long enough to be trimmed."""


def test_results_are_cleared_oldest_first_until_half_of_the_window_is_free():
    view = seen(*talk(*FULL))
    plan = round_of(view, 51_500)
    assert list(plan.cuts) == ["e2", "e4", "e6", "e8"][: len(plan.cuts)]
    assert len(plan.cuts) < 5
    assert 51_500 - plan.freed < LIMITS.clear_at <= 51_500 - plan.freed * (len(plan.cuts) - 1) // len(plan.cuts)


@pytest.mark.parametrize(("texts", "cut"), [(["y" * 2_500] * 20, True), (["y" * 2_500] * 19 + ["y" * 2_499], False)])
def test_nothing_is_cleared_with_less_than_fifty_thousand_prunable_characters(texts, cut):
    assert bool(round_of(seen(*talk(*texts)), 60_000).cuts) is cut


def test_what_is_cleared_or_a_marker_already_does_not_count_as_left():
    picture = Media("image/png", data="AAAA")
    old = [ToolResult(f"p{n}", "look", (Text("y" * 3_000), picture)) for n in range(6)]
    view = seen(user("go"), *old, *talk(*["y" * 3_200] * 20)[1:])
    pictures = marked(view, Plan({f"e{n}": "image" for n in range(1, 7)}))
    cleared_too = marked(pictures, Plan({f"e{n}": "clear" for n in range(8, 32, 2)}))
    assert set(round_of(pictures, 70_000).cuts.values()) == {"clear"}
    assert round_of(cleared_too, 70_000).cuts == {}


def test_clearing_can_be_switched_off():
    off = PruningSettings(hard_clear=HardClear(enabled=False))
    assert round_of(seen(*talk(*FULL)), 60_000, off).cuts == {}


@pytest.mark.parametrize(
    ("written", "begins"),
    [
        pytest.param({}, f"{CLEARED} read src/page0.py gave 3,200 characters; call it again", id="a stub that helps"),
        pytest.param({"placeholder": " gone "}, "gone", id="the settings fix it"),
        pytest.param({"placeholder": " "}, CLEARED, id="blank is unset"),
    ],
)
def test_what_stands_in_for_a_cleared_result(written, begins):
    given = PruningSettings(hard_clear=HardClear(**written))
    view = seen(*talk(*FULL))
    text = shown(marked(view, round_of(view, 60_000, given), given.hard_clear.fixed), "e2")
    assert text.startswith(begins)
    assert ("kept as entry e2" in text) is (begins != "gone")


@pytest.mark.parametrize(
    ("name", "allow", "deny", "may"),
    [
        ("read", (), (), True), ("read", (), ("READ",), False), ("read_file", ("read*",), (), True),
        ("write", ("read*",), (), False), ("read_secret", ("*",), ("*secret",), False), ("a.b", ("a?b",), (), False),
        ("read", (" ",), (), True),
    ],
)  # fmt: skip
def test_deny_wins_over_allow_and_a_star_stands_for_anything(name, allow, deny, may):
    assert prunable(name, PrunableTools(allow=allow, deny=deny)) is may


def test_images_older_than_three_finished_turns_become_markers_and_words_stay():
    picture = Media("image/png", data="AAAA" * 300, name="shot.png")
    turns = [said for n in range(6) for said in (User((Text(f"look {n}"), picture)), assistant("seen"))]
    view = seen(*turns, user("and now?"))
    plan = images(view, sizes(view))
    assert plan.cuts == {"e0": "image", "e2": "image", "e4": "image"}
    assert plan.freed > 0
    blocks = next(e for e in project(marked(view, plan)).entries if e.id == "e0").body.message.blocks
    assert blocks == (Text("look 0"), Text("[image shot.png image/png, 900 bytes: shown earlier, kept as entry e0]"))
    again = marked(view, plan)
    assert images(again, sizes(again)).cuts == {}


def test_a_trim_after_an_image_keeps_the_image_a_marker():
    picture = Media("image/png", data="AAAA")
    view = seen(user("go"), ToolResult("c", "look", (Text("x" * 9_000), picture)))
    both = View((*view.entries, *(Entry(f"m{k}", None, 9, PruneMark("x", {"e1": k})) for k in ("image", "trim"))))
    assert cuts(both)["e1"].kinds == {"image", "trim"}
    blocks = project(both).entries[1].body.message.blocks
    assert len(blocks[0].text) < OVER
    assert blocks[1].text.startswith("[image image/png")


@pytest.mark.parametrize(
    ("plan", "prices", "requests", "pays"),
    [
        pytest.param(Plan({"e": "trim"}, 10_000, 20_000), Prices(), 10, True, id="much saved"),
        pytest.param(Plan({"e": "trim"}, 500, 150_000), Prices(), 10, False, id="little saved early in a long view"),
        pytest.param(Plan({"e": "trim"}, 500, 150_000), Prices(1.0, 1.0), 10, True, id="no cache to lose"),
        pytest.param(Plan(), Prices(), 40, False, id="nothing"),
    ],
)
def test_a_round_that_cannot_pay_for_its_break_is_not_worth_it(plan, prices, requests, pays):
    assert worth(plan, prices, requests) is pays


SIGNS = "ab \n日本é\u0301👩\u200d🦰🇩🇪🏽\ud83d\ude00"
WORDS = st.text(st.sampled_from(SIGNS), max_size=60).map(lambda piece: piece * 200)
TALKS = st.lists(WORDS, min_size=1, max_size=6).map(lambda texts: seen(*talk(*texts), *talk(*texts)[1:]))


@settings(max_examples=40, deadline=None)
@given(TALKS, st.integers(20_000, 90_000))
def test_words_of_the_conversation_are_never_touched_and_a_view_never_grows(view, tokens):
    after = marked(view, round_of(view, tokens))
    pairs = zip(view.entries, project(after).entries, strict=False)
    for before, now in pairs:
        said = before.body.message
        assert isinstance(said, ToolResult) or now == before
        assert not isinstance(said, Assistant | User) or now.body.message is said
    assert sum(sizes(after)[e.id] for e in view.entries) <= sum(sizes(view)[e.id] for e in view.entries)


@settings(max_examples=30, deadline=None)
@given(TALKS, st.integers(20_000, 90_000))
def test_the_same_input_gives_the_same_plan_and_twice_is_once(view, tokens):
    plan = round_of(view, tokens)
    assert round_of(view, tokens) == plan
    after = marked(view, plan)
    assert round_of(after, tokens - plan.freed).cuts == {}
    assert project(marked(after, plan)).entries[: len(view.entries)] == project(after).entries[: len(view.entries)]


@pytest.mark.parametrize("cluster", ["👩🏽\u200d🦰", "🇩🇪", "\u1112\u1161\u11ab", "क्ष", "\ud83d\ude00", "\r\n"])
@pytest.mark.parametrize("shift", range(4))
def test_no_visible_character_is_ever_cut(cluster, shift):
    text = "n" * shift + cluster * (9_000 // len(cluster)) + "n" * shift
    cut = text_of(trimmed(ToolResult("c", "read", (Text(text),)), "e"))
    first, last = cut.split("\n[… ")[0].strip("n"), cut.rsplit(" …]\n")[-1].strip("n")
    assert first == cluster * (len(first) // len(cluster))
    assert last == cluster * (len(last) // len(cluster))
