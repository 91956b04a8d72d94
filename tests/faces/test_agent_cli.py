"""`clew agent`, `status`, `logs` and `doctor` against a real model server on loopback."""

import json
import os
import sqlite3
import threading
import time

import pytest
from typer.testing import CliRunner

from clew.cli.commands import app
from clew.cli.logs import following
from clew.clock import now_ms
from clew.logs import Following
from clew.store.port import Draft
from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer, Refuse, Say
from clew.transcript import Call, Said, ToolResult, user

KEY = "sk-test-0123456789-never-shown"


def served(home, script, **more):
    """A server, and the settings that lead to it."""
    server = ModelServer(script, window=more.pop("window", 32_768))
    models = server.settings(models=[{"id": "any", "contextWindow": 32_768}])
    models["providers"]["scripted"]["apiKey"] = KEY
    agents = {"defaults": {"model": "scripted/any", **more}}
    (home / "clew.json5").write_text(json.dumps({"agents": agents, "models": models}), encoding="utf-8")
    return server


def clew(*words: str, stdin: str | None = None):
    return CliRunner().invoke(app, list(words), input=stdin, catch_exceptions=False)


def test_one_turn_prints_the_answer_alone(home):
    with served(home, ["Sixty seconds."]) as server:
        done = clew("agent", "--message", "how long?")
    assert (done.exit_code, done.stdout) == (0, "Sixty seconds.\n")
    assert server.requests[0].body["messages"][-1]["content"] == "how long?"


def test_the_turn_as_json_and_its_events_where_they_are_asked_for(home):
    with served(home, ["Hello.", "Hello again."]):
        told = json.loads(clew("agent", "-m", "hi", "-s", "agent:main:x", "--json").stdout)
        full = json.loads(clew("agent", "-m", "-", "-s", "agent:main:x", "--json", "--events", stdin="hi").stdout)
    assert (told["ok"], told["key"], told["outcome"], told["text"]) == (True, "agent:main:x", "done", "Hello.")
    assert told["usage"]["requests"] == 1
    assert told["tokens"] > 0
    assert (told["compactions"], told["window"]) == (0, 32_768)
    assert "events" not in told
    assert [one["type"] for one in full["events"]][-1] == "Ended"


