"""The workspace's tools as a session runs them: asked for, cut to the window, and read on."""

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clew.clock import new_id
from clew.runtime.tools import Toolbox
from clew.tokens import estimate
from clew.transcript import Call, Media, ToolResult, text_of
from clew.workspace.offers import Hands
from clew.workspace.place import Workspace
from clew.workspace.settings import ExecSettings, FilesSettings, ToolsSettings

FREE = ToolsSettings(exec=ExecSettings(ask="never"))


def box(root: Path, settings: ToolsSettings = FREE, **more: bool) -> Toolbox:
    room = Workspace(root, read_only=more.get("read_only", False))
    env: Mapping[str, str] = {"PATH": os.environ["PATH"], "DEPLOY_TOKEN": "hunter2"}
    hands = Hands(room, settings, env=env, new_id=new_id)
    return Toolbox(hands.offers(), keep=lambda tool, text: room.save_output(f"{tool}.txt", text))


def run(tools: Toolbox, name: str, *, window: int | None = None, ask: Any = None, **arguments: object) -> ToolResult:
    return asyncio.run(tools.run(Call("c1", name, arguments), window=window, ask=ask))


def test_a_model_is_told_of_four_tools_and_of_one_where_nothing_may_change(tmp_path: Path) -> None:
    tools = box(tmp_path).tools
    assert [tool.name for tool in tools] == ["edit", "exec", "read", "write"]
    assert all(part["description"] for tool in tools for part in tool.schema["properties"].values())
    assert [tool.name for tool in box(tmp_path, read_only=True).tools] == ["read"]
    shut = ToolsSettings(exec=ExecSettings(enabled=False))
    assert [tool.name for tool in box(tmp_path, shut).tools] == ["edit", "read", "write"]


def test_a_file_is_written_edited_and_read(tmp_path: Path) -> None:
    tools = box(tmp_path)
    assert text_of(run(tools, "write", path="笔记.md", content="一\n二\n")) == "Created 笔记.md (8 bytes)."
    assert not run(tools, "edit", path="笔记.md", old="二", new="三").error
    assert text_of(run(tools, "read", path="笔记.md")) == "一\n三\n"


def test_a_failure_is_told_as_a_sentence(tmp_path: Path) -> None:
    result = run(box(tmp_path), "read", path="../x")
    assert (result.error, text_of(result).startswith("../x is outside the workspace")) == (True, True)
    assert "offset" in text_of(run(box(tmp_path), "read", path="a", offset=0))


def test_an_image_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 50_000)
    result = run(box(tmp_path), "read", path="a.png", window=4_096)
    assert [type(block) for block in result.blocks][1:] == [Media]


@pytest.mark.parametrize("window", [4_096, 32_768, 1_000_000])
def test_a_long_file_is_read_part_by_part_to_its_end(tmp_path: Path, window: int) -> None:
    whole = "".join(f"{n}: 第 {n} 行 and some words 😀\n" for n in range(4_000)) + "x" * 90_000
    (tmp_path / "big.txt").write_text(whole)
    tools, found, where, steps = box(tmp_path), "", {"offset": 1}, 0
    while where:
        got = text_of(run(tools, "read", path="big.txt", window=window, **where))
        assert estimate.text(got) <= window * 0.3
        more = re.search(r'\[lines .* of 4,001 are shown; for more, read "big.txt" with offset (\d+)( and .*)?\]$', got)
        part = got[: more.start()] if more else got
        column = int(more[2].split()[-1]) if more and more[2] else 1
        found += part.removesuffix("\n") if column > 1 else part
        where = {"offset": int(more[1]), "column": column} if more else {}
        steps += 1
        assert steps < 200
    assert found == whole
    assert steps > 1


def test_a_long_output_of_a_command_can_be_read_on(tmp_path: Path) -> None:
    tools = box(tmp_path)
    got = text_of(run(tools, "exec", command="seq 1 100000", window=8_192))
    assert estimate.text(got) <= 8_192 * 0.3
    assert got.startswith("1\n2\n")
    assert got.endswith("99999\n100000\n[exit code 0]")
    more = re.search(r'for them, read "(.clew/outputs/exec-\w+.txt)" with offset (\d+)\]', got)
    assert more
    on = text_of(run(tools, "read", path=more[1], offset=int(more[2]), limit=2))
    last = int(got[: got.index("[")].split()[-1])
    assert on.startswith(f"{last + 1}\n{last + 2}\n[lines ")


def test_an_output_that_only_this_window_is_too_small_for_is_kept_too(tmp_path: Path) -> None:
    got = text_of(run(box(tmp_path), "exec", command="seq 1 4000", window=4_096))
    assert 'read ".clew/outputs/exec.txt" with offset' in got
    assert (tmp_path / ".clew/outputs/exec.txt").read_text().startswith("1\n2\n")


def test_a_command_is_asked_for_with_the_reason(tmp_path: Path) -> None:
    asked = []

    async def ask(call: Call, why: str) -> bool:
        asked.append((call.arguments["command"], why))
        return False

    tools = box(tmp_path, ToolsSettings(exec=ExecSettings(allow=("echo *",))))
    assert text_of(run(tools, "exec", command="echo hi", ask=ask)) == "hi\n[exit code 0]"
    result = run(tools, "exec", command="echo hi > x", ask=ask)
    assert asked == [("echo hi > x", "no pattern of `tools.exec.allow` matches it")]
    assert (result.error, os.listdir(tmp_path)) == (True, [])
    assert "nobody to ask" in text_of(run(tools, "exec", command="echo hi > x"))


def test_changes_of_files_are_asked_for_where_the_settings_say_so(tmp_path: Path) -> None:
    tools = box(tmp_path, ToolsSettings(files=FilesSettings(ask="always")))
    assert "tools.files.ask" in text_of(run(tools, "write", path="a.txt", content="x"))
    assert os.listdir(tmp_path) == []


def test_a_command_sees_no_secret_unless_it_is_passed_on(tmp_path: Path) -> None:
    assert "hunter2" not in text_of(run(box(tmp_path), "exec", command="env"))
    passed = ToolsSettings(exec=ExecSettings(ask="never", pass_env=("DEPLOY_TOKEN",)))
    assert "DEPLOY_TOKEN=hunter2" in text_of(run(box(tmp_path, passed), "exec", command="env"))


def test_a_command_has_the_time_it_is_given(tmp_path: Path) -> None:
    result = run(box(tmp_path), "exec", command="sleep 30", timeout_s=0.2)
    assert (result.error, "not done after 0.2 s" in text_of(result)) == (True, True)
    assert "1800 s at most" in text_of(run(box(tmp_path), "exec", command="true", timeout_s=9_999))
