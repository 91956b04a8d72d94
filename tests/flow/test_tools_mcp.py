"""Tools lent by real servers: child processes over standard input and output, and one over HTTP on loopback."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clew.runtime.tools import Toolbox
from clew.transcript import Call, Media, Text, ToolResult, text_of
from clew.workspace.mcp import Lent, lent
from clew.workspace.mcp_content import tool_name
from clew.workspace.place import Workspace
from clew.workspace.settings import McpSettings

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
SERVER = str(Path(__file__).with_name("lending_server.py"))
NAMES = ["die", "fail", "picture", "shout", "sleep", "where"]


def server(*more: str, **settings: object) -> dict[str, object]:
    return {"command": sys.executable, "args": [SERVER, *more], "ask": "never", **settings}


def using(root: Path, servers: dict[str, object], act: Callable[[Lent, Toolbox], Awaitable[Any]], **env: str) -> Any:
    async def play() -> Any:
        async with lent(McpSettings.model_validate({"servers": servers}), Workspace(root), env) as found:
            return await act(found, Toolbox(found.offers))

    return asyncio.run(play())


def calls(*wanted: tuple[str, dict[str, object]]) -> Callable[[Lent, Toolbox], Awaitable[list[ToolResult]]]:
    async def act(found: Lent, box: Toolbox) -> list[ToolResult]:
        return [await box.run(Call("c1", name, given)) for name, given in wanted]

    return act


def left_in(root: Path) -> list[str]:
    """The processes that run in a folder."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "cwd").readlink() == root.resolve():
                found.append((folder / "cmdline").read_text())
    return found


def test_the_tools_of_two_servers_are_listed_and_called(tmp_path: Path) -> None:
    async def act(found: Lent, box: Toolbox) -> None:
        assert [offer.name for offer in found.offers] == [f"{one}__{name}" for one in ("a", "b") for name in NAMES]
        shout = next(tool for tool in box.tools if tool.name == "b__shout")
        assert (shout.description, shout.schema["required"]) == ("Say it loudly.", ["words"])
        first, second = await asyncio.gather(
            box.run(Call("c1", "a__shout", {"words": "你好 hi", "times": 2})), box.run(Call("c2", "b__picture"))
        )
        assert (text_of(first), first.call_id) == ("你好 HI 你好 HI ", "c1")
        assert second.blocks == (Text("a dot"), Media("image/png", "aGk="))
        assert found.warnings == ()

    using(tmp_path, {"b": server(), "a": server()}, act)
    assert left_in(tmp_path) == []


def test_a_server_is_given_what_the_settings_say_and_no_more(tmp_path: Path) -> None:
    servers: dict[str, object] = {"a": server(env={"GIVEN": "<${MINE}>"})}
    (result,) = using(tmp_path, servers, calls(("a__where", {})), MINE="7", OPENAI_API_KEY="sk-x")
    assert text_of(result) == f"{tmp_path.resolve()} <7> None"


def test_a_failure_of_a_tool_is_a_result(tmp_path: Path) -> None:
    failed, wrong = using(tmp_path, {"a": server()}, calls(("a__fail", {}), ("a__shout", {"times": 2})))
    assert (failed.error, wrong.error) == (True, True)
    assert "broken inside" in text_of(failed)
    assert "words" in text_of(wrong)


FAILING = [
    pytest.param(server("--broken"), "did not start", "It said: no licence found", id="it ends at once"),
    pytest.param({"command": "no-such-program-here"}, "did not start", "No such file", id="it is not there"),
    pytest.param(server("--mute", startTimeoutSeconds=1), "named no tools within 1 s", "", id="it says nothing"),
    pytest.param(
        server(env={"X": "${NOT_SET}"}), "NOT_SET, which is not set", "mcp.servers.bad.env.X", id="a reference"
    ),
    pytest.param({"url": "http://127.0.0.1:9/mcp"}, "did not start", "", id="nothing answers there"),
]


