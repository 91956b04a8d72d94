"""Real commands: what they give back, and that nothing of them is left."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from clew.errors import BadInput
from clew.workspace.exec import execute
from clew.workspace.place import Workspace
from clew.workspace.port import Output

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="processes are looked at through /proc")


def run(root: Path, command: str, timeout_s: float = 20, **env: str) -> Output:
    given = {"PATH": os.environ["PATH"], **env}
    return asyncio.run(execute(Workspace(root), command, timeout_s=timeout_s, env=given, name="out.txt"))


def alive(pid_file: Path) -> bool:
    """Whether the process whose number a file holds still runs; a process that only waits to be reaped does not."""
    pid = int(pid_file.read_text())
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid_file: Path, seconds: float = 3) -> bool:
    deadline = time.monotonic() + seconds
    while alive(pid_file) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid_file)


@pytest.mark.parametrize(
    ("command", "text", "closing"),
    [
        pytest.param("echo 你好; echo err >&2; exit 3", "你好\nerr\n", "[exit code 3]", id="both streams in order"),
        pytest.param("true", "(no output)", "[exit code 0]", id="nothing said"),
        pytest.param("kill -9 $$", "(no output)", "[ended by signal 9 (Killed), exit code 137]", id="a signal"),
        pytest.param("printf 'a\\377b'", "a�b", "[exit code 0]", id="not UTF-8"),
        pytest.param("pwd -P | xargs basename", "room\n", "[exit code 0]", id="it starts in the workspace"),
        pytest.param("cat; tty; echo ${SECRET-none}", "not a tty\nnone\n", "[exit code 0]", id="no input, no terminal"),
        pytest.param(
            "(echo x > /dev/tty) 2>/dev/null || echo none", "none\n", "[exit code 0]", id="none to open either"
        ),
    ],
)
def test_a_command_gives_back_what_it_said(tmp_path: Path, command: str, text: str, closing: str) -> None:
    (tmp_path / "room").mkdir()
    shown = run(tmp_path / "room", command)
    assert (shown.text, shown.closing, shown.error) == (text, closing, False)
    assert os.listdir(tmp_path / "room") == []


def test_a_character_in_two_pieces_is_one_character(tmp_path: Path) -> None:
    assert run(tmp_path, "printf '\\344\\275'; sleep 0.2; printf '\\240'").text == "你"


def test_a_long_output_is_saved_whole_and_held_at_both_ends(tmp_path: Path) -> None:
    shown = run(tmp_path, "seq 1 200000; exit 2")
    whole = "".join(f"{n}\n" for n in range(1, 200_001))
    assert shown.path == ".clew/outputs/out.txt"
    assert (tmp_path / shown.path).read_text() == whole
    assert len(shown.text) + shown.between + len(shown.tail) == len(whole)
    assert whole.startswith(shown.text)
    assert whole.endswith(shown.tail)
    assert shown.between > 0
    assert (tmp_path / ".clew/.gitignore").read_text() == "*\n"


def test_an_output_without_end_fills_neither_memory_nor_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.workspace.capture.SAVED", 1_000_000)
    shown = run(tmp_path, "yes", timeout_s=0.5)
    assert (tmp_path / ".clew/outputs/out.txt").stat().st_size == 1_000_000
    assert shown.closing.startswith("[the file holds the first 1,000,000 bytes of the output]\n[not done after 0.5 s")
    assert shown.between > 1_000_000


def test_at_the_time_limit_the_whole_group_ends(tmp_path: Path) -> None:
    start = time.monotonic()
    shown = run(tmp_path, "echo before; sleep 60 & echo $! > pid; sleep 60", timeout_s=0.4)
    assert (shown.text, shown.error) == ("before\n", True)
    assert shown.closing.startswith("[not done after 0.4 s, so it was ended")
    assert gone(tmp_path / "pid")
    assert time.monotonic() - start < 10


def test_one_that_does_not_listen_is_ended_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.workspace.exec.GRACE_S", 0.2)
    run(tmp_path, "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done", timeout_s=0.4)
    assert gone(tmp_path / "pid")


def test_what_is_left_running_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    start = time.monotonic()
    shown = run(tmp_path, "sleep 60 & echo $! > pid; echo started")
    assert (shown.text, shown.closing) == ("started\n", "[what it had left running was ended; exit code 0]")
    assert gone(tmp_path / "pid")
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    "command", ["sleep 60 & echo $! > pid; wait", "trap '' TERM; echo $$ > pid; sleep 60; sleep 60"]
)
def test_cancelling_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr("clew.workspace.exec.GRACE_S", 0.2)

    async def cancelled() -> None:
        one = execute(Workspace(tmp_path), command, timeout_s=60, env=dict(os.environ), name="out.txt")
        task = asyncio.create_task(one)
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert gone(tmp_path / "pid")


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    run(tmp_path, "true")
    before = len(os.listdir("/proc/self/fd"))
    for command in ("true", "sleep 9 &", "seq 1 100000"):
        asyncio.run(
            execute(Workspace(tmp_path), command, timeout_s=5, env={"PATH": os.environ["PATH"]}, name=f"{command}.txt")
        )
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("room", [{"read_only": True}, {"root": "gone"}])
def test_what_cannot_be_started_says_that_nothing_ran(tmp_path: Path, room: dict[str, object]) -> None:
    place = Workspace(tmp_path / str(room.get("root", "")), read_only=bool(room.get("read_only")))
    with pytest.raises(BadInput, match=r"nothing was (run|changed)"):
        asyncio.run(execute(place, "touch x", timeout_s=5, env={}, name="x.txt"))
    assert os.listdir(tmp_path) == []
