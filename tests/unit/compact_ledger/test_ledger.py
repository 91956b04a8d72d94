"""The ledger keeps facts by key, the newest value wins, and rounds lose nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compact.ledger import SECTIONS, gather
from clew.compact.ledger_asks import ASKS
from clew.compact.ledger_shelf import CAPS
from clew.transcript import Entry, Ledger, Pin, User
from tests.unit.compact_ledger.talk import ask, ran, say, told


def states(ledger: Ledger, section: str) -> dict[str, str]:
    return {item.text: item.state for item in getattr(ledger, section)}


def test_the_last_answer_of_a_turn_closes_its_ask_even_if_the_turn_was_split():
    turn = told(ask("fix the login"), *ran("bash", command="ls"), *ran("bash", command="cat x"), say("All done."))
    half = gather(turn[:3])
    assert states(half, "asks") == {"fix the login": "open"}
    assert states(gather(turn[3:], half), "asks") == {"fix the login": "answered"}


def test_an_ask_is_open_again_when_the_turn_goes_on():
    turn = told(ask("fix the login"), say("I look."), *ran("bash", command="ls"))
    seen = gather(turn[:2])
    assert states(seen, "asks") == {"fix the login": "answered"}
    assert states(gather(turn[2:], seen), "asks") == states(gather(turn), "asks") == {"fix the login": "open"}


def test_a_message_that_only_acknowledges_is_no_ask_unless_there_is_no_other():
    assert states(gather(told(ask("fix it now"), say("done"), ask("好的"))), "asks") == {
        "fix it now": "answered",
        "好的": "nod",
    }
    assert states(gather(told(ask("ok"))), "asks") == {"ok": "open"}
    assert states(gather(told(ask("👍"), ask("fix it now"))), "asks") == {"👍": "nod", "fix it now": "open"}


def test_the_same_short_ask_is_another_event():
    ledger = gather(
        told(ask("go on"), say("done"), ask("fix the whole login page of the site"), say("ok"), ask("go on"))
    )
    assert [(one.text, one.state, one.uses, one.sources) for one in ledger.asks][-1] == ("go on", "open", 1, ("e4",))


def test_a_rule_that_was_lifted_stands_no_more_until_it_is_stated_again():
    told_so = [ask("Never restart prod."), ask("Correction: you may restart prod now.")]
    assert states(gather(told(*told_so)), "rules") == {"Never restart prod.": "lifted"}
    assert states(gather(told(*told_so, told_so[0])), "rules") == {"Never restart prod.": ""}


def test_the_first_rules_and_the_first_ask_outlive_the_caps():
    ledger = gather(told(*(ask(f"Never touch the module {chr(97 + n % 26)}_{n} again.") for n in range(400))))
    assert len(ledger.rules) == CAPS["rules"]
    assert (ledger.rules[0].text, ledger.rules[-1].at) == ("Never touch the module a_0 again.", 399)
    assert ledger.asks[0].at == 0


def test_an_ask_is_answered_when_the_turn_ends_and_another_one_follows():
    ledger = gather(told(ask("fix the login"), say("done"), ask("now the tests")))
    assert states(ledger, "asks") == {"fix the login": "answered", "now the tests": "open"}


def test_a_nudge_into_an_unfinished_turn_leaves_the_ask_open():
    ledger = gather(told(ask("fix the login"), *ran("bash", command="ls"), ask("go on")))
    assert states(ledger, "asks") == {"fix the login": "open", "go on": "open"}


def test_what_the_harness_says_is_no_ask_and_states_no_rule():
    ledger = gather(
        told(User(ask("Never stop.").blocks, synthetic=True), ask("<system-reminder>x</system-reminder> hi"))
    )
    assert [item.text for item in ledger.asks] == ["hi"]
    assert ledger.rules == ()


def test_a_file_keeps_its_last_change_and_a_later_read_does_not_hide_it():
    done = [
        *ran("Edit", file_path="/a.py"), *ran("Read", file_path="/a.py"), *ran("Write", file_path="/b.py"),
        *ran("Edit", file_path="/b.py"), *ran("Bash", command="rm /c.py"), *ran("Read", file_path="/d.py"),
    ]  # fmt: skip
    files = states(gather(told(*done)), "files")
    assert files == {"/a.py": "edited", "/b.py": "created", "/c.py": "deleted", "/d.py": "read"}


def test_a_new_list_replaces_the_one_before():
    first = ran("TodoWrite", todos=[{"content": "a", "status": "pending"}, {"content": "b", "status": "in_progress"}])
    second = ran("TodoWrite", todos=[{"content": "b", "status": "completed"}, {"content": "c", "status": "pending"}])
    assert states(gather(told(*first, *second)), "todos") == {"a": "gone", "b": "done", "c": "open"}


def test_a_task_keeps_the_number_its_tool_gave_it():
    made = ran("TaskCreate", "Task #7 created successfully: tests", subject="tests")
    ledger = gather(told(*made, *ran("TaskUpdate", taskId="7", status="completed")))
    assert [(item.key, item.text, item.state) for item in ledger.todos] == [("#7", "tests", "done")]


def test_a_failure_is_kept_with_its_line_until_the_same_command_succeeds():
    failed = ran("bash", "Exit code 2\nfoo\nerror: no such table", command="make  test")
    assert states(gather(told(*failed)), "failures") == {"make test → error: no such table": "failed"}
    again = gather(told(*failed, *ran("bash", "ok", command="make test")))
    assert [item.state for item in again.failures] == ["fixed"]


def test_a_pin_is_kept_whole_until_it_is_taken_off():
    words = "keep\n\nthis " * 3000
    pinned = Entry("p", None, 0, Pin("e9", words, "user"))
    assert gather([pinned]).pins[0].text == words
    assert gather([Entry("q", "p", 1, Pin("e9", words, "user", on=False))], gather([pinned])).pins == ()


def test_identifiers_come_best_first_with_their_best_provenance():
    ledger = gather(
        told(*ran("bash", "see out_of_sight in log_file", command="grep do_it src/a.py"), say("do_it is it"))
    )
    best = {item.text: (item.state, item.uses) for item in ledger.identifiers[:2]}
    assert best == {"do_it": ("aimed", 2), "src/a.py": ("aimed", 1)}
    assert states(ledger, "identifiers")["log_file"] == "seen"


WORDS = st.sampled_from(
    ["fix a_b in src/x.py", "Never touch INC0012345", "- [ ] c_d", "ok", "see v1.2.3", "必须 用 e_f"]
)
TURNS = st.lists(st.tuples(WORDS, WORDS, st.sampled_from(["src/x.py", "y.go", "z/w.md"])), min_size=1, max_size=6)


def spoken(turns: list[tuple[str, str, str]]) -> list[Entry]:
    return told(*(m for question, answer, path in turns for m in (ask(question), *ran("edit", path=path), say(answer))))


@settings(max_examples=40)
@given(TURNS, st.integers(0, 24))
def test_rounds_lose_no_key_and_add_up(turns, cut):
    entries = spoken(turns)
    once, twice = gather(entries), gather(entries[cut:], gather(entries[:cut]))
    assert twice.position == once.position == len(entries)
    for section in SECTIONS:
        whole = {item.key: item.uses for item in getattr(once, section)}
        assert {item.key: item.uses for item in getattr(twice, section)} == whole


@settings(max_examples=20)
@given(TURNS)
def test_the_same_entries_give_the_same_ledger(turns):
    assert gather(spoken(turns)) == gather(spoken(turns))


@pytest.mark.parametrize("size", [10, 50_000])
def test_sections_stay_within_their_caps(size):
    ledger = gather(told(*(ask(f"do {n} " + f"x_{n} " * (size // 10)) for n in range(400))))
    assert len(ledger.asks) <= CAPS["asks"]
    assert sum(len(item.text) for item in ledger.asks) <= ASKS + 80 * len(ledger.asks)
    assert len(ledger.identifiers) <= CAPS["identifiers"]
