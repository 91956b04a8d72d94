"""The map of a window as people see it: in a terminal with and without colour, as SVG and as PNG."""

import json
import struct
import xml.etree.ElementTree as ET
import zlib
from io import StringIO
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from clew.cli.commands import app
from clew.models.port import Tool
from clew.prompt.assemble import Changing, Standing, assemble
from clew.prompt.files import WorkspaceFile
from clew.prompt.report import Report, report
from clew.prompt.skills import Skill
from clew.prompt.treemap import GROUPS
from clew.render import listing, palette
from clew.render.letters import BASE, HEIGHT, WIDTH, glyph
from clew.render.png import Picture
from clew.render.text import columns
from clew.render.treemap import Map
from clew.render.treemap_png import png
from clew.render.treemap_svg import svg
from clew.tokens.usage import Size
from clew.transcript import Call, assistant, result, user, view
from tests.unit.making import entries, sizes

NASTY = '笔记 <b> & "q" \x1b[31m.md'
CALL = Call("c1", "read", {"path": "a.py"})
MADE = entries(user("look at a.py"), assistant("I look.", CALL), result(CALL, "line of code()\n" * 900))
STANDING = Standing(
    instructions="Answer in German. " * 20,
    tools=("read", "exec"),
    skills=tuple(Skill(f"skill-{number}", "does things " * number, "s/SKILL.md") for number in range(12)),
    files=(WorkspaceFile("AGENTS.md", "rule\n" * 6_000), WorkspaceFile(NASTY, "n" * 3_000)),
)
TOOLS = tuple(Tool(name, f"{name} it " * 60, {"type": "object", "properties": {"a": {}}}) for name in ("read", "exec"))
FULL = report(
    view(MADE), sizes(MADE), window=32_768, source="catalog", prompt=assemble(STANDING, Changing()), tools=TOOLS
)
EMPTY = Report(Size(None, "unknown"), 0, (), (), 0)


def printed(thing, width=100, **more):
    console = Console(**{"width": width, "record": True, "file": StringIO(), "color_system": None, **more})
    for one in thing if isinstance(thing, list) else [thing]:
        console.print(one)
    return console


@pytest.mark.parametrize("colour", [None, "truecolor", "standard"])
@pytest.mark.parametrize("width", [20, 60, 100, 300])
def test_the_map_fits_the_terminal_and_names_the_groups(width, colour):
    lines = printed(Map(FULL), width, color_system=colour).export_text().splitlines()
    assert max(map(columns, lines)) <= width
    shown = "\n".join(lines)
    assert all(group in shown for group in GROUPS) or width < 36


def test_without_colour_pieces_have_lines_and_the_number_of_their_group():
    shown = printed(Map(FULL), 60).export_text()
    assert "┌1 tool results" in shown
    assert "2 workspace files" in shown


def test_with_colour_there_are_no_lines_and_every_group_has_its_colour():
    console = printed(Map(FULL), 100, color_system="truecolor", force_terminal=True)
    styled = console.export_text(styles=True)
    assert "┌" not in styled
    for colour in palette.COLOURS.values():
        assert f"48;2;{';'.join(map(str, colour))}m" in styled


def test_no_escape_of_a_files_name_reaches_the_terminal():
    assert "\x1b" not in printed(Map(FULL), 200).export_text()


def test_an_empty_session_says_so():
    assert "nothing to draw" in printed(Map(EMPTY)).export_text()


@pytest.mark.parametrize("shown", [FULL, EMPTY], ids=["full", "empty"])
def test_svg_is_well_formed_self_contained_and_escaped(shown):
    text = svg(shown, NASTY).decode()
    root = ET.fromstring(text)
    assert root.get("aria-label") == '笔记 <b> & "q" [31m.md'
    assert not any(word in text for word in ("<script", "href", "url(", "@import", "<b>"))
    assert "prefers-color-scheme:dark" in text


def test_every_piece_of_the_svg_tells_its_name_and_size():
    titles = [one.text for one in ET.fromstring(svg(FULL).decode()).iter("{http://www.w3.org/2000/svg}title")]
    assert "AGENTS.md: 20,034 characters" in titles


