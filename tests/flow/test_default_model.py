"""Who has set no model gets a server that runs, else weights that are here, else three lines that say how."""

import asyncio
import socket
from contextlib import ExitStack

import pytest

from clew.models.default import Found, Missing, default_model
from clew.models.discover import Discovered, discover
from clew.models.settings import ModelsSettings
from clew.models.weights import KNOWN
from clew.testing.server import ModelServer

PROPS = {"/props": {"default_generation_settings": {"n_ctx": 4096}}}
LLAMACPP = {"/v1/models": {"data": [{"id": "qwen"}]}, **PROPS}
OLLAMA = {
    "/api/ps": {"models": []},
    "/api/tags": {"models": [{"name": "qwen3:8b", "modified_at": "2026"}]},
    "/api/show": {"parameters": "num_ctx 16384"},
}
NOWHERE = ModelsSettings(mode="replace")
SMALL = KNOWN[-1]


def settings(**servers):
    providers = {name: {"baseUrl": f"{server.url}/v1"} for name, server in servers.items()}
    return ModelsSettings.model_validate({"mode": "replace", "providers": providers})


def find(**pages):
    with ExitStack() as stack:
        servers = {name: stack.enter_context(ModelServer(pages=dict(page))) for name, page in pages.items()}
        found = asyncio.run(discover(settings(**servers), timeout_s=5))
        return found, {name: f"{server.url}/v1" for name, server in servers.items()}


def test_a_server_is_found_with_its_model_and_window():
    found, urls = find(llamacpp=LLAMACPP)
    assert found == Discovered("llamacpp/qwen", urls["llamacpp"], 4096)


def test_a_model_that_ollama_has_not_loaded_is_found_too():
    found, urls = find(ollama=OLLAMA)
    assert found == Discovered("ollama/qwen3:8b", urls["ollama"], 16384)


def test_the_first_in_the_table_wins_and_an_empty_one_is_passed_over():
    assert find(vllm=LLAMACPP, ollama=OLLAMA)[0].provider == "ollama"
    assert find(vllm=LLAMACPP, ollama={"/api/tags": {"models": []}})[0].name == "vllm/qwen"


@pytest.mark.parametrize("page", ["<html>a page of somebody else's</html>", {"data": "?"}, [], 3])
def test_a_server_that_is_something_else_is_none(page):
    assert find(llamacpp={"/v1/models": page}, ollama={"/api/ps": page, "/api/tags": page})[0] is None


def test_a_server_that_says_nothing_is_passed_over():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        where = {"providers": {"vllm": {"baseUrl": f"http://127.0.0.1:{mute.getsockname()[1]}/v1"}}, "mode": "replace"}
        assert asyncio.run(discover(ModelsSettings.model_validate(where), timeout_s=0.05)) is None


def test_only_lists_are_read():
    with ModelServer(pages=dict(LLAMACPP)) as server:
        asyncio.run(discover(settings(llamacpp=server), timeout_s=5))
        assert server.requests == []


def choose(primary=None, where=NOWHERE, folder=None, runtime=True):
    return asyncio.run(default_model(primary, where, {}, folder, timeout_s=5, runtime=lambda: runtime))


@pytest.fixture
def weights(tmp_path):
    with (tmp_path / SMALL.file).open("wb") as file:
        file.truncate(SMALL.size)
    return tmp_path


def test_what_is_set_is_taken_and_nobody_is_asked(weights):
    assert choose("anthropic/claude", folder=weights) == Found("anthropic/claude", "settings")


def test_a_server_goes_before_weights(weights):
    with ModelServer(pages=dict(LLAMACPP)) as server:
        assert choose(where=settings(llamacpp=server), folder=weights).source == "server"


def test_weights_that_are_here_are_taken_with_the_window_they_will_have(weights):
    assert choose(folder=weights) == Found(f"local/{SMALL.name}", "weights", window=8192)
    larger = ModelsSettings.model_validate({"mode": "replace", "local": {"contextWindow": 100_000}})
    assert choose(where=larger, folder=weights).window == SMALL.trained


@pytest.mark.parametrize(("here", "runtime", "steps"), [
    (False, False, ["pip install 'clew[local]'", "clew models pull  (1.1 GB)"]),
    (False, True, ["clew models pull  (1.1 GB)"]),
    (True, False, ["pip install 'clew[local]'"]),
])  # fmt: skip
def test_without_either_three_lines_say_what_is_lacking(weights, here, runtime, steps):
    missing = choose(folder=weights if here else weights / "none", runtime=runtime)
    assert missing == Missing(here, runtime)
    lines = missing.message.split("\n")
    assert len(lines) == 3
    assert lines[1].partition(":  ")[2] == ",  then  ".join(steps)
    assert max(map(len, lines)) < 120
