"""The shipped session: made by its generator, small enough to ship, and in the line format it claims."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.demo import session_path
from clew.demo.drafts import FLAWED, SOUND

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.open(session_path(), "rt", encoding="utf-8")]


def blocks(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    contents = [line["message"]["content"] for line in lines if "message" in line]
    return [block for content in contents if isinstance(content, list) for block in content if block["type"] == kind]


def test_the_session_is_what_its_generator_writes() -> None:
    command = [sys.executable, str(ROOT / "examples/demo/make_session.py"), "--check"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_the_session_is_small_enough_to_ship() -> None:
    assert session_path().stat().st_size <= 300_000


def test_every_line_follows_one_before_it(lines: list[dict[str, Any]]) -> None:
    seen: set[str | None] = {None}
    for line in lines:
        if "uuid" in line:
            assert line["parentUuid"] in seen
            seen.add(line["uuid"])


def test_every_call_has_its_result(lines: list[dict[str, Any]]) -> None:
    calls = [call["id"] for call in blocks(lines, "tool_use")]
    assert calls == [result["tool_use_id"] for result in blocks(lines, "tool_result")]
    assert len(calls) > 150


def test_no_long_result_stands_there_twice(lines: list[dict[str, Any]]) -> None:
    long = [str(result["content"]) for result in blocks(lines, "tool_result") if len(str(result["content"])) > 6_000]
    assert len(long) == len(set(long))


def test_it_ends_with_an_ask_that_nobody_answered(lines: list[dict[str, Any]]) -> None:
    assert lines[-1]["type"] == "user"
    assert "2.7.0-rc.2" in lines[-1]["message"]["content"]


def test_the_flawed_draft_names_what_the_session_does_not(lines: list[dict[str, Any]]) -> None:
    text = json.dumps(lines, ensure_ascii=False)
    for invented in ("QUAY-999", "redis-prod-7.quayside.example:6380"):
        assert invented in FLAWED
        assert invented not in text


def test_the_identifiers_of_the_sound_draft_are_the_sessions_own(lines: list[dict[str, Any]]) -> None:
    text = json.dumps(lines, ensure_ascii=False)
    listed = SOUND.split("## Exact identifiers\n")[1].strip().split(", ")
    assert len(listed) == 8
    assert all(one in text for one in listed)
