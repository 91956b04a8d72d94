"""A report counts everything a request carries, and keeps apart what a compaction can change."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.models.port import Tool
from clew.prompt.assemble import Changing, Standing, assemble
from clew.prompt.files import WorkspaceFile
from clew.prompt.fixed import Fixed, tools_size
from clew.prompt.report import Part, Report, report
from clew.prompt.treemap import GROUPS, characters, rectangles
from clew.render import as_json
from clew.tokens import estimate
from clew.tokens.usage import Size
from clew.tokens.window import LADDER
from clew.transcript import Call, Media, User, assistant, result, user, view
from tests.unit.making import entries, sizes

TOOLS = (
    Tool("read", "Reads a file.", {"type": "object", "properties": {"path": {}, "from": {}}}),
    Tool("ping", "", {}),
)
CALL = Call("c1", "read", {"path": "a"})
MADE = entries(user("hello there"), assistant("", CALL), result(CALL, "line\n" * 50))
PROMPT = assemble(
    Standing(files=(WorkspaceFile("AGENTS.md", "rule\n" * 9_000),), tools=("read",)), Changing(model="a/b")
)


def made(**more):
    return report(view(MADE), sizes(MADE), **more)


def test_without_a_prompt_only_the_conversation_is_counted():
    plain = made(window=1_000)
    assert (plain.fixed, plain.fixed_tokens) == ((), 0)
    assert plain.estimated == plain.history_tokens == sum(part.tokens for part in plain.parts)


def test_fixed_cost_and_history_are_apart_and_add_up():
    whole = made(window=32_768, prompt=PROMPT, tools=TOOLS)
    assert whole.fixed_tokens == sum(piece.tokens for piece in whole.fixed) > 5_000
    assert whole.history_tokens == made().history_tokens
    assert whole.size.tokens == whole.fixed_tokens + made().size.tokens
    assert whole.free == 32_768 - whole.size.tokens


def test_a_cut_file_shows_what_it_was_and_what_is_shown():
    (piece,) = [piece for piece in made(prompt=PROMPT).fixed if piece.name == "AGENTS.md"]
    assert (piece.raw_chars, piece.injected_chars, piece.cut, piece.side) == (44_999, 20_000, "file", "stable")


def test_each_tool_schema_is_sized_with_its_parameters():
    read, ping = tools_size(TOOLS)
    assert (read.name, read.parameters, ping.parameters) == ("read", 2, 0)
    assert read.tokens > ping.tokens > 0


def test_a_counter_counts_in_place_of_the_estimator():
    assert made(prompt=PROMPT, tools=TOOLS, count=lambda text: 1).fixed_tokens == len(PROMPT.parts) + 2 * 9


@pytest.mark.parametrize(("window", "doubtful", "free"), [(10, True, 0), (100_000, False, None), (None, False, None)])
def test_more_than_the_window_holds_is_doubtful(window, doubtful, free):
    shown = made(window=window)
    assert shown.doubtful is doubtful
    assert shown.free == (window - shown.size.tokens if free is None and window else free)


def test_json_has_every_piece_and_the_ladder_of_the_table():
    plain = json.loads(as_json.dumps(as_json.context(made(window=32_768, prompt=PROMPT, tools=TOOLS))))
    assert [step["step"] for step in plain["ladder"]] == [step.name for step in LADDER]
    assert plain["ladder"][2]["at"] == 24_576
    assert {piece["group"] for piece in plain["fixed"]} == {"system prompt", "workspace files", "tools"}
    assert plain["fixedTokens"] + plain["historyTokens"] == plain["estimated"]


def test_an_image_takes_the_map_by_its_cost_and_not_by_its_base64():
    picture = entries(User((Media("image/png", "A" * 1_000_000),)))
    assert characters(report(view(picture), sizes(picture))) == {
        "conversation": (estimate.IMAGE_TOKENS + estimate.MESSAGE_TOKENS) * 4
    }


FIXED = st.builds(
    Fixed,
    group=st.sampled_from(GROUPS[1:]),
    name=st.text("ab", min_size=1),
    tokens=st.just(1),
    chars=st.integers(0, 10**7),
)
REPORTS = st.lists(FIXED, max_size=60).map(
    lambda fixed: Report(
        Size(1, "estimated"), 1, (Part("media", 9, 1, 9), Part("user words", 5, 1, 70)), (), 1, fixed=(*fixed,)
    )
)


@settings(max_examples=100, deadline=None)
@given(REPORTS, st.sampled_from([(60, 24), (120, 48), (1232, 734)]), st.sampled_from([(0, 0), (24, 4)]))
def test_every_piece_is_inside_its_group_and_every_group_inside_the_map(report, size, frame):
    width, height = size
    regions = rectangles(report, width, height, strip=frame[0], gap=frame[1], least=12)
    near = 1e-6 * width
    for region in regions:
        for inner, outer in ((region.box, None), *((piece, region.box) for piece in region.pieces)):
            left, top, right, bottom = (
                (outer.x, outer.y, outer.x + outer.width, outer.y + outer.height) if outer else (0, 0, *size)
            )
            assert left - near <= inner.x <= inner.x + inner.width <= right + near
            assert top - near <= inner.y <= inner.y + inner.height <= bottom + near
        assert all(one.chars >= other.chars for one, other in pairwise(region.pieces))


@settings(max_examples=60, deadline=None)
@given(REPORTS)
def test_areas_are_as_the_characters_and_nothing_is_lost(report):
    regions = rectangles(report, 100, 100)
    assert sum(region.box.chars for region in regions) == sum(characters(report).values())
    assert {region.group: sum(piece.chars for piece in region.pieces) for region in regions} == characters(report)
    for region in regions:
        assert region.box.width * region.box.height == pytest.approx(region.box.share * 10_000, rel=1e-6)


def test_an_empty_report_has_no_rectangles():
    assert rectangles(Report(Size(0, "estimated"), 0, (), (), 0), 100, 100) == ()
