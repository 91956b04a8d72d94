"""Where local servers are looked for, and which of a server's models is taken."""

import pytest

from clew.models.discover import listed, lmstudio_listed, ollama_loaded, ollama_pulled, ollama_url, places
from clew.models.providers import build
from clew.models.settings import KNOWN, ModelsSettings

HOSTS = {
    "": None,
    "localhost": "http://localhost:11434/v1",
    "0.0.0.0": "http://127.0.0.1:11434/v1",
    ":8000": "http://127.0.0.1:8000/v1",
    "10.0.0.5:9000": "http://10.0.0.5:9000/v1",
    "http://box.local": "http://box.local:80/v1",
    "https://box.example/ollama/": "https://box.example:443/ollama/v1",
    "[::1]:9000": "http://[::1]:9000/v1",
    "host:port": None,
}


@pytest.mark.parametrize(("named", "url"), HOSTS.items())
def test_the_variable_is_read_as_ollama_reads_it(named, url):
    assert ollama_url({"OLLAMA_HOST": named}) == url


def test_the_variable_holds_for_a_model_that_is_named_too():
    env = {"OLLAMA_HOST": "10.0.0.5"}
    assert build("ollama/m", None, env).endpoint.base_url == "http://10.0.0.5:11434/v1"
    written = ModelsSettings.model_validate({"providers": {"ollama": {"baseUrl": "http://10.0.0.6/v1"}}})
    assert build("ollama/m", written, env).endpoint.base_url == "http://10.0.0.6/v1"


def test_the_usual_places_are_on_this_machine():
    asked = dict(places(ModelsSettings(), {}))
    assert list(asked) == ["ollama", "llamacpp", "lmstudio", "vllm"]
    assert asked == {name: KNOWN[name].base_url for name in asked}
    assert all(url.startswith("http://127.0.0.1:") for url in asked.values())


def test_what_is_written_wins_and_where_only_that_holds_nothing_else_is_asked():
    written = {"mode": "replace", "providers": {"vllm": {"baseUrl": "http://gpu.lan/v1"}, "ollama": {}}}
    asked = dict(places(ModelsSettings.model_validate(written), {"OLLAMA_HOST": "10.0.0.5"}))
    assert asked == {"vllm": "http://gpu.lan/v1", "ollama": "http://10.0.0.5:11434/v1"}


BERT = {"name": "all-x:latest", "modified_at": "3", "details": {"family": "bert"}}


@pytest.mark.parametrize(
    ("read", "answer", "ids"),
    [
        (ollama_loaded, {"models": [{"name": "nomic-embed-text"}, {"name": "a"}]}, ["a"]),
        (ollama_pulled, {"models": [{"name": "a", "modified_at": "1"}, BERT, {"name": "b", "modified_at": "2"}]},
         ["b", "a"]),
        (lmstudio_listed, {"data": [{"id": "e", "type": "embeddings", "state": "loaded"}, {"id": "a", "type": "llm"},
                                    {"id": "b", "type": "vlm", "state": "loaded"}]}, ["b", "a"]),
        (listed, {"data": [{"id": "a"}, {"id": "bge-m3"}]}, ["a"]),
        (listed, {"data": [{"id": "a", "status": {"value": "unloaded"}}, {"id": "b", "status": {"value": "loaded"}}]},
         ["b", "a"]),
        (listed, {"data": [{"id": 1}, {"id": ""}, "x", None]}, []),
        (listed, {"data": None}, []),
        (ollama_pulled, ["no", "object"], []),
    ],
)  # fmt: skip
def test_a_model_that_talks_is_taken_the_one_in_use_first(read, answer, ids):
    assert read(answer) == ids
