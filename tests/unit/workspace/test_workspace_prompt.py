"""What a workspace gives a prompt: its files, its skills; and the notes a session leaves there."""

import os
import threading
from pathlib import Path

import pytest

from clew.workspace.notes import Noted, NotNoted, append_note
from clew.workspace.place import Workspace
from clew.workspace.prompt_files import LARGEST, PromptFile, prompt_files, skills


def test_the_files_there_are_come_in_the_order_of_their_budget(tmp_path: Path) -> None:
    for name in ("MEMORY.md", "AGENTS.md", "README.md", "USER.md"):
        (tmp_path / name).write_text(f"# {name}\n你好")
    found = prompt_files(Workspace(tmp_path))
    assert [file.name for file in found] == ["AGENTS.md", "USER.md", "MEMORY.md"]
    assert found[0] == PromptFile("AGENTS.md", "# AGENTS.md\n你好", None)


def test_a_file_that_leads_out_is_not_read_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    (tmp_path / "room").mkdir()
    (tmp_path / "room/AGENTS.md").symlink_to("../key")
    (tmp_path / "room/SOUL.md").mkdir()
    first, second = prompt_files(Workspace(tmp_path / "room"))
    assert (first.text, second) == (None, PromptFile("SOUL.md", None, "it is no file"))
    assert "outside the workspace" in (first.error or "")


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"a" * (LARGEST + 5))
    (only,) = prompt_files(Workspace(tmp_path))
    assert len(only.text or "") == LARGEST
    assert only.error == "only its first 2,097,152 bytes were read"


def test_skills_are_found_by_name(tmp_path: Path) -> None:
    for name in ("b", "a", "部署"):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\n---\n")
    (tmp_path / "skills/empty").mkdir()
    assert [file.name for file in skills(Workspace(tmp_path))] == [
        "skills/a/SKILL.md", "skills/b/SKILL.md", "skills/部署/SKILL.md"
    ]  # fmt: skip
    assert skills(Workspace(tmp_path / "skills/a")) == ()


def test_notes_are_added_and_never_overwritten(tmp_path: Path) -> None:
    room = Workspace(tmp_path)
    assert append_note(room, "2026-03-01", "first") == Noted("memory/2026-03-01.md", 6)
    (tmp_path / "memory/2026-03-01.md").write_text("by hand, no line end")
    append_note(room, "2026-03-01", "\n第二 \ud800\n")
    assert (tmp_path / "memory/2026-03-01.md").read_text() == "by hand, no line end\n第二 �\n"


def test_notes_of_several_writers_stay_whole(tmp_path: Path) -> None:
    room = Workspace(tmp_path)
    notes = [f"{n} " + "x" * 5_000 for n in range(40)]
    writers = [threading.Thread(target=append_note, args=(room, "2026-03-01", note)) for note in notes]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted((tmp_path / "memory/2026-03-01.md").read_text().splitlines()) == sorted(notes)


@pytest.mark.parametrize(
    ("room", "day", "text", "reason"),
    [
        pytest.param({"read_only": True}, "2026-03-01", "x", "read-only", id="read-only"),
        pytest.param({}, "../x", "x", "is no day", id="a path for a day"),
        pytest.param({}, "2026-03-01", " \n", "nothing to note", id="nothing"),
    ],
)  # fmt: skip
def test_a_note_that_cannot_be_written_is_a_value(
    tmp_path: Path, room: dict[str, bool], day: str, text: str, reason: str
) -> None:
    outcome = append_note(Workspace(tmp_path, **room), day, text)
    assert isinstance(outcome, NotNoted)
    assert reason in outcome.reason
    assert os.listdir(tmp_path) == []


def test_a_folder_of_notes_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room/memory").symlink_to("..")
    assert isinstance(append_note(Workspace(tmp_path / "room"), "2026-03-01", "x"), NotNoted)
    assert os.listdir(tmp_path) == ["room"]


def test_a_file_in_the_folder_s_place_is_a_value_too(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("")
    outcome = append_note(Workspace(tmp_path), "2026-03-01", "x")
    assert isinstance(outcome, NotNoted)
    assert "cannot be written" in outcome.reason
