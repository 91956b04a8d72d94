"""Which servers are asked for their window, and where it is in their answers."""

import pytest

from clew.models.local import is_local, listed, llamacpp_props, ollama_loaded, ollama_parameters

NEAR = ["http://127.0.0.1:8080/v1", "http://localhost:1234", "http://[::1]:8000/v1", "http://10.0.0.2/v1",
        "http://192.168.1.4:11434", "http://ollama:11434/v1", "http://box.local/v1"]  # fmt: skip
FAR = ["https://api.openai.com/v1", "https://1.1.1.1/v1", "not a url", ""]


@pytest.mark.parametrize(("url", "local"), [*((url, True) for url in NEAR), *((url, False) for url in FAR)])
def test_a_server_is_local_by_its_address(url, local):
    assert is_local(url) is local


@pytest.mark.parametrize(
    ("read", "answer", "window"),
    [
        (llamacpp_props, {"default_generation_settings": {"n_ctx": 8192}}, 8192),
        (llamacpp_props, {"error": "no such page"}, None),
        (listed, {"data": [{"id": "m", "max_model_len": 32768}, {"id": "n", "max_model_len": 1}]}, 32768),
        (listed, {"data": [{"id": "other", "meta": {"n_ctx": 4096}}]}, 4096),
        (listed, {"data": [{"id": "m", "loaded_context_length": 4096, "max_context_length": 131072}]}, 4096),
        (listed, {"data": [{"id": "m", "max_context_length": 131072}]}, None),
        (ollama_loaded, {"models": [{"name": "m:latest", "context_length": 4096}]}, 4096),
        (ollama_loaded, {"models": [{"name": "other", "context_length": 4096}]}, None),
        (ollama_parameters, {"parameters": "stop x\nnum_ctx  16384", "model_info": {"m.context_length": 99}}, 16384),
        (ollama_parameters, {"model_info": {"m.context_length": 131072}}, None),
        (listed, ["not", "an", "object"], None),
    ],
)  # fmt: skip
def test_the_window_is_the_one_the_model_runs_with(read, answer, window):
    assert read(answer, "m") == window
