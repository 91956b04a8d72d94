"""A small model served from its weights by a process of its own: it answers who has the key, and never outlives us."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from clew.errors import BadSettings, Unreachable
from clew.models.host import LocalHost, installed, window
from clew.models.host_settings import HostSettings
from clew.models.port import Limits, Request, Tool
from clew.models.providers import build
from clew.models.settings import ModelsSettings
from clew.models.silent import silent_overflow
from clew.models.weights import Stored, find
from clew.transcript import calls_of, text_of, user
from tests.flow.conftest import WEIGHTS

NOT_HERE = "the weights are not in .cache/models: `make test-models` brings them"


@pytest.fixture
def small():
    pytest.importorskip("xllamacpp", reason="no local model runtime: pip install 'clew[local]'")
    return find(WEIGHTS, "smollm2-135m") or pytest.skip(NOT_HERE)


@pytest.fixture
def host(small, tmp_path):
    one = LocalHost(small, HostSettings(context_window=1024), log=tmp_path / "host.log")
    yield one
    one.stop()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid, seconds=20):
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)


def play(name, scene, window=1024):
    """Run a scene with a model, and close the model in the same event loop."""

    async def whole():
        settings = ModelsSettings.model_validate({"local": {"contextWindow": window}})
        built = build(name, settings, {}, weights=WEIGHTS)
        try:
            return await scene(built)
        finally:
            await built.close()

    return asyncio.run(whole())


# Without weights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "trained", "served"), [
    (8192, 32_768, 8192), (100_000, 32_768, 32_768), (1000, None, 768), (512, 32_768, 512),
])  # fmt: skip
def test_the_window_is_what_is_set_in_whole_steps_and_no_more_than_was_trained(asked, trained, served):
    assert window(Stored("m", Path("m.gguf"), 1, trained), HostSettings(context_window=asked)) == served


def test_a_model_without_its_weights_says_in_three_lines_what_to_do(tmp_path):
    with pytest.raises(BadSettings, match=r"clew models pull qwen2\.5-coder-0\.5b\n") as lack:
        build("local/qwen2.5-coder-0.5b", None, {}, weights=tmp_path)
    assert len(str(lack.value).split("\n")) == 3


def test_a_provider_of_that_name_in_the_settings_is_the_users():
    written = ModelsSettings.model_validate({"providers": {"local": {"baseUrl": "http://127.0.0.1:1/v1"}}})
    assert build("local/m", written, {}, weights=Path()).endpoint.base_url == "http://127.0.0.1:1/v1"


@pytest.mark.skipif(not installed(), reason="no local model runtime: pip install 'clew[local]'")
def test_weights_that_are_none_end_with_the_place_of_the_log(tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"no weights at all")
    broken = LocalHost(Stored("m", tmp_path / "m.gguf", 17))
    with pytest.raises(Unreachable, match=r"ended before it was ready .*host\.log"):
        broken.start()
    assert broken.pid is None
    assert (tmp_path / "host.log").stat().st_size > 0


@pytest.mark.skipif(not installed(), reason="no local model runtime: pip install 'clew[local]'")
def test_one_that_takes_too_long_is_ended(tmp_path):
    slow = LocalHost(Stored("m", tmp_path / "m.gguf", 17), log=tmp_path / "host.log", seconds=0.0)
    with pytest.raises(Unreachable, match="not ready within 0 s"):
        slow.start()
    assert slow.pid is None


# With them ------------------------------------------------------------------------------------------------------------


@pytest.mark.real_model
def test_only_who_has_the_key_is_served_and_the_key_is_in_no_list_of_processes(host):
    address = host.start()
    assert address.base_url.startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{address.base_url}/models")
    shown = Path(f"/proc/{host.pid}/cmdline").read_bytes() + Path(f"/proc/{host.pid}/environ").read_bytes()
    assert address.key.encode() not in shown
    assert b"GOMP_SPINCOUNT" in shown


@pytest.mark.real_model
def test_it_runs_once_and_ends_when_it_is_told(host):
    async def twice():
        async with host as address:
            return address == host.start(), host.pid

    same, pid = asyncio.run(twice())
    assert same
    assert (host.pid, gone(pid)) == (None, True)


@pytest.mark.real_model
def test_it_never_outlives_who_started_it(small):
    code = (
        "import pathlib, time; from clew.models.host import LocalHost; from clew.models.weights import Stored\n"
        f"host = LocalHost(Stored('m', pathlib.Path({str(small.path)!r}), 1), log=pathlib.Path('/dev/null'))\n"
        "host.start(); print(host.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.send_signal(signal.SIGKILL)
    assert gone(pid)


@pytest.mark.real_model
def test_a_model_answers_and_starts_again_when_its_process_was_killed(small):
    hello, pieces = Request((user("Say hello."),), max_output=8, temperature=0), []

    async def scene(built):
        assert (built.name, await built.limits()) == ("local/smollm2-135m", Limits(1024, source="server"))
        assert built.pid is None
        answer = await built.complete(hello)
        os.kill(first := built.pid, signal.SIGKILL)
        while built.pid == first:
            await asyncio.sleep(0.05)
        return answer, await built.complete(hello, on_text=pieces.append), built.pid

    answer, again, pid = play("local/SmolLM2-135m", scene)
    assert (answer.model, answer.usage.output) == ("local/smollm2-135m", 8)
    assert text_of(again) == "".join(pieces)
    assert gone(pid)


@pytest.mark.real_model
def test_an_answer_of_one_token_in_a_full_window_is_known_as_an_overflow(small):
    def tale(lamps, most):
        words = "Tell the tale of the keeper and the lamp. " + "The keeper lit the lamp. " * 70 + "lamp " * lamps
        return Request((user(words),), max_output=most, temperature=0)

    async def scene(built):
        usage = (await built.complete(tale(1, 10))).usage
        up_to_the_last = 1 + 512 - 1 - (usage.context - usage.output)
        asked = [tale(1, 10), tale(up_to_the_last, 100)]
        return [(await built.complete(one), one) for one in asked]

    enough, full = play("local/smollm2-135m", scene, 512)
    assert (full[0].stop, full[0].usage.output, full[0].usage.context) == ("length", 1, 512)
    assert silent_overflow(*full, 512)
    assert not silent_overflow(*enough, 512)


@pytest.mark.real_model
def test_a_coder_models_call_is_a_call_and_is_not_shown_as_words():
    if not installed() or find(WEIGHTS, "qwen2.5-coder-0.5b") is None:
        pytest.skip(NOT_HERE)
    path = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tools = (Tool("read", "Read a file of the workspace.", path),)
    asked = Request((user("Read the file src/main.py"),), tools=tools, max_output=120, temperature=0)
    pieces = []
    answer = play("local/qwen2.5-coder-0.5b", lambda built: built.complete(asked, on_text=pieces.append), 2048)
    assert [(call.name, call.arguments) for call in calls_of(answer)] == [("read", {"path": "src/main.py"})]
    assert ("".join(pieces), answer.stop) == (text_of(answer), "tools")
    assert '"arguments"' not in text_of(answer)
