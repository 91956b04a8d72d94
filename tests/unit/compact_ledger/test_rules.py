"""Rules are sentences in which the user says what always holds."""

import pytest

from clew.compact.rules import stated


@pytest.mark.parametrize(
    "rule",
    [
        "Never push to main.", "Please don't touch the migrations", "Only use the staging server.", "Tests must pass.",
        "From now on, answer in German.", "Make sure every file has a licence", "必须先运行测试。", "不要修改配置文件",
        "絶対に消さないでください。", "반드시 한국어로 답하세요", "No uses nunca la rama main",
        "Bitte immer auf Deutsch antworten.",
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
    ],
)
def test_other_sentences_are_none(words):
    assert stated(words) == []


def test_rules_inside_pasted_text_are_somebody_elses():
    pasted = "x\n" * 1000 + "You must not read this.\n" + "y\n" * 1000
    assert stated(f"Never rebase.\n{pasted}Always sign.") == ["Never rebase.", "Always sign."]
