"""A local server is asked for the window it really runs with."""

import asyncio

import pytest

from clew.models import local
from clew.models.port import Limits
from clew.models.providers import build
from clew.models.settings import ModelsSettings
from clew.testing.server import ModelServer

SERVERS = {
    "llama.cpp": {"/props": {"default_generation_settings": {"n_ctx": 8192}}},
    "vllm": {"/v1/models": {"data": [{"id": "m", "max_model_len": 8192}]}},
    "lmstudio": {
        "/v1/models": {"data": [{"id": "m"}]},
        "/api/v0/models": {"data": [{"id": "m", "loaded_context_length": 8192, "max_context_length": 99999}]},
    },
    "ollama, loaded": {"/api/ps": {"models": [{"name": "m:latest", "context_length": 8192}]}},
    "ollama, not loaded": {"/api/ps": {"models": []}, "/api/show": {"parameters": "num_ctx 8192"}},
}


@pytest.mark.parametrize("pages", SERVERS.values(), ids=SERVERS)
def test_each_kind_of_server_tells_its_window(pages):
    with ModelServer(pages=pages) as server:
        assert asyncio.run(local.window(f"{server.url}/v1", "m")) == 8192


def test_a_server_that_does_not_tell_leaves_it_unknown():
    with ModelServer() as server:
        assert asyncio.run(local.window(f"{server.url}/v1", "m")) is None


def test_a_server_that_is_not_there_leaves_it_unknown():
    with ModelServer() as server:
        url = server.url
    assert asyncio.run(local.window(url, "m")) is None


@pytest.mark.parametrize(("declared", "limits"), [
    pytest.param(None, Limits(8192, source="server"), id="nothing declared"),
    pytest.param(32_768, Limits(8192, source="server"), id="more declared than there is"),
    pytest.param(4_096, Limits(4096, source="settings"), id="less declared"),
])  # fmt: skip
def test_what_the_server_says_bounds_what_is_declared(declared, limits):
    with ModelServer(pages=SERVERS["llama.cpp"]) as server:
        settings = server.settings(models=[{"id": "m", "contextWindow": declared}])
        model = build("scripted/m", ModelsSettings.model_validate(settings), {})
        assert asyncio.run(model.limits()) == limits


def test_the_answer_is_kept():
    async def twice(model, server):
        first = await model.limits()
        server.pages.clear()
        return first == await model.limits()

    with ModelServer(pages=dict(SERVERS["llama.cpp"])) as server:
        model = build("scripted/m", ModelsSettings.model_validate(server.settings()), {})
        assert asyncio.run(twice(model, server))
