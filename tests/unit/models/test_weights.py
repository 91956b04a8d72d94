"""Which weights are known by name, and which of them are in a folder."""

import pytest

from clew.errors import BadInput, UnknownEntry
from clew.models.weights import DEFAULT, KNOWN, Stored, find, known, stored

OTHER = "ab" * 32


@pytest.mark.parametrize("one", KNOWN, ids=lambda one: one.name)
def test_all_that_is_needed_is_known_of_each(one):
    assert known(one.name.upper()) is one
    assert (len(one.sha256), one.path.endswith(f"/{one.file}")) == (64, True)
    assert "Apache License 2.0" in one.notice
    assert min(one.size, one.trained) > 0


def test_no_two_are_the_same():
    assert len({one.name for one in KNOWN}) == len({one.file for one in KNOWN}) == len({one.sha256 for one in KNOWN})
    assert known(DEFAULT) is KNOWN[0]


def test_a_mirror_has_the_same_paths():
    assert KNOWN[0].url("http://mirror.example/") == f"http://mirror.example/{KNOWN[0].path}"


def test_weights_that_are_not_in_the_table_are_known_by_their_hash():
    one = known("my-model", OTHER.upper())
    assert (one.file, one.sha256, one.size, one.url("http://x")) == ("my-model.gguf", OTHER, None, None)


@pytest.mark.parametrize(("name", "sha256", "error"), [
    pytest.param("my-model", None, UnknownEntry, id="no hash"),
    pytest.param("../my-model", OTHER, UnknownEntry, id="no name"),
    pytest.param("my-model", "abc", BadInput, id="no such hash"),
    pytest.param(DEFAULT, OTHER, BadInput, id="another hash under a known name"),
])  # fmt: skip
def test_what_cannot_be_checked_is_refused(name, sha256, error):
    with pytest.raises(error, match="othing was changed"):
        known(name, sha256)


def sparse(folder, name, size):
    with (folder / name).open("wb") as file:
        file.truncate(size)


def test_the_weights_in_a_folder_are_those_of_the_right_size_the_best_first(tmp_path):
    best, middle, small = KNOWN
    sparse(tmp_path, small.file, small.size)
    sparse(tmp_path, best.file, best.size)
    sparse(tmp_path, middle.file, middle.size - 1)
    sparse(tmp_path, "mine.gguf", 5)
    sparse(tmp_path, f"{middle.file}.part", 5)
    assert [one.name for one in stored(tmp_path)] == [best.name, small.name, "mine"]
    assert find(tmp_path, "MINE") == Stored("mine", tmp_path / "mine.gguf", 5)
    assert find(tmp_path, middle.name) is None


def test_a_folder_that_is_not_there_holds_none(tmp_path):
    assert stored(tmp_path / "models") == ()
