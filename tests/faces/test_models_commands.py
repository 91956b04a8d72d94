"""`clew models` as a user meets it: the list, bringing weights here, and what is said where they are not."""

import json

import pytest
import typer
from typer.testing import CliRunner

from clew.cli import models_commands
from clew.cli.group import Commands
from clew.models.weights import KNOWN

SMALL = KNOWN[-1]
MINE = ["my-model", "--sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"]

root = typer.Typer(cls=Commands)
root.add_typer(models_commands.app, name="models")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLEW_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "home").mkdir()
    # Nothing but what these tests serve themselves is asked.
    (tmp_path / "home" / "clew.json5").write_text('{models: {mode: "replace"}}')
    (tmp_path / "hello.gguf").write_bytes(b"hello")
    return tmp_path


def run(*words, code=0):
    done = CliRunner().invoke(root, ["models", *map(str, words)])
    assert done.exit_code == code, done.output + repr(done.exception)
    return done.output


def test_the_list_names_what_there_is_and_says_how_to_have_one():
    said = run("list")
    assert all(f"local/{one.name}" in said for one in KNOWN)
    assert "clew models pull" in said


def test_weights_come_from_a_file_once(home):
    said = run("pull", *MINE, "--from", home / "hello.gguf")
    assert "local/my-model: 0 MB, SHA-256 right" in said
    assert (home / "home/models/my-model.gguf").read_bytes() == b"hello"
    assert "was here already" in run("pull", *MINE, "--from", home / "hello.gguf")
    assert "local/my-model" in run("list")


def test_scripts_get_json(home):
    done = json.loads(run("pull", *MINE, "--from", home / "hello.gguf", "--json"))
    assert (done["ok"], done["size"], done["again"]) == (True, 5, False)
    listed = json.loads(run("list", "--json"))
    assert [one["name"] for one in listed["here"]] == ["my-model"]
    assert [one["name"] for one in listed["known"]] == [one.name for one in KNOWN]


def test_weights_that_are_here_would_be_taken(home):
    (home / "home/models").mkdir()
    with (home / "home/models" / SMALL.file).open("wb") as file:
        file.truncate(SMALL.size)
    pytest.importorskip("xllamacpp", reason="no local model runtime: pip install 'clew[local]'")
    assert "Taken: local/smollm2-135m (served by Clew itself, on the CPU, window 8,192)" in run("list")


def test_a_file_that_is_something_else_is_told_and_not_kept(home):
    (home / "hello.gguf").write_bytes(b"HELLO")
    assert "its SHA-256 is" in run("pull", *MINE, "--from", home / "hello.gguf", code=2)
    assert "instead of 98,362,432" in run("pull", SMALL.name, "--from", home / "hello.gguf", code=2)
    assert not (home / "home/models/my-model.gguf").exists()


def test_weights_nobody_knows_need_a_hash_and_a_place():
    assert "There are no weights called 'other'" in run("pull", "other", code=2)
    assert "Say it with --from" in run("pull", *MINE, code=2)


def test_what_is_not_here_cannot_be_served():
    assert "clew models pull smollm2-135m" in run("serve", "smollm2-135m", code=2)