def test_a_turn_that_fails_exits_with_1_and_says_why(home):
    with served(home, [Refuse(400, "bad tool schema")] * 9):
        done = clew("agent", "-m", "hi", "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["ok"], told["outcome"]) == (1, False, "failed")
    assert "bad tool schema" in told["detail"]


@pytest.mark.parametrize("text", ["/compact", " /Compact the rest", "/compact: x"])
def test_a_compaction_is_refused_before_anything_is_sent_and_the_command_is_named(home, text):
    with served(home, ["no"]) as server:
        done = clew("agent", "-m", text, "-s", "my key")
    assert done.exit_code == 1
    assert "clew sessions compact 'my key'" in done.stderr
    assert server.requests == []
    assert not (home / "clew.sqlite").exists()


def test_other_slashes_are_text(home):
    with served(home, ["ok"]) as server:
        assert clew("agent", "-m", "/compactfoo /status").exit_code == 0
    assert server.requests[0].body["messages"][-1]["content"] == "/compactfoo /status"


def test_a_tool_that_would_be_asked_for_is_refused_and_how_to_allow_it_is_said(home):
    with served(home, [Say(calls=(Call("c1", "exec", {"command": "touch made"}),)), "It was not run."]):
        done = clew("agent", "-m", "make it")
    assert done.stdout == "It was not run.\n"
    assert "tools.exec.allow" in done.stderr
    assert not (home / "made").exists()


def test_notices_are_given_where_the_settings_ask_for_them(home):
    quiet = {"compaction": {"notifyUser": True, "fallback": "ledger"}, "contextPruning": {"mode": "off"}}
    long = "one more fact about the matter. " * 700
    with served(home, lambda seen: "noted. " + long[:4_000], **quiet):
        said = [clew("agent", "-m", f"{n}: {long}") for n in range(7)]
    assert all(one.exit_code == 0 for one in said)
    assert sum("🧹 Compacting context..." in one.stderr for one in said) >= 1
    assert sum("🧹 Compaction complete" in one.stderr for one in said) >= 1


def test_the_log_has_the_turns_and_no_words_of_them(home):
    with served(home, ["the answer is a swordfish"]):
        clew("agent", "-m", "what is the password?")
    raw = clew("logs", "--json").stdout
    events = [json.loads(line)["event"] for line in raw.splitlines()]
    assert events == ["turn start", "request", "answer", "turn end"]
    assert "swordfish" not in raw
    assert "password" not in raw
    assert KEY not in raw
    shown = clew("logs", "-n", "1").stdout
    assert "turn end  key=agent:main:main  outcome=done" in shown
    assert len(shown.splitlines()) == 1


def test_a_log_that_is_put_aside_is_followed_into_the_new_one(home):
    path, seen = home / "clew.log", []
    path.write_text("old\n", encoding="utf-8")
    lines = following(Following(path))

    def read() -> None:
        for line in lines:
            seen.append(line)
            if line == "last":
                return

    reader = threading.Thread(target=read)
    reader.start()
    with path.open("a", encoding="utf-8") as file:
        file.write("first\nsec")
        file.flush()
        time.sleep(0.1)
        file.write("ond\n")
    path.rename(home / "clew.log.1")
    path.write_text("third\nlast\n", encoding="utf-8")
    reader.join(5)
    assert seen == ["first", "second", "third", "last"]


def test_status_names_store_model_window_and_compactions(home):
    with served(home, ["Hello."]):
        clew("agent", "-m", "hi")
        said, plain = clew("status"), json.loads(clew("status", "--json").stdout)
    assert "scripted/any · window 32,768 (from the settings)" in said.stdout
    assert "agent:main:main" in said.stdout
    assert str(home / "clew.sqlite") in said.stdout.replace("\n", "").replace(" ", "")
    assert (plain["total"], plain["models"][0]["budget"]) == (1, 32_768)
    assert KEY not in said.stdout


def test_an_empty_home_has_a_status_and_no_log(home):
    assert "No model is set" in clew("status").stdout
    assert "sessions   0" in clew("status").stdout
    (home / "clew.log").unlink(missing_ok=True)
    assert "There is no log yet" in clew("logs").stderr


def test_doctor_finds_a_sound_house_sound(home):
    with served(home, ["Hello."]) as server:
        server.pages["/v1/models"] = {"data": [{"id": "any"}]}
        clew("agent", "-m", "hi")
        done = clew("doctor", "agent:main:main", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 0, done.stdout
    assert {check["state"] for check in told["checks"]} == {"ok"}
    assert {"settings", "store", "engine", "model", "counters", "parents", "boundaries", "pairs"} <= {
        check["name"] for check in told["checks"]
    }
    assert "key present" in done.stdout
    assert KEY not in done.stdout


def test_doctor_says_what_to_do_about_each_thing_that_fails(home):
    (home / "clew.json5").write_text(
        '{agents: {defaults: {model: "gone/x"}}, models: {providers: {'
        'gone: {baseUrl: "http://127.0.0.1:9/v1", apiKey: "'
        + KEY
        + '"}, other: {baseUrl: "http://127.0.0.1:9", apiKey: "${NOT_SET}"}}}}',
        encoding="utf-8",
    )
    done = clew("doctor")
    assert done.exit_code == 1
    assert "✗ fail provider gone" in done.stdout
    assert "check baseUrl" in done.stdout
    assert "NOT_SET" in done.stdout
    assert "! warn window of gone/x" in done.stdout
    assert KEY not in done.stdout


def test_doctor_goes_on_where_the_settings_hold_mistakes(home):
    (home / "clew.json5").write_text("{agents: {defaults: {modell: 'x'}}}", encoding="utf-8")
    done = clew("doctor")
    assert done.exit_code == 1
    assert "✗ fail settings" in done.stdout
    assert "✓ ok   store" in done.stdout


def test_doctor_finds_a_damaged_store(home):
    (home / "clew.sqlite").write_bytes(b"not a database at all, but long enough to be looked at" * 40)
    done = clew("doctor")
    assert done.exit_code == 1
    assert "✗ fail store" in done.stdout


def test_doctor_finds_counters_that_disagree_and_calls_without_results(home):
    with SqliteStore(home / "clew.sqlite") as store:
        store.create("k", at=now_ms())
        said = [Said(user("go")), Said(ToolResult("lost", "read", ()))]
        store.append("k", [Draft(f"e{at}", now_ms(), body, 3) for at, body in enumerate(said)])
    with sqlite3.connect(home / "clew.sqlite") as raw:
        raw.execute("UPDATE sessions SET entries = 7, window_tokens = 99")
    raw.close()
    done = clew("doctor", "k")
    assert done.exit_code == 1
    assert "7 entries counted, 2 there" in done.stdout.replace("\n", " ")
    assert "! warn pairs" in done.stdout
    assert "1 result without a call" in done.stdout


def test_doctor_knows_no_such_session(home):
    assert "✗ fail session" in clew("doctor", "nobody").stdout
    assert os.listdir(home) == []


def test_doctor_makes_the_index_of_a_session_anew_and_says_so(home):
    with SqliteStore(home / "clew.sqlite") as store:
        store.create("k", at=now_ms())
        store.append("k", [Draft("e1", now_ms(), Said(user("please look at AUTH-731")), 3)])
    assert "index       not made yet" in clew("doctor", "k").stdout
    done = clew("doctor", "k", "--repair").stdout.replace("\n", " ")
    assert "✓ ok   repair" in done
    assert "in step with the entries up to #1" in done
    assert clew("doctor", "--repair").exit_code == 2


def damaged(home, *statements):
    """Two sessions, `k` with three messages and then some damage, `other` without."""
    with SqliteStore(home / "clew.sqlite") as store:
        for key in ("other", "k"):
            store.create(key, at=now_ms())
            store.append(key, [Draft(f"e{n}", now_ms(), Said(user(f"AUTH-73{n} is due")), 3) for n in range(1, 4)])
    with sqlite3.connect(home / "clew.sqlite") as raw:
        for statement in statements:
            raw.execute(statement)
    raw.close()


ONE = "WHERE session = (SELECT id FROM sessions WHERE key = 'k')"


def test_doctor_names_the_entry_that_cannot_be_read_and_recall_finds_the_others(home):
    damaged(home, f"UPDATE entries SET data = x'00' {ONE} AND seq = 2")
    done = clew("doctor", "k")
    assert done.exit_code == 1
    assert "✗ fail entries" in done.stdout
    assert "#2 cannot be read (JSON is malformed" in done.stdout
    assert done.stdout.count("✗ fail") == 1
    assert "AUTH-733" in clew("recall", "k", "due").stdout
    assert "AUTH-732" not in clew("recall", "k", "due").stdout
    assert clew("recall", "k").exit_code == 0


@pytest.mark.parametrize("meta", ["x'ff'", "CAST('[1]' AS BLOB)"])
def test_one_session_with_damaged_facts_hides_no_other(home, meta):
    damaged(home, f"UPDATE sessions SET meta = {meta} WHERE key = 'k'")
    done = clew("doctor", "other")
    assert "✗ fail facts" in done.stdout
    assert done.stdout.count("✗ fail") == 1
    listed = json.loads(clew("sessions", "--json").stdout)["sessions"]
    assert {row["key"]: bool(row["damaged"]) for row in listed} == {"k": True, "other": False}
    assert "damaged" in clew("sessions").stdout
    assert clew("status").exit_code == 0
    assert "every entry can be read" in clew("doctor", "k").stdout
    assert "The facts of session 'k' cannot be read" in clew("export", "k").stderr


def test_a_broken_index_names_the_way_out_and_takes_it(home):
    damaged(home)
    clew("recall", "k", "due")
    with sqlite3.connect(home / "clew.sqlite") as raw:
        raw.execute("DROP TABLE sayings")
    raw.close()
    assert "--repair" in clew("doctor", "k").stdout
    assert clew("doctor", "k", "--repair").stdout.count("✗ fail") == 0
    assert "AUTH-731" in clew("recall", "k", "due").stdout
