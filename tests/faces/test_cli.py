"""The command line as a user meets it: right input, wrong input, an empty store, scripts and terminals."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clew.cli.commands import app
from clew.demo import session_path

CHAT = [
    {"role": "system", "content": "You are a helper."},
    {"role": "user", "content": "请修复 src/auth/login.py 的登录超时，工单 AUTH-731，必须保留向后兼容。"},
    *(
        message
        for n in range(12)
        for message in (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": f"c{n}",
                        "type": "function",
                        "function": {"name": "read_file", "arguments": json.dumps({"path": f"src/auth/part{n}.py"})},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"def part{n}():\n    return {n}\n" * 120},
        )
    ),
    {"role": "assistant", "content": "登录超时已修复，从 60 秒改为 90 秒。"},
    {"role": "user", "content": "现在给支付客户端加上重试。"},
]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLEW_CONFIG", raising=False)
    monkeypatch.delenv("CLEW_STORE", raising=False)
    return tmp_path


@pytest.fixture
def chat(home) -> Path:
    file = home / "chat.json"
    file.write_text(json.dumps(CHAT, ensure_ascii=False), encoding="utf-8")
    return file


def run(*args, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, done.output + repr(done.exception)
    return done


def test_a_file_is_compacted_in_one_step_without_any_model(chat):
    said = run("compact", chat).output
    assert "written by rules" in said
    assert "name one with --model" in said
    assert "undo" in said


def test_json_holds_what_openclaw_prints_and_nothing_else(chat):
    done = json.loads(run("compact", chat, "--json").stdout)
    assert done["ok"] is done["compacted"] is True
    assert done["result"]["tokensAfter"] < done["result"]["tokensBefore"]
    assert done["key"] == "openai:chat"


def test_the_whole_thread_there_and_back(chat):
    key = json.loads(run("import", chat, "--as", "login", "--json").stdout)["key"]
    before = run("export", key, "--format", "openai").stdout
    done = json.loads(run("compact", key, "--keep", "10", "--json").stdout)
    name = done["result"]["id"]
    assert "AUTH-731" in run("compactions", "show", name).output
    assert name in run("compactions", key).output
    shown = json.loads(run("export", key, "--format", "openai", "--view").stdout)["messages"]
    assert "## Decisions" in shown[0]["content"]
    assert len(shown) < 10
    lines = json.loads(run("trace", key, "--json").stdout)["lines"]
    traced = next(line for line in lines if "AUTH-731" in line["text"] and line["sources"])
    assert "AUTH-731" in traced["sources"][0]["text"]
    assert "┌ #" in run("trace", key, traced["number"]).output
    assert "has lines 1 to" in run("trace", key, "-1", code=2).stderr
    assert "tokens again" in run("undo", key).output
    assert run("export", key, "--format", "openai").stdout == before
    row = json.loads(run("sessions", "--json").stdout)["sessions"][0]
    assert (row["key"], row["compactions"]) == ("login", 0)


def test_a_chinese_session_keeps_its_asks_and_rules_in_its_own_words(chat):
    run("import", chat, "--as", "k")
    text = json.loads(run("compact", "k", "--keep", "10", "--dry-run", "--json").stdout)["result"]["summary"]
    assert "请修复 src/auth/login.py 的登录超时" in text
    assert "必须保留向后兼容" in text


def test_a_dry_run_writes_nothing(chat):
    run("import", chat, "--as", "k")
    assert "Preview" in run("compact", "k", "--dry-run").output
    assert json.loads(run("sessions", "--json").stdout)["sessions"][0]["compactions"] == 0


def test_a_pinned_message_stands_in_every_view_and_can_be_let_go(chat):
    run("import", chat, "--as", "k")
    said = run("pin", "k", "#2").output
    assert said.startswith("Pinned #2 (user message): ")
    assert "AUTH-731" in said
    run("compact", "k", "--keep", "10")
    assert "#2" in run("pin", "k").output
    assert json.loads(run("pin", "k", "--json").output)["pinned"][0]["number"] == 2
    assert "Nothing is pinned" in run("pin", "k", "#2", "--off").output


def test_the_same_file_twice_is_one_session(chat):
    run("compact", chat)
    assert "already here" in run("import", chat).output
    assert json.loads(run("sessions", "--json").stdout)["count"] == 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["compact", "nowhere"], "no session and no file nowhere"),
        (["context", "nowhere"], "no session"),
        (["undo", "nowhere"], "no session"),
        (["trace", "k"], "no brief"),
        (["undo", "k"], "no compaction to undo"),
        (["trace", "k", "--compaction", "zzz"], "no compaction that starts with zzz"),
        (["pin", "k", "zzzz"], "zzzz"),
        (["pin", "k", "#99999"], "has entries 1 to 28; there is no #99999"),
        (["pin", "k", "#²"], "there is no #²"),
        (["trace", "k", "-1"], "no brief"),
        (["compact", ""], "key is empty"),
        (["context", " "], "key is empty"),
        (["import", "chat.json", "--as", ""], "visible characters"),
        (["import", "chat.json", "--as", "a\x1b[2Jb"], "visible characters"),
        (["import", "chat.json", "--as", "a\nb"], "visible characters"),
        (["compactions", "show", "zzz"], "zzz"),
        (["compact", "k", "--model", "nonesuch/x"], "nonesuch"),
        (["compact", "k", "--model", "smart"], "smart"),
        (["import", "."], "folder"),
        (["import", "chat.json", "--as", "k", "--format", "wat"], "wat"),
        (["export", "k", "--format", "wat"], "wat"),
    ],
)
def test_wrong_input_is_one_sentence_and_changes_nothing(chat, monkeypatch, args, words):
    run("import", chat, "--as", "k")
    monkeypatch.chdir(chat.parent)
    before = told_but_cost()
    said = run(*args, code=2).stderr
    assert words in said
    assert "Traceback" not in said
    assert told_but_cost() == before


def test_an_empty_store_says_what_to_do(home):
    assert "clew import FILE" in run("sessions").output
    assert json.loads(run("sessions", "--json").stdout)["sessions"] == []


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"<html></html>", b"just words"])
def test_a_file_that_is_no_conversation_is_refused_by_name_of_formats(home, content):
    (home / "x").write_bytes(content)
    assert "claude-code" in run("import", home / "x", code=2).stderr


def test_a_foreign_database_is_left_untouched(home):
    import sqlite3

    foreign = home / "other.sqlite"
    db = sqlite3.connect(foreign)
    db.execute("create table t(x)")
    db.commit()
    db.close()
    before = foreign.read_bytes()
    assert "database of another program" in run("sessions", "--store", foreign, code=1).stderr
    assert foreign.read_bytes() == before


def test_escapes_in_a_transcript_do_nothing_in_the_terminal(home):
    evil = home / "evil.json"
    texts = ["\x1b[2J\x1b]0;owned\x07 look \u202etxt.exe"] + [f"line {n} of words " * 60 for n in range(8)]
    roles = ["user" if at % 2 == 0 else "assistant" for at in range(9)]
    chat = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    evil.write_text(json.dumps(chat))
    said = run("compact", evil, "--keep", "10").output + run("trace", "openai:evil").output
    assert "look" in said
    assert not set(said) & {"\x1b", "\x07", "\u202e"}


def test_settings_are_set_read_and_checked(home):
    run("config", "set", "agents.defaults.compaction.keepRecentTokens", "5000")
    assert run("config", "get", "agents.defaults.compaction.keepRecentTokens").stdout.strip() == "5000"
    assert "no mistake" in run("config", "validate").output
    Path(run("config", "path").stdout.strip()).write_text("{agents:{defaults:{compaction:{keepRecentToken:1}}}}")
    assert "keepRecentTokens" in run("config", "validate", code=2).stderr


def test_the_demo_tells_the_whole_story(home):
    said = " ".join(run("demo").output.split())
    for words in (
        "a heading is missing",
        "no findings",
        "ledger",
        "lost",
        "the view is what it was",
        "session of your own",
    ):
        assert words in said


def told_but_cost():
    """The sessions, without the account: a request that was begun is counted, whatever came of it."""
    return [
        {name: value for name, value in row.items() if name not in ("cost", "ageMs")}
        for row in json.loads(run("sessions", "--json").stdout)["sessions"]
    ]


def test_ctrl_c_in_a_compaction_leaves_the_session_as_it_was(chat, tmp_path):
    """A model that never answers; the user gives up."""
    server = (
        "import socket,time\ns=socket.create_server(('127.0.0.1',0))\n"
        "print(s.getsockname()[1],flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, text=True) as silent:
        port = silent.stdout.readline().strip()
        settings = tmp_path / "c.json5"
        settings.write_text(f'{{models:{{providers:{{slow:{{baseUrl:"http://127.0.0.1:{port}/v1",apiKey:"x"}}}}}}}}')
        run("import", chat, "--as", "k")
        before = told_but_cost()
        command = [sys.executable, "-m", "clew", "compact", "k", "--model", "slow/m", "--config", str(settings)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as running:
            time.sleep(4)
            running.send_signal(signal.SIGINT)
            assert "nothing more was written" in running.stderr.read()
        assert running.returncode == 130
        silent.kill()
    assert told_but_cost() == before


def test_a_closed_pipe_is_no_error(chat):
    run("import", chat, "--as", "k")
    command = f"{sys.executable} -m clew export k | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("format", ["clew", "claude-code", "openclaw", "pi", "openai", "anthropic"])
def test_the_demo_session_goes_out_in_every_format_and_comes_in_again(home, format):
    run("import", session_path(), "--as", "d")
    out = home / f"out-{format}"
    run("export", "d", "--format", format, "-o", out)
    again = json.loads(run("import", out, "--as", f"d2-{format}", "--json").stdout)
    assert again["format"] == format
    assert again["bad"] == []
    assert again["tokens"] > 100_000
    assert "exists already" in run("export", "d", "-o", out, code=2).stderr


def test_the_demo_plays_again_on_a_session_of_its_own(tmp_path):
    first, second = (run("demo", "--store", tmp_path / "d.sqlite") for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0), second.output
    keys = json.loads(run("sessions", "--json", "--store", tmp_path / "d.sqlite").stdout)["sessions"]
    assert sorted(row["key"] for row in keys) == ["demo", "demo-2"]
