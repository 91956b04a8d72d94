"""The example of an engine installed as a package: found through its entry point by the commands that people use."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clew.clock import new_id, now_ms
from clew.runtime.session import Session
from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer
from tests.shape.source_tree import ROOT

EXAMPLE = ROOT / "examples/engine"
KEY = "agent:main:main"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder that the example was installed into by pip, without any index."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the example, is not in this environment: pip install hatchling")
    place = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(place), str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


class Home:
    """A home whose commands run as processes of their own, with the example on their path or without."""

    def __init__(self, place: Path, site: Path | None) -> None:
        self.place = place
        bin = str(Path(sys.executable).parent)
        self.env = {
            "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}", "HOME": str(place), "CLEW_HOME": str(place),
            "PYTHONUTF8": "1", "COLUMNS": "160", **({"PYTHONPATH": str(site)} if site else {}),
        }  # fmt: skip

    def clew(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            ["clew", *words], cwd=self.place, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def settings(self, server: ModelServer) -> None:
        models = server.settings(models=[{"id": "any", "contextWindow": 32_768}])
        told = {"agents": {"defaults": {"model": "scripted/any"}}, "models": models}
        (self.place / "clew.json5").write_text(json.dumps(told), encoding="utf-8")
        self.clew("config", "set", "plugins.slots.contextEngine", "sticky")

    def reset(self) -> None:
        with SqliteStore(self.place / "clew.sqlite") as store:
            Session(store, KEY, now=now_ms, new_id=new_id).reset()


def test_an_installed_engine_runs_the_conversation_of_every_process(site, tmp_path):
    home = Home(tmp_path, site)
    with ModelServer(["Noted.", "Hello.", "Hello again."]) as server:
        home.settings(server)
        assert "sticky: Sticky notes 0.1.0" in home.clew("doctor")
        home.clew("agent", "-m", "remember: 值班电话是 4711")
        home.reset()
        home.clew("agent", "-m", "Good morning.")
        home.clew("agent", "-m", "And now?")
    said = [[one["content"] for one in seen.body["messages"] if one["role"] == "user"] for seen in server.requests]
    assert said[1] == ["Good morning.\n\nYou were asked to remember:\n- 值班电话是 4711"]
    assert said[2] == [*said[1], "And now?"], "what was appended stays where it was"


def test_where_it_is_not_installed_the_built_in_engine_answers_and_says_so(tmp_path):
    home = Home(tmp_path, None)
    with ModelServer(["Noted."]) as server:
        home.settings(server)
        told = json.loads(home.clew("agent", "-m", "remember: 4711", "--json", "--events"))
    assert told["text"] == "Noted."
    (trouble,) = (one for one in told["events"] if one["type"] == "EngineTrouble")
    assert "no plug-in registers it (there are: legacy, lossless)" in trouble["error"]
    assert "sticky cannot run: no plug-in registers it" in home.clew("doctor", code=1)


def test_the_examples_own_tests_pass_beside_the_installed_package(site, tmp_path):
    shutil.copy(EXAMPLE / "test_sticky.py", tmp_path)
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sticky.py"]
    env = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
