"""`clew mcp` as any client of the Model Context Protocol meets it: the SDK's own, over a real process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clew.store.port import Draft
from clew.store.sqlite import SqliteStore
from clew.transcript import Said, ToolResult, assistant, user

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
from mcp import Client, StdioServerParameters, stdio_client

START = 1_795_996_800_000


@pytest.fixture
def store(home):
    with SqliteStore(home / "clew.sqlite") as made:
        for key in ("work", "play"):
            made.create(key, at=START)
            said = [user(f"请修复登录超时 {key.upper()}-731"), assistant("done")]
            made.append(key, [Draft(f"{key}{n}", START, Said(one), 5) for n, one in enumerate(said)])
    return home


def using(act: Callable[[Any], Awaitable[Any]], *words: str) -> Any:
    async def play() -> Any:
        server = StdioServerParameters(command=sys.executable, args=["-m", "clew", "mcp", *words], env=dict(os.environ))
        async with Client(stdio_client(server)) as client:
            return await act(client)

    return asyncio.run(play())


def called(*calls: tuple[str, dict[str, Any]]) -> Callable[[Any], Awaitable[list[tuple[bool, str]]]]:
    async def act(client: Any) -> list[tuple[bool, str]]:
        done = [await client.call_tool(name, given) for name, given in calls]
        return [(one.is_error, one.content[0].text) for one in done]

    return act


def test_the_tools_are_listed_with_an_argument_for_the_session(store):
    async def act(client):
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in using(act)}
    assert set(tools) == {"history_search", "history_describe", "history_expand", "history_sessions"}
    assert tools["history_expand"].input_schema["required"] == ["session", "name"]
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    tools = {tool.name: tool for tool in using(act, "--key", "work")}
    assert tools["history_expand"].input_schema["required"] == ["name"]
    assert "Left out: work." in tools["history_search"].input_schema["properties"]["session"]["description"]


def test_a_client_finds_sessions_searches_them_and_opens_what_it_found(store):
    listed, found, opened, top = using(
        called(
            ("history_sessions", {}),
            ("history_search", {"session": "work", "query": "超时"}),
            ("history_expand", {"session": "play", "name": "#1"}),
            ("history_describe", {"session": "work"}),
        )
    )
    assert "work · 2 entries" in listed[1]
    assert found[1].startswith("#1 · 2026-11-30 00:00 · user · in view")
    assert opened[1].splitlines()[1] == "请修复登录超时 PLAY-731"
    assert "Nothing of this conversation was compacted away" in top[1]
    assert not any(error for error, _ in (listed, found, opened, top))


def test_the_session_of_the_command_is_meant_where_none_is_named(store):
    own, other = using(
        called(("history_search", {"query": "731"}), ("history_search", {"query": "731", "session": "play"})),
        "--key", "work",
    )  # fmt: skip
    assert "WORK-731" in own[1]
    assert "PLAY-731" in other[1]


def test_what_goes_wrong_is_a_result_in_words_and_the_server_goes_on(store):
    done = using(
        called(
            ("history_search", {"query": "x"}),
            ("history_search", {"query": "x", "session": "nope"}),
            ("history_expand", {"session": "work", "name": "#9"}),
            ("history_search", {"session": "work", "regex": "("}),
            ("history_search", {"session": "work", "query": "x", "limit": "many"}),
            ("nonesuch", {"session": "work"}),
            ("history_sessions", {"prefix": "zz"}),
        )
    )
    words = (
        "`session` is missing",
        "no session 'nope'",
        "there is no #9",
        "is broken",
        "`limit`",
        "no tool",
        "no sessions",
    )
    assert [error for error, _ in done] == [True] * 6 + [False]
    assert all(word in text for word, (_, text) in zip(words, done, strict=True))


HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip


def test_ctrl_c_ends_it_though_its_client_still_listens(store):
    command = [sys.executable, "-m", "clew", "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        running.stdin.write(json.dumps(HELLO) + "\n")
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["id"] == 1
        running.send_signal(signal.SIGINT)
        assert running.wait(10) == -signal.SIGINT


def test_nothing_but_the_protocol_stands_on_standard_output(store):
    done = subprocess.run(
        [sys.executable, "-m", "clew", "mcp"], input=json.dumps(HELLO) + "\nno json at all\n", capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in done.stdout.splitlines())
    assert "Traceback" not in done.stderr


def test_an_unknown_key_is_refused_before_anything_is_served(store):
    done = subprocess.run(
        [sys.executable, "-m", "clew", "mcp", "--key", "nope"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no session 'nope'" in done.stderr


def test_without_the_extra_the_way_to_it_is_named(store):
    code = "import sys; sys.modules['mcp'] = None; from clew.cli import main; sys.argv = ['clew', 'mcp']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'clew[mcp]'" in done.stderr


def test_a_result_is_bounded_however_long_the_message_is(store):
    with SqliteStore(store / "clew.sqlite") as made:
        long = [assistant("登录超时" * 50_000), user("thanks")]
        made.append("work", [Draft(f"long{n}", START, Said(one), 5) for n, one in enumerate(long)])
        made.append("work", [Draft("r", START, Said(ToolResult("c", "read", ())))])
    (page,) = using(called(("history_expand", {"session": "work", "name": "#3", "limit": 20_000})))
    assert page[0] is False
    assert len(page[1]) < 6_000
    assert 'It goes on: history_expand name="#3", offset=' in page[1]
