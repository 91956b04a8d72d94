"""`clew recall`: found in any language, opened word for word, and one clear sentence for what is asked wrongly."""

import json
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

from clew.cli.commands import app
from clew.engine.history import Hit
from clew.recall.excerpt import Excerpt
from clew.render.recall import hits
from clew.render.text import columns

KEY = "agent:main:x"
LONG = "def login(user):\n" + "    pass  # filler\n" * 2_000 + "    raise LoginTimeout\n"
CHAT = [
    {"role": "user", "content": "请修复 src/auth/login.py 的登录超时，工单 AUTH-731。"},
    {
        "role": "assistant",
        "content": "I read it.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "src/auth/login.py"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": LONG},
    {"role": "assistant", "content": "登录超时已修复，从 60 秒改为 90 秒。\x1b[2J"},
    {"role": "user", "content": "Now the payments cache."},
]


def clew(*words: str, code: int = 0):
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def told(*words: str):
    return json.loads(clew(*words, "--json").stdout)


@pytest.fixture
def chat(home):
    file = home / "chat.json"
    file.write_text(json.dumps(CHAT, ensure_ascii=False), encoding="utf-8")
    clew("import", str(file), "--as", KEY)
    return home


def test_words_are_found_and_shown_with_number_and_speaker(chat):
    first, *_, last = clew("recall", KEY, "AUTH-731").stdout.splitlines()
    assert first.split()[0] == "#1"
    assert first.split("  ")[-1].startswith("请修复 src/auth/login.py 的登录超时")
    assert last == f"Open one: clew recall {KEY} --open '#1'."


def test_two_characters_of_chinese_find_what_holds_them(chat):
    found = told("recall", KEY, "超时")
    assert {hit["seq"] for hit in found["hits"]} == {1, 4}
    hit = found["hits"][0]
    assert hit["excerpt"][slice(*hit["marks"][0])] == "超时"


def test_a_search_is_narrowed_by_pattern_role_and_number(chat):
    assert [hit["seq"] for hit in told("recall", KEY, "--regex", r"Login[A-Z]\w+")["hits"]] == [3]
    assert [hit["seq"] for hit in told("recall", KEY, "超时", "--role", "assistant")["hits"]] == [4]
    found = told("recall", KEY, "--role", "user", "--limit", "1")
    assert ([hit["seq"] for hit in found["hits"]], found["more"]) == ([5], True)


def test_what_was_compacted_away_is_found_and_says_so(chat):
    name = told("compact", KEY, "--by-rules", "--keep", "10")["result"]["id"]
    assert f"← {name}" in clew("recall", KEY, "AUTH-731").stdout
    assert told("recall", KEY)["roots"][0]["id"] == name
    assert "#1 to #4" in clew("recall", KEY).stdout
    assert name in clew("recall", KEY, "--describe", name).stdout


def test_an_entry_alone_in_a_pipe_is_its_words_and_nothing_else(chat):
    assert clew("recall", KEY, "--open", "#3").stdout_bytes == LONG.encode()
    assert told("recall", KEY, "--open", "#3")["entries"][0]["text"] == LONG


def test_several_entries_stand_below_headings(chat):
    said = clew("recall", KEY, "--open", "#1", "--to", "#3").stdout
    assert [line.split(" · ")[0] for line in said.splitlines() if line.startswith("---")] == [
        "--- #1", "--- #2", "--- #3",
    ]  # fmt: skip
    assert LONG in said
    assert '[call c1 of read] {"path":"src/auth/login.py"}' in said


def test_nothing_found_says_what_to_try(chat):
    done = clew("recall", KEY, "zebra")
    assert "Nothing of “zebra” was found" in done.stdout
    assert "Try fewer or other words" in done.stdout
    assert told("recall", KEY, "zebra")["hits"] == []


def test_a_session_that_was_never_compacted_says_so(chat):
    assert "Nothing was compacted away" in clew("recall", KEY).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope", "x"], "There is no session 'nope'"),
        ([KEY, "--regex", "("], "is broken"),
        ([KEY, "--regex", "(a|a|a)+$b", "filler"], "takes too long"),
        ([KEY, "x", "--since", "yesterday"], "is no day or time"),
        ([KEY, "x", "--since", "2026-02-01", "--until", "2026-01-01"], "ends before it begins"),
        ([KEY, "…"], "no word"),
        ([KEY, "--open", "#77"], "has entries #1 to #5; there is no #77"),
        ([KEY, "--open", "zz"], "has an id that starts with 'zz'"),
        ([KEY, "--describe", "zz"], "There is no summary 'zz'"),
    ],
)
def test_what_is_asked_wrongly_is_one_sentence_and_exit_2(chat, words, said):
    if "filler" in words:
        (chat / "a.json").write_text(json.dumps([{"role": "user", "content": "filler " + "a" * 4_000}]))
        clew("import", str(chat / "a.json"), "--as", "hostile")
        words = ["hostile", *words[1:]]
    done = clew("recall", *words, code=2)
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "words", [["x", "--role", "system"], ["--to", "#2"], ["x", "--open", "#1"], ["--open", "#1", "--describe", "a"]]
)
def test_options_that_do_not_go_together_are_refused(chat, words):
    assert "Invalid value" in clew("recall", KEY, *words, code=2).stderr


def test_an_empty_store_knows_no_session(home):
    assert "clew sessions" in clew("recall", KEY, "x", code=2).stderr


def hit(text: str, *marks: tuple[int, int], speaker: str = "assistant") -> Hit:
    return Hit("e1", 12, 1_795_996_800_000, "assistant", speaker, None, Excerpt(text, marks), None, True)


@pytest.mark.parametrize("width", [30, 60, 100])
def test_hits_fit_the_terminal_in_any_script(width):
    screen = StringIO()
    console = Console(file=screen, width=width, force_terminal=True, color_system=None, highlight=False)
    for line in hits([hit("…登录超时已修复，从 60 秒改为 90 秒。" * 6, (1, 3))], "k", more=False):
        console.print(line)
    lines = screen.getvalue().splitlines()
    assert all(columns(line) <= width for line in lines)
    assert "#12" in lines[0]


def test_what_was_meant_is_marked_and_nothing_moves_the_cursor():
    screen = StringIO()
    console = Console(file=screen, width=120, force_terminal=True, color_system="standard", highlight=False)
    for line in hits([hit("a \x1b[2Jneedle b", (6, 12), speaker="result of \x1b]0;x")], "k", more=False):
        console.print(line)
    assert "\x1b[1;33mneedle\x1b[0m" in screen.getvalue()
    assert "\x1b[2J" not in screen.getvalue()
    assert "\x1b]0" not in screen.getvalue()
