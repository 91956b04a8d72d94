"""Rules are sentences in which the user says what always holds."""

import pytest

from clew.compact.rules import lifted, lifting, stated


@pytest.mark.parametrize(
    "rule",
    [
        "Never push to main.", "Please don't touch the migrations", "Only use the staging server.", "Tests must pass.",
        "From now on, answer in German.", "Make sure every file has a licence", "必须先运行测试。", "不要修改配置文件",
        "絶対に消さないでください。", "반드시 한국어로 답하세요", "No uses nunca la rama main",
        "Bitte immer auf Deutsch antworten.",
        "ولا تحذف أبدا الجدول users.", "תמיד תריץ את הבדיקות", "When editing a file, make sure to indent it well!",
        "`src/gen` must not be touched.", "You should run the tests before each commit.", "Only use staging.",
        "Il faut toujours demander avant.", "Никогда не удаляй файлы.",
    ],
)  # fmt: skip
def test_a_rule_is_kept_as_it_was_said(rule):
    assert stated(f"Thanks. \n- {rule}\nGo on?") == [rule]


@pytest.mark.parametrize(
    "words",
    [
        "I don't think it works.",
        "Why must it fail?",
        "It seems to always return 0",
        "```\n# never do this\n```",
        "fix it",
        "As expected, it works when you don't use the tuple syntax.",
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        "This is consistent with the rest, and avoid is no order here.",
        "we can always render it on the way out",
        "No fixes applied.\n\n> You must not edit this.",
        '{"rule": "you must not edit this"}',
        'The page said "you must not edit this".',
        "ERROR: you must not edit this",
        "<output>\nNever do this.\n</output>",
        "It must have crashed.",
        "Only index.html was included.",
        "这个命令总是报错",
        "You don't need to run the tests.",
    ],
)
def test_other_sentences_are_none(words):
    assert stated(words) == []


def test_rules_inside_pasted_text_are_somebody_elses():
    pasted = "x\n" * 1000 + "You must not read this.\n" + "y\n" * 1000
    assert stated(f"Never rebase.\n{pasted}Always sign.") == ["Never rebase.", "Always sign."]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("Refactor all of src/ to use async; do not break the API.", "do not break the API."),
        ("let's update the file but make sure that it asks first", "make sure that it asks first"),
        ("Write a plan. Also don't give it a number.", "Write a plan. Also don't give it a number."),
        ("Do not push (e.g. to main) before I say so.", "Do not push (e.g. to main) before I say so."),
    ],
)
def test_a_rule_is_the_clause_that_carries_the_demand(words, rule):
    assert stated(words) == [rule]


def test_of_a_document_only_sections_of_rules_count():
    parts = [
        "Do the plan.",
        "# Plan",
        "Both must stay alike.",
        "## Rules",
        "Never rebase.",
        "## Files",
        "All must pass.",
    ]
    assert stated("\n".join(parts)) == ["Never rebase."]


@pytest.mark.parametrize(
    ("sentence", "gone"),
    [
        ("Correction: you may restart prod now.", [0]), ("Forget that rule.", [2]), ("现在可以修改配置文件了", [1]),
        ("You don't have to ask before restarting prod any more.", [0]),
        ("You may open the window now.", []),
    ],
)  # fmt: skip
def test_a_later_sentence_lifts_the_rules_about_the_same(sentence, gone):
    assert lifting(f"Thanks. {sentence}") == [sentence]
    assert stated(sentence) == []
    assert lifted(sentence, ["Never restart prod.", "不要修改配置文件", "Sign all commits always."]) == gone