def pixels(data: bytes) -> tuple[int, int, list[bytes]]:
    """The size and the rows of a PNG, read by the format's rules: signature, chunks with their sums, filtered rows."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + length
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 3, 0, 0, 0]
    raw, colours = zlib.decompress(chunks[b"IDAT"]), chunks[b"PLTE"]
    rows = [raw[y * (width + 1) + 1 : (y + 1) * (width + 1)] for y in range(height)]
    return width, height, [b"".join(colours[3 * one : 3 * one + 3] for one in row) for row in rows]


@pytest.mark.parametrize("shown", [FULL, EMPTY], ids=["full", "empty"])
def test_png_is_a_picture_of_its_size(shown):
    width, height, rows = pixels(png(shown, NASTY))
    assert (width, height) == (1280, 860)
    assert {len(row) for row in rows} == {3 * 1280}


def test_the_areas_of_the_png_are_as_the_characters():
    _, _, rows = pixels(png(FULL))
    whole = b"".join(rows)
    points = [whole[at : at + 3] for at in range(0, len(whole), 3)]
    shares = {}
    for group in ("conversation", "workspace files"):
        shades = {bytes(palette.shade(group, place)) for place in range(palette.SHADES)}
        shares[group] = sum(point in shades for point in points)
    sums = {"conversation": 13_500, "workspace files": 23_300}
    assert shares["conversation"] / shares["workspace files"] == pytest.approx(
        sums["conversation"] / sums["workspace files"], rel=0.08
    )


def test_every_letter_is_drawn_in_its_box_and_no_two_are_alike():
    letters = [glyph(chr(code)) for code in range(0x20, 0x7F)]
    assert all(len(rows) == HEIGHT and {len(row) for row in rows} == {WIDTH} for rows in letters)
    assert all(one != other for one, other in pairwise(sorted(letters)))
    assert all("#" not in "".join(glyph(char)[BASE:]) for char in "ABCXYZ0123456789abcdefhiklmn")


@settings(max_examples=50)
@given(st.integers(-9, 40), st.integers(-9, 40), st.integers(-9, 40), st.integers(-9, 40))
def test_what_is_drawn_outside_a_picture_is_left_out(left, top, right, bottom):
    picture = Picture(20, 10, (0, 0, 0))
    picture.fill(left, top, right, bottom, (1, 2, 3))
    picture.write("Ay", left, top, (3, 2, 1))
    _, _, rows = pixels(picture.data())
    assert {len(row) for row in rows} == {60}


def test_the_list_shows_the_two_sides_of_the_boundary_and_what_was_cut():
    shown = printed(list(listing.context(FULL)), 100).export_text()
    assert "AGENTS.md: cut to the limit of one file (20,000 of 29,999 characters shown)" in shown
    assert "system prompt, stable" in shown
    assert f"{FULL.fixed_tokens:,} in every request, {FULL.history_tokens:,} of conversation" in shown


def test_the_detail_names_every_piece():
    shown = printed(list(listing.context(FULL, detail=True)), 120).export_text()
    names = [*(skill.name for skill in STANDING.skills), "read", "exec", "instructions", "AGENTS.md", "24,576"]
    assert [name for name in names if name not in shown] == []


@pytest.fixture
def store(tmp_path):
    """A store with one session, `chat`."""
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi " * 500}]))
    place = ["--store", str(tmp_path / "s.sqlite")]
    assert CliRunner().invoke(app, ["import", str(chat), "--as", "chat", *place]).exit_code == 0
    return place


def test_the_command_draws_the_map_and_writes_both_pictures(store, tmp_path):
    files = tmp_path / "map.svg", tmp_path / "map.png"
    asked = ["context", "chat", "map", "--svg", str(files[0]), "--png", str(files[1]), *store]
    outcome = CliRunner().invoke(app, asked)
    assert outcome.exit_code == 0, outcome.output
    assert "1 assistant words" in outcome.stdout
    assert ET.fromstring(files[0].read_text("utf-8")).get("aria-label") == "chat"
    assert pixels(files[1].read_bytes())[:2] == (1280, 860)


def test_no_picture_is_written_over_a_file(store, tmp_path):
    kept = tmp_path / "kept.png"
    kept.write_text("mine")
    outcome = CliRunner().invoke(app, ["context", "chat", "map", "--png", str(kept), *store])
    assert outcome.exit_code != 0
    assert kept.read_text() == "mine"


def test_a_picture_that_cannot_be_written_is_said_in_one_line(store, tmp_path):
    place = tmp_path / "nowhere" / "map.png"
    outcome = CliRunner().invoke(app, ["context", "chat", "map", "--png", str(place), *store])
    assert outcome.exit_code == 2
    assert "could not be written (No such file or directory)" in outcome.output


@pytest.mark.parametrize("asked", [["list", "--svg", "x.svg"], ["drawing"]])
def test_a_picture_of_a_list_and_an_unknown_view_are_refused(store, asked):
    assert CliRunner().invoke(app, ["context", "chat", *asked, *store]).exit_code == 2
