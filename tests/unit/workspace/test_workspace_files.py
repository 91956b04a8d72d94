"""Reading, writing and editing real files, inside the workspace and never outside it."""

import os
from pathlib import Path

import pytest

from clew.errors import BadInput
from clew.transcript import Media
from clew.workspace import reading, writing
from clew.workspace.place import Workspace
from clew.workspace.settings import FilesSettings

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def room(tmp_path: Path) -> Workspace:
    (tmp_path / "outside.txt").write_text("secret")
    (tmp_path / "room").mkdir()
    return Workspace(tmp_path / "room")


def read(room: Workspace, path: str, offset: int = 1, limit: int | None = None, column: int = 1) -> str:
    return reading.read(room, path, offset, limit, column).text


ESCAPES = ["../outside.txt", "sub/../../outside.txt", "/etc/passwd", "~/x", "link.txt", "dir/outside.txt", "loop"]


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leads_out_of_the_workspace(room: Workspace, path: str) -> None:
    (room.root / "link.txt").symlink_to("../outside.txt")
    (room.root / "dir").symlink_to("..")
    (room.root / "loop").symlink_to("../room/../outside.txt")
    with pytest.raises(BadInput, match="outside the workspace"):
        read(room, path)
    with pytest.raises(BadInput, match="outside the workspace"):
        writing.write(room, path, "x")
    assert (room.root.parent / "outside.txt").read_text() == "secret"


def test_a_link_to_nowhere_outside_makes_no_file_there(room: Workspace) -> None:
    (room.root / "new.txt").symlink_to("../made.txt")
    with pytest.raises(BadInput):
        writing.write(room, "new.txt", "x")
    assert not (room.root.parent / "made.txt").exists()


def test_another_root_is_open_where_it_is_named(room: Workspace) -> None:
    opened = Workspace.of(room.root, FilesSettings(roots=(str(room.root.parent),)))
    assert read(opened, str(room.root.parent / "outside.txt")) == "secret"


def test_a_read_only_workspace_is_read_and_not_written(room: Workspace) -> None:
    (room.root / "a.txt").write_text("old")
    shut = Workspace(room.root, read_only=True)
    assert read(shut, "a.txt") == "old"
    for change in (lambda: writing.write(shut, "a.txt", "x"), lambda: writing.edit(shut, "a.txt", "old", "x", False)):
        with pytest.raises(BadInput, match="read-only; nothing was changed"):
            change()
    assert shut.save_output("x.txt", "y") is None
    assert read(shut, "a.txt") == "old"


def test_lines_are_read_from_anywhere(room: Workspace) -> None:
    (room.root / "数据.txt").write_text("".join(f"第{n}行\n" for n in range(1, 51)))
    shown = reading.read(room, "数据.txt", 10, 2, 1)
    assert (shown.text, shown.lines, shown.more, shown.line) == ("第10行\n第11行\n", 50, True, 10)
    assert not reading.read(room, "数据.txt", 50, 5, 1).more


@pytest.mark.parametrize(("offset", "column", "said"), [(2, 1, "has 1 lines"), (1, 9, "fewer than 9 characters")])
def test_a_place_behind_the_end_is_said_to_be_none(room: Workspace, offset: int, column: int, said: str) -> None:
    (room.root / "a.txt").write_text("short")
    with pytest.raises(BadInput, match=said):
        read(room, "a.txt", offset, None, column)


def test_a_line_of_any_length_can_be_read_to_its_end(room: Workspace) -> None:
    line = "".join(chr(97 + n % 26) for n in range(600_000))
    (room.root / "min.js").write_text(f"{line}\nend")
    found, column = "", 1
    while "\n" not in found:
        found += read(room, "min.js", 1, None, column)
        column = len(found) + 1
    assert found == f"{line}\nend"


def test_a_file_larger_than_the_memory_is_read_in_part(room: Workspace) -> None:
    with (room.root / "big.log").open("wb") as file:
        file.write(b"one line of it\n" * 1_000)
        file.truncate(1 << 36)
    shown = reading.read(room, "big.log", 3, None, 1)
    assert shown.text.startswith("one line of it\none")
    assert (len(shown.text), shown.lines, shown.more) == (reading.HELD, None, True)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(b"a\r\nb\r\n", "a\nb\n", id="CR LF"),
        pytest.param("\ufeffhé".encode("utf-8-sig"), "\ufeffhé", id="UTF-8 with a mark"),
        pytest.param("你好".encode("utf-16"), "你好", id="UTF-16"),
        pytest.param("café".encode("latin-1"), "caf�", id="not UTF-8"),
        pytest.param(b"", "(the file is empty)", id="empty"),
    ],
)
def test_a_text_is_decoded(room: Workspace, data: bytes, said: str) -> None:
    (room.root / "a.txt").write_bytes(data)
    assert read(room, "a.txt") == said


