"""Skills are listed by name, description and place, and never by their text; sections come back after a compaction."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.prompt.refresh import post_compaction_sections
from clew.prompt.skills import Skill, lines, read

FRONTS = {
    "plain": "name: pdf\ndescription: Reads: and writes",
    "quoted": "name: \"pdf\"\ndescription: 'Reads: and writes'",
    "folded": "name: pdf\ndescription: >-\n  Reads: and\n  writes\nversion: 2",
    "continued": "name: pdf\ndescription: Reads:\n  and writes",
    "between others": "license: MIT\nname: pdf\nmetadata:\n  name: other\ndescription: Reads: and writes",
}


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_front_matter_is_read(front, end):
    text = f"---\n{front}\n---\n# Body\nname: body".replace("\n", end)
    assert read("skills/pdf/SKILL.md", text) == Skill("pdf", "Reads: and writes", "skills/pdf/SKILL.md")


def test_the_folder_stands_for_a_missing_name():
    assert read("skills/docx/SKILL.md", "---\ndescription: d\n---").name == "docx"


@pytest.mark.parametrize("text", ["", "# no front matter", "---\nname: x\n---", "---\nname: x"])
def test_what_describes_no_skill_is_none(text):
    assert read("a/SKILL.md", text) is None


def test_a_line_has_name_description_and_place_and_lines_stand_by_name():
    shown = lines([Skill("b", "does b", "s/b"), Skill("A", "does a", "s/a")])
    assert [line for _, line in shown] == ["- A: does a (s/a)", "- b: does b (s/b)"]


@settings(max_examples=60)
@given(st.integers(0, 200), st.integers(0, 300), st.integers(0, 20_000))
def test_the_list_is_within_its_budget(count, described, most):
    skills = [Skill(f"skill-{number:03}", "d" * described, f"skills/{number}/SKILL.md") for number in range(count)]
    shown = lines(skills, most_chars=most)
    assert sum(len(line) + 1 for _, line in shown) <= most
    assert len(shown) <= 150


def test_descriptions_are_shortened_before_skills_are_left_out():
    skills = [Skill(f"s{number}", "d" * 500, "p") for number in range(100)]
    assert {len(line) < 200 for _, line in lines(skills)} == {True}
    assert len(lines(skills)) == 100
    assert [line for _, line in lines(skills, most_chars=20)] == ["- s0 (p)", "- s1 (p)"]


AGENTS = """# Top
## Session Startup
Read memory/YYYY-MM-DD.md.
### Detail
More.
```
## Red Lines
in a fence
```
## red lines ##
Never delete.
# Other
## Safety
Old name.
"""


def test_sections_are_found_by_name_outside_fences_up_to_the_next_heading_as_high():
    shown = post_compaction_sections(AGENTS, ["SESSION startup", "Red Lines"], "2026-11-30")
    assert "Read memory/2026-11-30.md.\n### Detail\nMore." in shown
    assert shown.endswith("## red lines ##\nNever delete.")
    assert "do not start over" in shown


def test_a_section_of_the_third_level_ends_at_the_second():
    shown = post_compaction_sections(AGENTS.replace("```", ""), ["Detail"], "2026-11-30")
    assert shown.endswith("### Detail\nMore.")


@pytest.mark.parametrize(("names", "found"), [
    (("Red Lines", "Session Startup"), True), (("Red Lines",), False), (("Nothing", "Safe"), False), ((), False),
])  # fmt: skip
def test_exactly_the_usual_pair_falls_back_to_its_former_names(names, found):
    former = "## Every Session\nGreet.\n## Safety\nAsk."
    assert ("Greet." in post_compaction_sections(former, names, "2026-11-30")) is found


def test_sections_are_cut_to_their_budget():
    shown = post_compaction_sections("## Red Lines\n" + "rule 😀\n" * 2_000, ["red lines"], "2026-11-30")
    assert 1_700 < len(shown) < 2_200
    assert "read AGENTS.md for them" in shown
