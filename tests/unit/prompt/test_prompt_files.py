"""Workspace files within their budget: nothing over it, nothing parted, and what was cut is said."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.prompt import cut, digest
from clew.prompt.files import ORDER, WorkspaceFile, fit, visible

TEXTS = st.text("ab 你é\n😀👍🏽\u200d🇩🇪e\u0301한", max_size=400).map(lambda text: cut.normal(text) or "x")
LONG = "# Rules\nNever push to main.\n" + "prose goes on here\n" * 3_000


def file(name: str, size: int) -> WorkspaceFile:
    return WorkspaceFile(name, "x" * size)


@settings(max_examples=150)
@given(TEXTS, st.integers(0, 200))
def test_a_cut_text_is_within_its_size_and_a_whole_one_as_it_was(text, most):
    shown = cut.to_size(text, most, "USER.md")
    assert len(shown) <= most if len(text) > most else shown == text


def test_a_long_file_keeps_three_quarters_head_and_a_quarter_tail():
    shown = cut.to_size("h" * 30_000 + "t" * 30_000, 20_000, "USER.md")
    assert len(shown) == 20_000
    assert shown.count("h") - shown.count("t") == pytest.approx(10_000, abs=100)
    assert "of 60,000 characters left out here; read USER.md for them" in shown


def test_line_ends_blanks_and_lone_surrogates_are_normalised():
    assert cut.normal("\n a \t\r\nb\r\rc\ud83d \n") == "a\nb\n\nc\ufffd"


def test_sixty_thousand_together_are_used_up_in_the_order_of_the_files():
    shown = fit([file(name, 20_000) for name in reversed(ORDER)])
    assert [(one.name, len(one.text), one.cut) for one in shown] == [
        *((name, 20_000, "") for name in ORDER[:3]),
        *((name, 0, "left out") for name in ORDER[3:]),
    ]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from([*ORDER, "docs/AGENTS.md"]), TEXTS), max_size=6), st.integers(1, 900))
def test_no_files_are_over_the_total(files, total):
    shown = fit([WorkspaceFile(name, text * 3) for name, text in files], each=500, total=total)
    assert sum(len(one.text) for one in shown) <= total
    assert all(len(one.text) <= 500 for one in shown)
    assert all((one.cut == "") == (len(one.text) == one.raw_chars) for one in shown)


def test_a_file_cut_by_the_total_says_so_and_a_small_one_after_it_is_whole():
    shown = fit([file("SOUL.md", 900), file("USER.md", 900), file("AGENTS.md", 20)], each=1_000, total=1_500)
    assert [(one.name, one.cut) for one in shown] == [("AGENTS.md", ""), ("SOUL.md", ""), ("USER.md", "total")]


def test_rules_in_the_middle_of_a_long_agents_file_stay():
    middle = "## Releases\n- You must sign every tag.\n```\nnever = 1\n```\n"
    text = LONG + middle + "more prose goes here\n" * 3_000 + "the end"
    shown = digest.to_size(text, 20_000, "AGENTS.md")
    assert len(shown) <= 20_000
    assert shown.startswith("# Rules\nNever push to main.")
    assert "- You must sign every tag." in shown
    assert "never = 1" not in shown
    assert shown.endswith("the end")


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["- must 你好 " * 30, "prose", "# H", "必须测试", "```"]), max_size=150),
    st.integers(900, 4_000),
)
def test_a_digest_is_within_its_size(rows, most):
    text = "\n".join(rows)
    assert len(digest.to_size(text, most, "AGENTS.md")) <= most or len(text) <= most


def test_a_file_that_cannot_be_read_says_why_and_a_missing_one_nothing():
    (one,) = fit([WorkspaceFile("SOUL.md", None, "no permission"), WorkspaceFile("USER.md", None)])
    assert one.text == "[SOUL.md could not be read: no permission]"


@pytest.mark.parametrize(("audience", "names"), [
    ("direct", [*ORDER, "notes/TEAM.md"]),
    ("group", [name for name in ORDER if name != "MEMORY.md"]),
    ("scheduled", ["AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md"]),
    ("subagent", ["AGENTS.md"]),
])  # fmt: skip
def test_what_was_noted_for_one_person_is_shown_to_that_person(audience, names):
    shown = visible([file(name, 5) for name in (*ORDER, "notes/TEAM.md")], audience)
    assert [one.name for one in shown] == names
