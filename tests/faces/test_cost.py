"""`clew cost` and where else money is shown, against a model server whose prices the settings name."""

import json

import pytest
from typer.testing import CliRunner

from clew.cli.commands import app
from clew.testing.server import ModelServer
from clew.tokens.billing import Billing

KEY = "agent:main:x"


def served(home, *, cost=None):
    server = ModelServer(["Hello."] * 9, window=32_768)
    models = server.settings(models=[{"id": "any", "contextWindow": 32_768, **({"cost": cost} if cost else {})}])
    settings = {"agents": {"defaults": {"model": "scripted/any"}}, "models": models}
    (home / "clew.json5").write_text(json.dumps(settings), encoding="utf-8")
    return server


def clew(*words: str, code: int = 0):
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def told(*words: str):
    return json.loads(clew(*words, "--json").stdout)


def talk(home, turns: int = 2, cost=None):
    with served(home, cost=cost):
        return [told("agent", "-m", f"hi {n}", "-s", KEY) for n in range(turns)]


PRICES = {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}


def test_money_adds_up_over_processes_by_model_and_purpose(home):
    first, second = talk(home, cost=PRICES)
    cost = told("cost", KEY)
    assert cost["total"]["requests"] == 2
    assert cost["total"]["cost"] == pytest.approx(first["usage"]["cost"] + second["usage"]["cost"])
    assert second["cost"] == cost["total"]
    assert [(one["model"], one["purpose"]) for one in cost["models"]] == [("scripted/any", "turn")]
    assert cost["total"]["cost"] > 0


def test_a_price_that_is_not_known_is_null_and_a_question_mark(home):
    talk(home)
    assert told("cost", KEY)["total"]["cost"] is None
    words = clew("cost", KEY).stdout
    assert "? (2 requests of 2 without a price)" in words
    assert "$0" not in words


def test_where_a_part_has_no_price_the_others_are_said_as_the_least_it_can_be(home):
    talk(home, 1, cost=PRICES)
    talk(home, 1)
    for words in (clew("status").stdout, clew("cost", KEY).stdout):
        assert "at least $0.0" in words


def test_sessions_and_status_tell_the_sum_and_not_the_account(home):
    talk(home, cost=PRICES)
    (row,) = told("sessions")["sessions"]
    assert row["cost"] == told("cost", KEY)["total"]
    assert "meta" not in row
    assert told("status")["spent"] == row["cost"]
    assert "spent" in clew("status").stdout


def test_a_compaction_is_listed_with_what_it_freed(home):
    with served(home, cost=PRICES):
        for n in range(4):
            clew("agent", "-m", f"part {n} " + f"fact{n} is so " * 900, "-s", KEY)
    clew("compact", KEY, "--by-rules")
    (one,) = told("cost", KEY)["changes"]
    assert (one["count"], one["spared"]) == (1, 0)
    assert one["freed"] > 0
    words = clew("cost", KEY).stdout
    assert one["id"] in words
    assert "scripted/any" in words


def test_a_session_nobody_was_asked_in_says_so(home):
    file = home / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": "hello"}]), encoding="utf-8")
    clew("import", str(file), "--as", KEY)
    assert "Nothing was asked of a model" in clew("cost", KEY).stdout
    assert told("cost", KEY)["total"]["requests"] == Billing().requests
    assert told("cost", KEY)["models"] == []


def test_an_unknown_key_is_refused_and_the_way_to_the_keys_is_named(home):
    assert "clew sessions" in clew("cost", "nope", code=2).stderr
