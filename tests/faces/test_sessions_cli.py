"""`clew sessions` and `clew logs` with a gateway in a process of its own, and without one."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing

import pytest
from typer.testing import CliRunner

from clew.cli.commands import app
from clew.clock import now_ms
from clew.store.port import Draft
from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer, Refuse
from clew.transcript import Assistant, Call, Said, Text, ToolResult, Usage, assistant, user
from tests.flow.gateway_process import TOKEN, Gateway

WORK, OPS, CHINESE = "agent:main:work", "agent:ops:main", "agent:main:登录 超时"
SECRET = "swordfish"
BRIEF = "\n\n".join(
    f"## {heading}\nNone."
    for heading in ("Decisions", "Open TODOs", "Constraints/Rules", "Pending user asks", "Exact identifiers")
)
CLEW = [sys.executable, "-m", "clew"]


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as one:
        return one.getsockname()[1]


def fill(folder, key=WORK, turns=12, words=150, title=None):
    """A session of turns with a call each, every message naming the secret."""
    with SqliteStore(folder / "clew.sqlite") as store:
        store.create(key, at=now_ms(), meta={"title": title} if title else {})
        for n in range(turns):
            call = Call(f"c{n}", "read_file", {"path": f"src/{SECRET}{n}.py"})
            said = [
                user(f"question {n} about {SECRET} " + "word " * words),
                Assistant((Text("I look."), call), model="scripted/any", usage=Usage(30_000, 10), stop="tools"),
                ToolResult(f"c{n}", "read_file", (Text(f"{SECRET} = {n} " * words),)),
                assistant(f"answer {n}: {SECRET}", stop="stop"),
            ]
            store.append(key, [Draft(f"{key[-3:]}{n}-{i}", now_ms(), Said(one), 200) for i, one in enumerate(said)])


@pytest.fixture
def home(home, monkeypatch):
    monkeypatch.delenv("CLEW_GATEWAY_URL", raising=False)
    monkeypatch.delenv("CLEW_GATEWAY_TOKEN", raising=False)
    return home


@pytest.fixture
def server():
    with ModelServer(lambda seen: BRIEF if b"## Exact identifiers" in seen.raw else "An answer.") as server:
        yield server


def gateway(home, server, **more) -> Gateway:
    """A gateway on the port that the settings name, not started."""
    made = Gateway(home, server, port=free_port(), **more)
    config = json.loads((home / "clew.json5").read_text())
    config["agents"]["defaults"]["compaction"] = {"keepRecentTokens": 300, "memoryFlush": {"enabled": False}}
    config["agents"]["list"] = [{"id": "ops"}]
    (home / "clew.json5").write_text(json.dumps(config))
    return made


@pytest.fixture
def running(home, server):
    fill(home)
    with gateway(home, server) as running:
        yield running


@pytest.fixture
def readers():
    """What ends every command that goes on."""
    begun: list[Reader] = []
    yield begun
    for one in begun:
        one.end(signal.SIGKILL)


def clew(*words, code=0):
    done = CliRunner().invoke(app, [str(one) for one in words])
    assert done.exit_code == code, done.output + repr(done.exception)
    return done


def told(*words, code=0):
    return json.loads(clew(*words, "--json", code=code).stdout)


# The list -------------------------------------------------------------------------------------------------------------


def test_the_list_comes_from_the_gateway_with_counts_and_sizes(running, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    found = told("sessions")
    (row,) = found["sessions"]
    assert (found["count"], found["totalCount"], found["hasMore"], found["limitApplied"]) == (1, 1, False, 100)
    assert (found["gateway"], found["path"], found["activeMinutes"]) == (running.url, None, None)
    assert (row["key"], row["agentId"], row["model"], row["contextTokens"]) == (WORK, "main", "scripted/any", 32_768)
    assert (row["compactions"], row["compactionCount"], row["entries"]) == (0, 0, 48)
    assert row["totalTokens"] == 9_600
    assert row["ageMs"] >= 0
    assert SECRET not in json.dumps(found)
    shown = clew("sessions").output
    assert all(word in shown for word in ("agent", WORK, "scripted/any", "9.6k/33k (29 %)"))


def test_without_a_gateway_the_store_is_read_and_that_is_said(home, server):
    fill(home)
    gateway(home, server)
    done = clew("sessions")
    assert WORK in done.stdout
    assert re.search(r"No gateway runs at http://127.0.0.1:\d+: read from .*clew.sqlite", done.stderr)
    found = told("sessions")
    assert (found["gateway"], found["path"]) == (None, str(home / "clew.sqlite"))
    assert set(found["sessions"][0]) >= {"key", "agentId", "compactionCount", "updatedAt", "ageMs", "totalTokens"}


def test_the_same_rows_with_and_without_a_gateway(home, server):
    fill(home, CHINESE, title="登录")
    moving = ("ageMs",)
    with gateway(home, server):
        one = told("sessions")["sessions"][0]
    two = told("sessions")["sessions"][0]
    assert {k: v for k, v in one.items() if k not in moving} == {k: v for k, v in two.items() if k not in moving}
    assert (one["key"], one["title"]) == (CHINESE, "登录")


def test_a_store_that_is_named_is_read_whatever_runs(running, home):
    with SqliteStore(home / "other.sqlite") as store:
        store.create("alone", at=1)
    found = told("sessions", "--store", home / "other.sqlite")
    assert [row["key"] for row in found["sessions"]] == ["alone"]


def test_agents_limits_and_ages(home):
    with SqliteStore(home / "clew.sqlite") as store:
        for n, key in enumerate(("agent:ops:a", "agent:ops:b", "agent:main:c")):
            store.create(key, at=now_ms() - n * 3_600_000)
    keys = lambda *words: [row["key"] for row in told("sessions", *words)["sessions"]]  # noqa: E731
    assert keys("--agent", "ops") == ["agent:ops:a", "agent:ops:b"]
    assert keys("--all-agents", "--limit", "all") == ["agent:ops:a", "agent:ops:b", "agent:main:c"]
    assert keys("--active", "30") == ["agent:ops:a"]
    few = told("sessions", "--limit", "2")
    assert (few["count"], few["totalCount"], few["hasMore"], few["limitApplied"]) == (2, 3, True, 2)
    assert "1 more session; --limit all lists them" in clew("sessions", "--limit", "2").stdout
    assert told("sessions", "--limit", "all")["limitApplied"] is None


@pytest.mark.parametrize(
    "words",
    [
        ["--limit", "0"], ["--limit", "-3"], ["--limit", "many"], ["--limit", "²"], ["--active", "0"],
        ["--active", "soon"], ["--agent", " "], ["--agent", "ops", "--all-agents"], ["--timeout", "0"],
        ["--timeout", "1h"], ["--url", "nowhere"], ["--limit", "3", "compact", "k"],
        ["compact", "k", "--max-lines", "0"],
        ["compact", "k", "--timeout", "-1", "--url", "http://127.0.0.1:9"], ["tail", "--tail", "x"], ["compact", " "],
        ["delete"],
    ],
)  # fmt: skip
def test_what_is_asked_wrongly_ends_with_2_and_says_what(home, words):
    done = clew("sessions", *words, code=2)
    assert done.stderr.strip()
    assert "Traceback" not in done.output


@pytest.mark.parametrize("columns", [30, 60, 100])
def test_a_narrow_terminal_loses_columns_and_no_key(home, monkeypatch, columns):
    fill(home, CHINESE, turns=1)
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = clew("sessions").stdout
    assert CHINESE in shown
    assert "800" in shown


# Compaction -----------------------------------------------------------------------------------------------------------


def test_a_gateway_compacts_and_says_so_as_openclaw_does(running, home):
    done = told("sessions", "compact", WORK)
    assert (done["ok"], done["key"], done["compacted"]) == (True, WORK, True)
    assert done["result"]["tokensAfter"] < done["result"]["tokensBefore"]
    assert told("sessions")["sessions"][0]["compactionCount"] == 1
    log = [json.loads(line) for line in (home / "clew.log").read_text().splitlines()]
    start, end = [one for one in log if one["event"].startswith("compaction")]
    assert (start["event"], start["trigger"], start["tokens"] > 0) == ("compaction start", "manual", True)
    assert end["event"] == "compaction end"
    assert {"outcome", "reason", "tokensBefore", "tokensAfter", "attempts", "durationMs"} <= end.keys()
    again = told("sessions", "compact", WORK)
    assert (again["ok"], again["compacted"]) == (True, False)
    assert "No compaction needed" in clew("sessions", "compact", "work", "--agent", "main").stdout


def test_a_compaction_in_words(running):
    said = clew("sessions", "compact", WORK).stdout
    assert re.fullmatch(r"Compacted session agent:main:work \([\d,]+ → [\d,]+ tokens\)\.\n", said)


def test_a_compaction_that_failed_ends_with_1(home):
    with ModelServer(lambda seen: Refuse(401, "no such key"), window=32_768) as server:
        fill(home)
        with gateway(home, server):
            done = told("sessions", "compact", WORK, code=1)
            assert (done["ok"], done["compacted"]) == (False, False)
            assert "was not compacted" in clew("sessions", "compact", WORK, code=1).stdout


def test_without_a_model_rules_write_the_brief_as_they_do_without_a_gateway(home, server):
    fill(home)
    with gateway(home, server) as running:
        running.end()
        config = json.loads((home / "clew.json5").read_text())
        config["agents"]["defaults"].pop("model")
        config["models"]["providers"] = {}
        (home / "clew.json5").write_text(json.dumps(config))
        running.start()
        assert told("sessions", "compact", WORK)["compacted"] is True
        assert told("sessions", "compact", WORK, "--max-lines", "5", "--yes")["kept"] <= 5


def test_without_a_gateway_a_compaction_fails_and_names_the_command_that_needs_none(home, server):
    fill(home)
    gateway(home, server)
    assert f"clew compact {WORK}" in clew("sessions", "compact", WORK, code=1).stderr
    done = told("sessions", "compact", WORK, code=1)
    assert done | {"error": ""} == {"ok": False, "key": WORK, "compacted": False, "error": "", "code": "NoGateway"}
    assert told("sessions")["sessions"][0]["compactionCount"] == 0


def test_an_unknown_key_is_an_error(running):
    done = told("sessions", "compact", "nope", code=2)
    assert (done["ok"], done["key"], done["code"]) == (False, "nope", "UnknownSession")
    assert "There is no session 'nope'" in clew("sessions", "compact", "nope", code=2).stderr
    clew("sessions", "compact", "nope", "--max-lines", "3", "--yes", code=2)
    assert "none of the agent" in clew("sessions", "compact", WORK, "--agent", "ops", code=2).stderr


def test_a_wrong_token_is_one_clear_sentence(running, monkeypatch):
    for words in (["compact", WORK], ["archive", WORK], ["tail"], []):
        said = clew("sessions", *words, "--token", "not-this-one-at-all", code=1).stderr
        assert "let nobody in" in said
        assert "CLEW_GATEWAY_TOKEN" in said
        assert "not-this-one-at-all" not in said
    monkeypatch.setenv("CLEW_GATEWAY_TOKEN", "another-wrong-one")
    done = clew("sessions")
    assert "wants its token" in done.stderr
    assert WORK in done.stdout
    clew("sessions", "delete", WORK, "--yes", code=1)


def test_a_time_out_is_told_and_only_where_one_was_set(home):
    def slow(seen):
        time.sleep(2)
        return "An answer."

    with ModelServer(slow, window=32_768) as server:
        fill(home)
        with gateway(home, server):
            said = told("sessions", "compact", WORK, "--timeout", "300", code=1)
            assert "did not answer in time (0.3 s)" in said["error"]
            busy = told("sessions", "compact", WORK, code=1)
            assert "active run" in busy["error"]


def test_what_answers_and_is_no_gateway_is_said(home, server):
    done = told("sessions", "compact", WORK, "--url", server.url.removesuffix("/v1"), code=1)
    assert "no gateway of Clew's" in done["error"]


# Cutting --------------------------------------------------------------------------------------------------------------


def test_max_lines_cuts_for_good_and_keeps_pairs_whole(running, home):
    done = told("sessions", "compact", WORK, "--max-lines", "11", "--yes")
    assert (done["ok"], done["compacted"], done["kept"], done["removed"]) == (True, True, 10, 39)
    assert done["result"]["tokensAfter"] < done["result"]["tokensBefore"]
    checks = told("doctor", WORK)["checks"]
    assert [one for one in checks if one["name"] in ("counters", "parents", "boundaries", "pairs", "summaries")
            and one["state"] != "ok"] == []  # fmt: skip
    assert {one["seq"] for one in told("recall", WORK, SECRET)["hits"]} <= set(range(1, 11))
    row = told("sessions", "show", WORK)
    assert (row["entries"], row["compactionCount"]) == (10, 0)
    asked = running.client().post("/api/session/messages", params={"key": WORK}, json={"text": "on", "wait": True})
    assert asked.json()["tokens"] < 20_000  # what a model reported of the longer history counts no more
    assert "history cut" in (home / "clew.log").read_text()
    enough = told("sessions", "compact", WORK, "--max-lines", "500", "--yes")
    assert (enough["ok"], enough["compacted"], enough["kept"]) == (True, False, 12)


def test_a_cut_is_never_made_unasked(running):
    done = told("sessions", "compact", WORK, "--max-lines", "4", code=2)
    assert "--yes" in done["error"]
    assert "nobody can be asked" in clew("sessions", "compact", WORK, "--max-lines", "4", code=2).stderr
    assert told("sessions")["sessions"][0]["entries"] == 48


def test_what_is_pinned_survives_a_cut(running):
    clew("pin", WORK, "#1")
    told("sessions", "compact", WORK, "--max-lines", "6", "--yes")
    assert "question 0" in told("pin", WORK)["pinned"][0]["text"]


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 0), ("n", 1, 1), ("", 1, 1)])
def test_a_person_is_asked_before_a_deletion(home, server, answer, code, left):
    fill(home)
    gateway(home, server)
    main, side = pty.openpty()
    command = [*CLEW, "sessions", "delete", WORK]
    with subprocess.Popen(command, stdin=side, stdout=subprocess.PIPE, stderr=side, env=dict(os.environ)) as asking:
        os.write(main, f"{answer}\n".encode())
        assert asking.wait(30) == code
    said = os.read(main, 10_000).decode()
    os.close(main)
    os.close(side)
    assert "There is no way back" in said
    assert told("sessions")["count"] == left


# Several at once ------------------------------------------------------------------------------------------------------


def test_every_key_is_tried_and_one_failure_is_a_failure(running, home):
    done = told("sessions", "archive", WORK, "nope", code=1)
    assert (done["ok"], done["operation"], done["dryRun"]) == (False, "archive", False)
    fine, failed = done["results"]
    assert fine == {"key": WORK, "ok": True, "status": "archived"}
    assert (failed["key"], failed["ok"], failed["status"]) == ("nope", False, "failed")
    assert "There is no session" in failed["error"]
    assert told("sessions")["count"] == 0
    assert "archived" in clew("sessions", "--archived").stdout
    assert told("sessions", "unarchive", WORK)["results"][0]["status"] == "unarchived"
    assert told("sessions")["count"] == 1


def test_a_dry_run_changes_nothing(running):
    done = told("sessions", "delete", WORK, "--dry-run")
    assert done["results"] == [{"key": WORK, "ok": True, "status": "would be deleted"}]
    assert told("sessions", "archive", "nope", "--dry-run", code=1)["results"][0]["ok"] is False
    assert told("sessions")["count"] == 1


def test_a_deletion_wants_a_yes_where_nobody_can_be_asked(running):
    assert "--yes" in told("sessions", "delete", WORK, code=2)["error"]
    assert "--yes" in clew("sessions", "delete", WORK, code=2).stderr
    assert told("sessions", "delete", WORK, "--yes")["results"][0]["status"] == "deleted"
    assert told("sessions")["count"] == 0


def test_a_session_that_another_process_runs_is_not_deleted_under_it(home, server):
    fill(home)
    gateway(home, server)
    with SqliteStore(home / "clew.sqlite") as store:
        store.claim(WORK, "elsewhere:1:x", now=now_ms(), until=now_ms() + 60_000)
    assert "in use by another process" in told("sessions", "delete", WORK, "--yes", code=1)["results"][0]["error"]
    assert told("sessions")["count"] == 1


@pytest.mark.parametrize("served", [True, False])
def test_a_session_is_made_with_a_title_and_shown(home, server, served):
    made = gateway(home, server)
    if served:
        made.start()
    try:
        assert clew("sessions", "new", CHINESE, "--title", "登录").stdout == f"{CHINESE}\n"
        assert told("sessions", "new", "--agent", "ops")["key"].startswith("agent:ops:")
        assert "exists already" in clew("sessions", "new", CHINESE, code=2).stderr
        assert "no agent `nobody`" in clew("sessions", "new", "--agent", "nobody", code=2).stderr
        shown = clew("sessions", "show", CHINESE).stdout
        assert "登录" in shown
        clew("sessions", "show", "nope", code=2)
    finally:
        if served:
            made.end()


# Following ------------------------------------------------------------------------------------------------------------


class Reader:
    """A command that goes on, and what it has said."""

    def __init__(self, begun, home, *words):
        begun.append(self)
        self.file = home / "followed.txt"
        self.out = self.file.open("w")
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen([*CLEW, *words], stdout=self.out, stderr=subprocess.STDOUT, env=env)

    def until(self, words, seconds=20):
        end = time.monotonic() + seconds
        while words not in self.file.read_text():
            assert self.process.poll() is None, self.file.read_text()
            assert time.monotonic() < end, self.file.read_text()
            time.sleep(0.05)

    def end(self, how=signal.SIGINT) -> int:
        self.process.send_signal(how)
        code = self.process.wait(20)
        self.out.close()
        return code


def test_tail_shows_what_happened_and_nobody_s_words(running):
    lines = clew("sessions", "tail", "--tail", "4", "-k", WORK).stdout.splitlines()
    assert [line.split()[2] for line in lines] == ["user", "assistant", "tool.result", "assistant"]
    assert lines[1].endswith("· read_file {…}")
    assert "read_file ok" in lines[2]
    whole = clew("sessions", "tail").stdout
    assert len(whole.splitlines()) == 48
    assert SECRET not in whole
    assert clew("sessions", "tail", "--tail", "0").stdout == ""
    assert "no session" in clew("sessions", "tail", "-k", "nope", code=2).stderr


def test_a_gateway_that_comes_back_is_followed_again(running, home, readers):
    def say(text):
        asked = running.client().post("/api/session/messages", params={"key": WORK}, json={"text": text, "wait": True})
        assert asked.json()["ok"] is True

    reader = Reader(readers, home, "sessions", "tail", "--follow", "--tail", "1")
    reader.until("assistant")
    say(f"first {SECRET}")
    reader.until("turn.end")
    running.end(signal.SIGKILL)
    reader.until("is lost; trying again")
    running.start()
    reader.until("It is back.")
    before = reader.file.read_text().count("turn.end")
    say("again")
    deadline = time.monotonic() + 20
    while reader.file.read_text().count("turn.end") == before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert reader.end() == 130
    said = reader.file.read_text()
    assert said.count("turn.end") == before + 1
    assert SECRET not in said
    assert "An answer" not in said


def test_without_a_gateway_the_store_is_followed(home, server, readers):
    fill(home)
    gateway(home, server)
    reader = Reader(readers, home, "sessions", "tail", "--follow", "--tail", "0")
    reader.until("No gateway runs")
    time.sleep(1)
    fill(home, CHINESE, turns=1)
    reader.until("read_file ok")
    assert reader.end() == 130
    assert CHINESE in reader.file.read_text()
    assert SECRET not in reader.file.read_text()


def test_the_log_is_followed_through_the_gateway(running, home, readers):
    reader = Reader(readers, home, "logs", "--follow", "--json", "--lines", "0")
    time.sleep(2.5)
    told("sessions", "compact", WORK)
    reader.until('"compaction end"')
    running.end()
    reader.until("is lost; trying again")
    assert reader.end() == 0
    assert '"compaction start"' in reader.file.read_text()
    shown = clew("logs", "-n", "3").stdout
    assert "compaction" in shown


def test_without_a_gateway_the_log_s_file_is_followed_and_that_is_said(home, server, readers):
    fill(home)
    gateway(home, server)
    clew("compact", WORK, "--by-rules")
    reader = Reader(readers, home, "logs", "--follow")
    reader.until("compaction end")
    reader.until("No gateway is asked: following")
    assert reader.end() == 0


def test_a_log_of_another_machine_is_asked_for_by_url(running):
    told("sessions", "compact", WORK)
    assert "compaction end" in clew("logs", "--url", running.url, "--token", TOKEN).stdout


# Agents ---------------------------------------------------------------------------------------------------------------


def test_an_agent_s_own_settings_hold_without_a_gateway_too(home, server):
    place = home / "ops"
    place.mkdir()
    (place / "AGENTS.md").write_text("Only in the folder of ops.")
    models = server.settings(models=[{"id": "any", "contextWindow": 32_768}, {"id": "other", "contextWindow": 16_384}])
    agents = {
        "defaults": {"model": "scripted/any"},
        "list": [{"id": "ops", "model": "scripted/other", "workspace": str(place)}],
    }
    (home / "clew.json5").write_text(json.dumps({"models": models, "agents": agents}))
    asked = told("agent", "-m", "hi", "--session", OPS)
    assert (asked["model"], asked["window"]) == ("scripted/other", 16_384)
    assert "Only in the folder of ops." in json.dumps(server.requests[-1].body)
    assert server.requests[-1].body["model"] == "other"
    assert told("agent", "-m", "hi")["model"] == "scripted/any"
    assert "Only in the folder" not in json.dumps(server.requests[-1].body)
    assert "no agent `nobody`" in clew("agent", "-m", "hi", "-s", "agent:nobody:main", code=2).stderr
