"""Decisions: what reads as one by itself, and nothing else."""

import pytest

from clew.compact.ledger import gather
from clew.compact.ledger_decisions import choices, commits, decisions
from clew.transcript import Call
from tests.unit.compact_ledger.talk import ask, ran, say, told


@pytest.mark.parametrize(
    "sentence",
    [
        "We decided to keep `main` as the base.", "The root cause is that `.clew/` is counted too.",
        "The fix was adding `--setting-sources user` to the call.", "I've decided against `lru_cache` for now.",
        "Use `InteractiveMode` instead of `TuiRenderer`.", "决定采用单一分支方案来替代多个后缀。",
    ],
)  # fmt: skip
def test_a_sentence_that_states_a_decision_is_kept(sentence):
    assert [one.text for one in decisions(f"I looked around. {sentence}\nNow on.")] == [sentence]


@pytest.mark.parametrize(
    "words",
    [
        "The problem is clear.", "Confirmed, you're right.", "Now I'll implement the fix in `a_b`.",
        "Let's use find_file to see where it is.", "**4 PRs instead of 4** but in `a_b`",
        "[Assistant] I'll use `a_b` instead of `c_d` there", "The issue is likely that `a_b` is gone.",
        "it goes into an `open()` call!Instead of `a_b` it shows the file.", "> We decided to use `a_b` instead.",
        "```\nThe root cause is that a_b is gone.\n```", "Should we use `a_b` instead of `c_d` here?",
        "For example: we decided to use `a_b` instead.",
    ],
)  # fmt: skip
def test_chatter_guesses_and_quotations_are_none(words):
    assert decisions(words) == []


def test_a_later_finding_takes_the_place_of_the_one_before_it():
    ledger = gather(
        told(
            ask("why does it fail?"), say("The root cause is that `a_b` is empty."), *ran("bash", command="ls"),
            say("The root cause is that `c_d` is closed."), say("Use `x_1` instead of `y_1` for it."),
            say("Use `y_1` instead of `x_1` for it."),
        )
    )  # fmt: skip
    texts = [item.text for item in ledger.decisions]
    assert texts == ["The root cause is that `c_d` is closed.", "Use `y_1` instead of `x_1` for it."]


def test_commits_are_named_by_their_subject_once_they_were_made():
    here = "git add -A && git commit -m \"$(cat <<'EOF'\nfix: don't lose the tail\n\nmore\nEOF\n)\""
    assert [one.text for one in commits(here)] == ["committed: fix: don't lose the tail"]
    assert commits("git commit -m 'Merge branch x'") == commits("echo 'git commit -m' done") == []
    failed = ran("bash", "Exit code 1\nnothing to commit", command="git commit -m 'Change the tail'", error=True)
    assert gather(told(*failed)).decisions == ()


def test_a_choice_is_one_of_the_options_that_were_offered():
    call = Call(
        "c", "AskUserQuestion", {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}
    )
    assert [one.text for one in choices(call, 'They said: "Which?"="B".')] == ["the user chose: Which? → B"]
    assert choices(call, '"Which?"="but what is A good for?"') == []
