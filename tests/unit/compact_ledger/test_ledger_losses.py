"""What neither brief nor tail shows of a ledger is named, and nothing else."""

import pytest

from clew.compact.ledger import gather, render, unrendered
from clew.transcript import Entry, Pin
from tests.unit.compact_ledger.talk import ask, ran, say, told

PIN = Entry("p", None, 0, Pin("e9", "keep this\n\n- and that", "user"))
WORK = [
    PIN,
    *told(
        ask("> as you said\nplease go through the parser\n\nNever change the API."), say("ok"),
        *ran("Edit", file_path="/srv/app/src/parser.py"), *ran("Read", file_path="/srv/app/src/lexer.py"),
        *ran(
            "TodoWrite", todos=[{"content": "write the docs", "status": "pending"}, {"content": "x", "status": "done"}]
        ),
        say("done"), ask("and now " + "the very long rest " * 60),
    ),
]  # fmt: skip


@pytest.mark.parametrize("standalone", [True, False])
def test_nothing_is_missing_from_a_brief_that_holds_it_all(standalone):
    ledger = gather(WORK)
    assert unrendered(ledger, render(ledger, 4000, standalone=standalone).text) == {}
    assert unrendered(ledger, render(ledger, 400, standalone=standalone).text) == {}


def test_what_is_nowhere_is_named_by_section():
    lost = unrendered(gather(WORK), "nothing but src/parser.py")
    assert {section: len(items) for section, items in lost.items()} == {
        "asks": 2, "rules": 1, "pins": 1, "todos": 1, "files": 2,
    }  # fmt: skip


def test_a_rule_that_was_lifted_and_a_nod_are_not_missed():
    ledger = gather(
        told(ask("Never restart prod."), say("ok"), ask("You may restart prod now."), say("ok"), ask("thanks"))
    )
    assert set(unrendered(ledger, "")) == {"asks"}
    assert [item.text for item in unrendered(ledger, "")["asks"]] == [
        "Never restart prod.",
        "You may restart prod now.",
    ]