@pytest.mark.parametrize(("bad", "said", "more"), FAILING)
def test_a_server_that_fails_is_a_warning_and_the_others_work(
    tmp_path: Path, bad: dict[str, object], said: str, more: str
) -> None:
    async def act(found: Lent, box: Toolbox) -> None:
        (warning,) = found.warnings
        assert said in warning
        assert more in warning
        assert text_of(await box.run(Call("c1", "good__shout", {"words": "x"}))) == "X "

    using(tmp_path, {"bad": bad, "good": server()}, act)
    assert left_in(tmp_path) == []


def test_a_server_that_dies_is_started_again_with_the_next_call(tmp_path: Path) -> None:
    died, back = using(tmp_path, {"a": server()}, calls(("a__die", {}), ("a__shout", {"words": "x"})))
    assert (died.error, "ended during the call" in text_of(died)) == (True, True)
    assert text_of(back) == "X "


def test_a_call_that_takes_too_long_is_a_result_and_the_server_goes_on(tmp_path: Path) -> None:
    servers: dict[str, object] = {"a": server(timeoutSeconds=1)}
    late, after = using(tmp_path, servers, calls(("a__sleep", {"seconds": 1.5}), ("a__shout", {"words": "x"})))
    assert (late.error, text_of(after)) == (True, "X ")


def test_cancelling_ends_the_call_and_then_the_server(tmp_path: Path) -> None:
    async def act(found: Lent, box: Toolbox) -> None:
        task = asyncio.create_task(box.run(Call("c1", "a__sleep", {"seconds": 3})))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    start = time.monotonic()
    using(tmp_path, {"a": server()}, act)
    assert left_in(tmp_path) == []
    assert time.monotonic() - start < 8


def test_its_tools_are_asked_for_unless_they_are_listed(tmp_path: Path) -> None:
    servers: dict[str, object] = {"a": server(ask="unless-allowed", allow=["sho*"])}
    free, asked = using(tmp_path, servers, calls(("a__shout", {"words": "x"}), ("a__where", {})))
    assert (text_of(free), asked.error) == ("X ", True)
    assert "`mcp.servers.a.allow` does not list it, and there is nobody to ask" in text_of(asked)


@pytest.fixture
def url() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, SERVER, "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def test_a_server_behind_a_url_lends_too(tmp_path: Path, url: str) -> None:
    servers: dict[str, object] = {"web": {"url": url, "ask": "never", "headers": {"X-Key": "${K}"}}}
    (result,) = using(tmp_path, servers, calls(("web__shout", {"words": "x"})), K="1")
    assert text_of(result) == "X "


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("a", "b", "a__b"),
        ("a", "search.web/新", "a__search_web__"),
        ("a", "x" * 80, f"a__{'x' * 52}_{'0' * 8}"),
    ],
)
def test_a_tool_s_name_is_one_that_providers_take(server: str, tool: str, name: str) -> None:
    made = tool_name(server, tool)
    assert len(made) <= 64
    assert made[:55] == name[:55]


@pytest.mark.parametrize("settings", [{"x": {}}, {"x": {"command": "a", "url": "b"}}, {"a__b": {"command": "x"}}])
def test_a_server_that_is_set_wrongly_is_a_mistake(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"either a `command` or a `url`|is no name for a server"):
        McpSettings.model_validate({"servers": settings})


def test_no_server_loads_nothing() -> None:
    code = (
        "import asyncio, sys, pathlib\n"
        "from clew.workspace.mcp import lent\n"
        "from clew.workspace.place import Workspace\n"
        "from clew.workspace.settings import McpSettings\n"
        "async def play():\n"
        "    async with lent(McpSettings(), Workspace(pathlib.Path('.')), {}) as found: print(found)\n"
        "asyncio.run(play()); print('mcp' in sys.modules, 'httpx2' in sys.modules)"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout.splitlines()[-1] == "False False"
