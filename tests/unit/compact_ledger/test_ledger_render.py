"""A ledger as text: five headings, a budget that holds, words that stay inert, lines that know their sources."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compact.identifiers import missing
from clew.compact.ledger import gather, render
from clew.compact.ledger_layout import portions
from clew.compact.ledger_paths import legible, root
from clew.compact.ledger_render import HEADINGS, MOST_DECISIONS, MOST_RULES, OLDEST_RULES
from clew.tokens import estimate
from clew.transcript import Entry, Ledger, Pin
from tests.unit.compact_ledger.talk import ask, ran, say, told

WORK = told(
    ask("Refactor the parser in /srv/app/src/parser.py\n## Decisions\nNever change the API."), say("I'll use a table."),
    *ran("Read", file_path="/srv/app/src/parser.py"),
    *ran("Edit", file_path="/srv/app/src/parser.py", new="def parse_one"),
    *ran("Bash", "Exit code 1\nerror: parse_two is undefined", command="pytest src/parser.py --maxfail=1"),
    *ran("TodoWrite", todos=[{"content": "write the docs", "status": "pending"}]),
    say("Halfway."), ask("And the docs?"),
)  # fmt: skip


def headings(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("## ")]


def test_by_itself_it_has_the_five_headings_once_and_in_order():
    text = render(gather(WORK), 2000, standalone=True).text
    assert headings(text)[:5] == list(HEADINGS)
    assert len(set(headings(text))) == len(headings(text))
    assert "- [ ] write the docs" in text.split("## Constraints")[0]


def test_below_prose_it_repeats_none_of_the_five():
    text = render(gather(WORK), 2000, standalone=False).text
    assert not set(headings(text)) & set(HEADINGS)
    assert "Never change the API." in text


def test_an_empty_ledger_says_none_under_each_heading():
    text = render(Ledger(), 2000, standalone=True).text
    assert text.split("\n\n") == [f"{heading}\nNone." for heading in HEADINGS]
    assert render(Ledger(), 2000, standalone=False).text == ""


def test_a_heading_in_quoted_words_stays_quoted():
    text = render(gather(WORK), 2000, standalone=True).text
    assert "> ## Decisions" in text
    assert text.split("\n").count("## Decisions") == 1


def test_an_open_ask_is_pending_and_an_answered_one_is_not():
    pending = render(gather(WORK), 2000, standalone=True).text.split("## Pending user asks\n")[1].split("\n## ")[0]
    assert "And the docs?" in pending
    assert "Refactor" not in pending


def test_an_ask_is_cut_only_where_the_room_is_short():
    words = " ".join(f"step{n}" for n in range(300))
    ledger = gather(told(ask("first thing"), say("done"), ask(words)))
    assert words in render(ledger, 4000, standalone=True).text
    short = render(ledger, 300, standalone=True)
    assert ("step0 " in short.text, "step299" in short.text, "characters left out" in short.text) == (True, True, True)
    assert "asks" in short.losses


def test_the_root_is_stated_once_and_every_path_still_occurs():
    ledger = gather(WORK)
    text = render(ledger, 2000, standalone=True).text
    assert missing([item.text for item in ledger.identifiers], text) == []
    assert text.count("/srv/app") <= 3


def test_every_line_of_a_fact_knows_where_it_comes_from():
    rendered = render(gather(WORK), 2000, standalone=True)
    written = rendered.text.split("\n")
    assert [line.number for line in rendered.lines] == list(range(1, len(written) + 1))
    bare = [written[line.number - 1] for line in rendered.lines if not line.sources]
    assert all(line in ("", "None.") or line.startswith("## ") for line in bare)
    docs = next(line for line in rendered.lines if "write the docs" in written[line.number - 1])
    assert docs.sources == ("e8",)


def test_names_shown_beside_the_brief_are_not_written_again():
    ledger = gather(told(say("see first_name and other_name")))
    text = render(ledger, 2000, standalone=True, shown="the first_name is in view").text
    assert "first_name" not in text
    assert "other_name" in text


def section(text: str, heading: str) -> str:
    return text.split(f"{heading}\n")[1].split("\n\n## ")[0]


def test_exact_identifiers_come_before_names_in_code_and_are_never_said_to_be_none():
    text = render(gather(told(ask("see JIRA-12"), say("do_it in a.py"))), 2000, standalone=True).text
    assert section(text, "## Exact identifiers") == "- ids: JIRA-12\n- paths: a.py"
    assert text.endswith("## Names in code\n- code: do_it")
    only_files = render(gather(told(*ran("Read", file_path="/x/b.py"))), 2000, standalone=True).text
    assert section(only_files, "## Exact identifiers") == "- paths: /x/b.py"


def test_asks_stand_in_order_with_the_first_marked_and_gaps_named():
    said = [m for n in range(40) for m in (ask(f"ask number {n} about " + f"word{n} " * 12), say("ok"))]
    rows = section(render(gather(told(*said)), 900, standalone=True).text, "## User asks, oldest first").split("\n")
    assert rows[0].startswith("- (the first")
    assert rows[1].startswith("- … ")
    assert [int(row.split("number ")[1].split()[0]) for row in rows[2:]] == list(range(42 - len(rows), 40))


def test_a_quotation_in_an_ask_is_marked_once():
    text = render(gather(told(ask("> you said so\n> > twice\nwhy?"), say("so"))), 2000, standalone=True).text
    assert "- » you said so\n> » twice\n> why?" in text


def test_too_many_rules_are_cut_in_the_middle_and_not_in_silence():
    rendered = render(gather(told(*(ask(f"Never touch a_{n} again.") for n in range(100)))), 9000, standalone=True)
    rules = section(rendered.text, "## Constraints/Rules").split("\n")
    assert len(rules) == MOST_RULES
    assert (rules[OLDEST_RULES - 1], rules[OLDEST_RULES]) == ("- Never touch a_9 again.", "- Never touch a_50 again.")
    assert "rules" in rendered.losses


def test_what_the_tail_shows_takes_no_room():
    ledger = gather(
        told(ask("look at the parser of the project"), *ran("Read", file_path="/x/b.py"), say("ok"), ask("go"))
    )
    assert "b.py" in render(ledger, 2000, standalone=False).text
    text = render(ledger, 2000, standalone=False, shown="look at the parser\nof the project /x/b.py").text
    assert ("b.py" in text, "the parser" in text) == (False, False)


def test_decisions_are_few_and_leave_room_for_others_than_commits():
    said = [m for n in range(9) for m in ran("bash", command=f"git commit -m 'Change the part {n}'", id=f"c{n}")]
    told_so = [say(f"We decided to use `a_{n}` instead of `b_{n}` here.") for n in range(9)]
    rows = section(render(gather(told(*said, *told_so)), 4000, standalone=True).text, "## Decisions").split("\n")
    assert len(rows) <= MOST_DECISIONS
    assert sum("committed" in row for row in rows) < sum("decided" in row for row in rows)


def test_escape_sequences_are_not_written():
    failed = ran("bash", "Exit code 1\n\x1b[31merror: bad\x1b[0m", command="make \x1b[1mx")
    assert "\x1b" not in render(gather(told(ask("\x1b[31mred\x1b[0m line"), *failed)), 2000, standalone=True).text


def test_pins_and_rules_are_the_floor_of_any_budget():
    pin = Entry("p", None, 0, Pin("e0", "line one\n\nline three " + "word " * 300, "user"))
    text = render(gather([pin, *WORK]), 50, standalone=True).text
    assert "> line one\n>\n> line three" in text
    assert text.count("word") == 300
    assert "Never change the API." in text


LINES = st.lists(st.text(alphabet="ab_/.# \n例9", max_size=60), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(LINES, st.integers(200, 3000), st.booleans())
def test_the_budget_holds_and_nothing_is_cut_in_silence(lines, budget, standalone):
    ledger = gather(told(*(ask(f"{n} {line}") if n % 2 else say(line) for n, line in enumerate(lines))))
    rendered = render(ledger, budget, standalone=standalone)
    assert estimate.text(rendered.text) <= budget
    if not rendered.losses:
        assert missing([item.text for item in ledger.identifiers], rendered.text) == []


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 500), min_size=1), st.integers(0, 1000))
def test_portions_fit_the_room_and_waste_none_that_is_wanted(wanted, room):
    given = portions(wanted, dict.fromkeys("abcd", 0.25), room)
    assert sum(given.values()) <= room
    assert all(given[name] <= max(wanted[name], room) for name in wanted)
    if sum(wanted.values()) <= room:
        assert given == wanted


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["/srv/app/src/a.py", "/srv/app/src/b/c.py", "src/a.py", "src/b/c.py"], "/srv/app"),
        (["/srv/app/src/a.py", "/srv/app/src/b.py", "/etc/hosts"], "/srv/app"),
        (["src/a.py", "/etc/hosts"], ""),
    ],
)
def test_the_root_is_where_the_session_works(paths, found):
    assert root(paths) == found


def test_a_long_name_shows_the_short_ones_in_it():
    assert {"b/x.py", "x.py", "a/b"} <= legible("a/b/x.py")
    assert legible("pkg.do_it") == {"pkg.do_it", "pkg", "do_it"}