@pytest.mark.parametrize("data", [b"\x7fELF\x01", b"a\0b" * 9, b"%PDF-1.7\n", b"\x1f\x8b\x08"])
def test_other_data_is_refused_with_its_size(room: Workspace, data: bytes) -> None:
    (room.root / "a.bin").write_bytes(data)
    with pytest.raises(BadInput, match=rf"is no text but {len(data)} bytes"):
        read(room, "a.bin")


def test_an_image_is_shown_and_one_too_large_is_not(room: Workspace) -> None:
    (room.root / "a.png").write_bytes(PNG)
    shown = reading.read(room, "a.png", 1, None, 1)
    assert isinstance(shown.blocks[0], Media)
    assert (shown.blocks[0].media_type, shown.blocks[0].name) == ("image/png", "a.png")
    (room.root / "b.png").write_bytes(PNG + b"\0" * reading.LARGEST_IMAGE)
    with pytest.raises(BadInput, match="Make it smaller"):
        read(room, "b.png")


def test_a_folder_is_listed(room: Workspace) -> None:
    (room.root / "b").mkdir()
    (room.root / "a.txt").write_text("123")
    (room.root / "c").symlink_to("a.txt")
    assert read(room, ".") == "a.txt (3 bytes)\nb/\nc -> a.txt"
    assert read(room, "b") == "(the folder is empty)"


def test_a_pipe_is_never_waited_for(room: Workspace) -> None:
    os.mkfifo(room.root / "pipe")
    with pytest.raises(BadInput, match="neither a file nor a folder"):
        read(room, "pipe")


def test_a_missing_file_names_its_neighbours(room: Workspace) -> None:
    (room.root / "settings.py").write_text("")
    with pytest.raises(BadInput, match=r"Did you mean settings\.py\?"):
        read(room, "setings.py")
    with pytest.raises(BadInput, match="no folder nowhere"):
        read(room, "nowhere/a.txt")


def test_a_file_is_written_whole_with_its_folders_and_permissions(room: Workspace) -> None:
    assert writing.write(room, "新/a.sh", "echo 你好\n") == "Created 新/a.sh (12 bytes)."
    (room.root / "新/a.sh").chmod(0o755)
    assert writing.write(room, "新/a.sh", "x\ud800") == "Replaced 新/a.sh (4 bytes)."
    assert (room.root / "新/a.sh").read_text() == "x�"
    assert (room.root / "新/a.sh").stat().st_mode & 0o777 == 0o755
    assert os.listdir(room.root / "新") == ["a.sh"]


def test_writing_through_a_link_inside_keeps_the_link(room: Workspace) -> None:
    (room.root / "a.txt").write_text("old")
    (room.root / "b.txt").symlink_to("a.txt")
    writing.write(room, "b.txt", "new")
    assert ((room.root / "b.txt").is_symlink(), (room.root / "a.txt").read_text()) == (True, "new")


def test_an_edit_says_where(room: Workspace) -> None:
    (room.root / "a.py").write_text("one\ntwo\nthree\n")
    assert writing.edit(room, "a.py", "two", "2", False) == "Changed a.py: 1 place, the first in line 2."
    assert (room.root / "a.py").read_text() == "one\n2\nthree\n"


REFUSED = [
    pytest.param("x", "y", "2 times (lines 1, 2)", id="twice"),
    pytest.param("def  run(self)", "y", "with other blanks", id="other blanks"),
    pytest.param("def rum(self):", "y", "nearest line is 3: def run(self): pass", id="a slip"),
    pytest.param("zzzzzz", "y", "is not in a.py; nothing was changed.", id="nothing like it"),
    pytest.param("", "y", "`old` is empty", id="empty"),
    pytest.param("pass", "pass", "are the same", id="no change"),
]


@pytest.mark.parametrize(("old", "new", "said"), REFUSED)
def test_an_edit_that_is_not_clear_changes_nothing(room: Workspace, old: str, new: str, said: str) -> None:
    (room.root / "a.py").write_text("x = 1\nx = 2\n    def run(self): pass\n")
    before = (room.root / "a.py").read_bytes()
    with pytest.raises(BadInput) as caught:
        writing.edit(room, "a.py", old, new, False)
    assert said in str(caught.value)
    assert (room.root / "a.py").read_bytes() == before


def test_an_edit_keeps_the_file_s_line_ends(room: Workspace) -> None:
    (room.root / "a.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    writing.edit(room, "a.txt", "a\nb\n", "x\ny\n", False)
    assert (room.root / "a.txt").read_bytes() == b"x\r\ny\r\nc\r\n"


def test_every_place_is_changed_when_all_are_meant(room: Workspace) -> None:
    (room.root / "a.txt").write_text("aa aa")
    assert "2 places" in writing.edit(room, "a.txt", "aa", "b", True)
    assert (room.root / "a.txt").read_text() == "b b"


def test_a_file_that_is_not_utf8_is_not_damaged_by_an_edit(room: Workspace) -> None:
    (room.root / "a.txt").write_bytes(b"caf\xe9 x")
    with pytest.raises(BadInput, match="not UTF-8"):
        writing.edit(room, "a.txt", "x", "y", False)
    assert (room.root / "a.txt").read_bytes() == b"caf\xe9 x"
