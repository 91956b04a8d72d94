"""Where output goes and how it ends: a full disk, a closed pipe, Ctrl-C, scripts that read JSON."""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from clew.cli.commands import app
from clew.demo import session_path

CLEW = [sys.executable, "-m", "clew"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLEW_CONFIG", raising=False)
    monkeypatch.delenv("CLEW_STORE", raising=False)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # as users run it: what was printed may still be on its way
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A data folder with the shipped session in it, made once."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLEW_HOME", str(folder))
        run("import", session_path(), "--as", "k")
    return folder


@pytest.fixture
def stored(home, made):
    shutil.copytree(made, home / "home")
    return home


def run(*args, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, done.output + repr(done.exception)
    return done


def shell(line):
    command = line.replace("clew", f"{sys.executable} -m clew", 1)
    return subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)


def test_an_output_that_cannot_be_opened_is_one_sentence(stored):
    said = run("export", "k", "-o", stored / "nowhere" / "x", code=1).stderr
    assert "cannot be opened or written (No such file or directory)" in said
    assert said.count("\n") == 1


def test_a_file_that_was_written_in_part_is_taken_away(stored):
    run("export", "k", "--format", "wat", "-o", stored / "out", code=2)
    assert not (stored / "out").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", ["export k", "sessions", "sessions --json", "--help"])
def test_a_full_disk_is_one_sentence(stored, words):
    done = shell(f"clew {words} > /dev/full")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1, "clew: The output could not be written (No space left on device); what was stored stays."
    )  # fmt: skip


@pytest.mark.parametrize("words", ["export k", "trace k", "trace k --json"])
def test_a_reader_that_goes_away_is_no_error(stored, words):
    run("compact", "k", "--by-rules")
    done = shell(f"clew {words} | head -c 5")
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_while_clew_starts_is_one_line(home):
    """The interrupt comes while modules are loaded: the first of them is made to wait for it."""
    (home / "typer.py").write_text("import time\nprint('loading', flush=True)\ntime.sleep(30)\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(home), os.environ.get("PYTHONPATH", "")])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*CLEW, "sessions"], text=True, env=env, **pipes) as running:
        assert running.stdout.readline() == "loading\n"
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
    assert (running.returncode, said.count("\n")) == (130, 1)
    assert "Interrupted" in said


@pytest.mark.parametrize(
    ("args", "code", "error"),
    [
        (["trace", "nowhere", "--json"], 2, "UnknownSession"),
        (["context", "nowhere", "json"], 2, "UnknownSession"),
        (["pin", "k", "#999", "--json"], 2, "UnknownEntry"),
        (["trace", "k", "one", "--json"], 2, "BadParameter"),
        (["compactions", "show", "--json"], 2, "BadParameter"),
        (["sessions", "--json", "--store", "/dev/null/x"], 1, None),
    ],
)
def test_with_json_an_error_is_an_object_too(stored, args, code, error):
    done = run(*args, code=code)
    said = json.loads(done.stdout)
    assert said["ok"] is False
    assert said["error"]
    assert error in (None, said["code"])
    assert done.stderr == ""


def slow_settings(home, port):
    file = home / "slow.json5"
    file.write_text(f'{{models: {{providers: {{slow: {{baseUrl: "http://127.0.0.1:{port}/v1", apiKey: "x"}}}}}}}}')
    return file


@pytest.fixture
def silent():
    """The port of a server that takes connections and never answers."""
    code = (
        "import socket, time\ns = socket.create_server(('127.0.0.1', 0))\n"
        "print(s.getsockname()[1], flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        yield int(server.stdout.readline())
        server.kill()


def test_a_terminal_sees_stage_attempt_and_seconds_go_on(stored, silent):
    command = [*CLEW, "compact", "k", "--model", "slow/m", "--config", str(slow_settings(stored, silent))]
    master, slave = pty.openpty()
    running = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    seen, until = "", time.monotonic() + 30
    while not ("attempt 1 of 2 · 2 s" in seen and "attempt 1 of 2 · 3 s" in seen) and time.monotonic() < until:
        if select.select([master], [], [], 0.2)[0]:
            seen += os.read(master, 65_536).decode(errors="replace")
    running.kill()
    running.wait()
    os.close(master)
    assert "attempt 1 of 2 · 2 s" in seen
    assert "attempt 1 of 2 · 3 s" in seen
    assert "slow/m" in seen


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_pipe_sees_no_progress_even_where_colour_is_forced(stored, silent, more):
    command = [*CLEW, "compact", "k", "--model", "slow/m", "--config", str(slow_settings(stored, silent)), *more]
    env = {**os.environ, "FORCE_COLOR": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as running:
        time.sleep(3)
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.stdout.read(), running.stderr.read()
    assert running.returncode == 130
    assert "attempt" not in stdout + stderr
    assert (json.loads(stdout)["code"] if more else stderr.count("\n")) == ("KeyboardInterrupt" if more else 1)
