"""A ledger as text: five headings, a budget that holds, words that stay inert, lines that know their sources."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compact.identifiers import missing
from clew.compact.ledger import gather, render
from clew.compact.ledger_layout import portions
from clew.compact.ledger_paths import legible, root
from clew.compact.ledger_render import HEADINGS
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
    assert text.count("/srv/app") <= 2


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
