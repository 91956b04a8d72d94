"""What rules put right in a draft."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compact.audit import Draft, Evidence, audit
from clew.compact.brief import ASKS, HEADINGS, IDENTIFIERS, body
from clew.compact.repair import complete, normalise, plain_lines, restore, shorten, strip
from clew.compact.source import Source
from clew.tokens import estimate
from tests.unit.compact.test_audit import ASK, EVIDENCE, GOOD, SOURCE

DRIFTED = """Here is the brief:

```markdown
**Key Decisions:**
- The login timeout was raised to 90 seconds in src/auth/login.py; both tests pass.
### Constraints & Rules
- never touch the migrations folder
# TODOs
- 把订单服务的数据库迁移到新集群
## Pending User Asks:
None
## EXACT IDENTIFIERS
- AUTH-731
```"""


def headings(text):
    return [line for line in text.split("\n") if line.startswith("## ")]


def test_headings_are_spelled_ordered_and_single():
    text = normalise(DRIFTED.replace("Here is the brief:\n\n", ""))
    assert headings(text) == list(HEADINGS)
    assert body(text, HEADINGS[2]) == ["- never touch the migrations folder"]


def test_a_heading_that_is_missing_stays_missing_until_it_is_completed():
    text = normalise(GOOD.replace("## Open TODOs\n- 把订单服务的数据库迁移到新集群\n\n", ""))
    assert headings(text) == [h for h in HEADINGS if h != "## Open TODOs"]
    assert headings(complete(text)) == list(HEADINGS)


def test_both_runs_of_a_heading_that_stood_twice_are_kept_each_line_once():
    text = normalise("## Decisions\n- a\n## Open TODOs\n- t\n## Decisions\n- a\n- b")
    assert text.startswith("## Decisions\n- a\n- b\n\n## Open TODOs\n- t")


def test_reasoning_and_introductions_are_not_part_of_a_brief():
    assert normalise("<think>hm</think>Sure, here you go:\n## Decisions\n- a") == "## Decisions\n- a"


def test_a_heading_inside_a_fence_is_text():
    text = normalise("## Decisions\n```\n## Open TODOs\n```\n- a")
    assert "## Open TODOs" in text
    assert len(body(text, HEADINGS[1])) == 0


@given(st.text("#*-: \nDecisionsOpenTODOs`a你", max_size=120))
def test_normalising_twice_is_normalising_once(draft):
    assert normalise(normalise(draft)) == normalise(draft)


def test_dropped_identifiers_and_the_open_ask_are_put_back_and_the_brief_passes():
    draft = GOOD.replace("- 7f3a9c2e1b", "").replace(f"- {ASK}", "None.")
    mended = restore(normalise(draft), "", EVIDENCE)
    assert mended.restored == ("7f3a9c2e1b", ASK)
    assert audit(Draft(mended.text, mended.text), EVIDENCE) == ()
    assert "None." not in mended.text


def test_what_the_ledger_below_holds_is_not_put_back_a_second_time():
    draft = normalise(GOOD.replace("- 7f3a9c2e1b", ""))
    assert restore(draft, "- ids: 7f3a9c2e1b", EVIDENCE).restored == ()


def test_an_answered_ask_is_not_put_back_under_pending():
    evidence = Evidence(SOURCE, ask="Fix the login timeout", ask_open=False)
    draft = "\n\n".join(f"{heading}\nNone." for heading in HEADINGS)
    mended = restore(draft, "", evidence)
    assert body(mended.text, ASKS) == []
    assert "Fix the login timeout" in mended.text


def test_an_invented_identifier_goes_with_its_line_and_true_lines_stay():
    draft = normalise(GOOD + "\n- AUTH-999 is the ticket")
    stripped = strip(draft, EVIDENCE)
    assert stripped.dropped == ("- AUTH-999 is the ticket",)
    assert body(stripped.text, IDENTIFIERS) == ["- AUTH-731", "- 7f3a9c2e1b"]


@pytest.mark.parametrize("budget", [60, 120, 400, 2_000])
def test_a_long_draft_is_cut_to_its_budget_line_by_line(budget):
    draft = normalise(GOOD + "".join(f"\n- item number {n} of the list" for n in range(200)))
    short = shorten(draft, budget, estimate.text)
    assert estimate.text(short.text) <= max(budget, 90)
    assert headings(short.text) == list(HEADINGS)
    assert len(short.dropped) + short.text.count("\n- ") == draft.count("\n- ")


def test_the_words_on_a_split_turn_open_no_section():
    text = plain_lines("## Original Request\nfix it\n\n## Original Request\n- done")
    assert text == "- Original Request\nfix it\n- done"


def test_an_empty_source_supports_nothing_and_judges_nothing_short():
    assert Source([]).support("- one two")[1] == 1.0
    assert Source([]).support("- the payroll exporter rounds every currency")[1] == 0.0
