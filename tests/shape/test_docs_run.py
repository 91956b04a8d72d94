"""What the docs show runs: shell and Python of the pages in order, each page in a fresh folder with a store of its own.

The output of a command is compared with what the page shows. There `…` stands for anything (alone on a line: for any
lines), blanks and numbers may differ, and an id that is shown stands for the one that was printed, also in commands.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from clew.compact.audit import CHECKS
from clew.config.load import check, not_yet, parse
from clew.demo import session_path
from tests.shape.source_tree import ROOT

PAGES = [ROOT / "docs/tutorial.md", *sorted((ROOT / "docs/how-to").glob("*.md")), ROOT / "README.md"]
EXAMPLE = ROOT / "examples/provider"

_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+?) -->\n+)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_FILE = re.compile(r"# (\w+\.py)\n")
_TOKENS = re.compile(r"\b01[0-9a-z]{18}\b|\d[\d,.]*[kM]?|…|\s+|[^\s\d…]+")


class Block(NamedTuple):
    """A fenced block of a page."""

    place: str
    """Page and line, for whoever has to mend it."""
    kind: str
    text: str
    why: str | None
    """Why it is not run."""


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("kind")) + 1
        yield Block(f"{page.relative_to(ROOT)}:{line}", found["kind"], found["text"], found["why"])


RUN = {"console", "python"}
ALL = [block for page in PAGES for block in blocks(page)]
NOT_RUN = [pytest.param(one, id=f"{one.place} {one.why}") for one in ALL if one.why]


class Folder:
    """Where a page is tried: a folder, a store, and the ids that were printed so far."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.ids: dict[str, str] = {}
        bin = str(Path(sys.executable).parent)
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        self.env = {
            **kept, "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}", "HOME": str(place), "COLUMNS": "110",
            "CLEW_HOME": str(place / "home"), "PYTHONUTF8": "1",
        }  # fmt: skip
        (place / "session.jsonl.gz").write_bytes(session_path().read_bytes())

    def run(self, block: Block) -> None:
        if block.kind == "console":
            self.console(block)
        elif named := _FILE.match(block.text):
            (self.place / named[1]).write_text(block.text, encoding="utf-8")
        else:
            self.spawn([sys.executable, "-W", "error", "-c", block.text], block.place)

    def console(self, block: Block) -> None:
        for shown in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, output = shown.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = f"{command[:-1]}{more}"
            for one, real in self.ids.items():
                command = command.replace(one, real)
            printed = self.spawn(["bash", "-euo", "pipefail", "-c", command], f"{block.place}: $ {command}")
            if output.strip():
                self.compare(output, printed, f"{block.place}: $ {command}")

    def spawn(self, command: list[str], where: str) -> str:
        done = subprocess.run(
            command, cwd=self.place, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{where}\nexit {done.returncode}\n{done.stdout}"
        return done.stdout

    def compare(self, shown: str, printed: str, where: str) -> None:
        names: dict[str, str] = {}
        lines = [line.rstrip() for line in shown.strip("\n").split("\n")]
        pattern = "".join(r"(?:.*\n)*?" if line == "…" else f"{self.pattern(line, names)}\n" for line in lines)
        found = re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").split("\n")))
        assert found, f"{where}\nthe page shows\n{shown}\nand it printed\n{printed}"
        self.ids |= {one: found[name] for one, name in names.items()}

    def pattern(self, line: str, names: dict[str, str]) -> str:
        return "".join(self.piece(token, names) for token in _TOKENS.findall(line))

    def piece(self, token: str, names: dict[str, str]) -> str:
        if len(token) == 20 and token.startswith("01"):
            if token in self.ids:
                return re.escape(self.ids[token])
            if token in names:
                return f"(?P={names[token]})"
            names[token] = f"id{len(names)}"
            return f"(?P<{names[token]}>01[0-9a-z]{{18}})"
        if token[0].isdigit():
            return r"\d[\d,.]*[kM]?"
        return ".*" if token == "…" else r"[ \t]+" if token.isspace() else re.escape(token)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_runs(page: Path, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    wanted = [one for one in blocks(page) if one.kind in RUN and not one.why]
    for block in wanted:
        folder.run(block)
    assert wanted


@pytest.mark.parametrize("block", NOT_RUN)
def test_a_block_that_is_not_run_says_why(block: Block) -> None:
    assert block.why is not None
    pytest.skip(f"{block.place} is not run: {block.why}")


@pytest.mark.parametrize("block", [pytest.param(one, id=one.place) for one in ALL if one.kind == "json5"])
def test_settings_that_are_shown_hold_and_are_used(block: Block) -> None:
    assert check(block.text) == []
    assert not_yet(parse(block.text)) == ()


def test_every_finding_is_explained_and_no_other() -> None:
    table = (ROOT / "docs/how-to/audit.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [row.code for row in CHECKS]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs/architecture.md"], ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def by_hand(place: Path) -> None:
    """The example as an installer would lay it out, from what its pyproject says."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [module] = EXAMPLE.glob("*.py")
    (place / module.name).write_bytes(module.read_bytes())
    facts = place / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    ]
    (facts / "entry_points.txt").write_text("\n".join(lines))


def by_pip(place: Path) -> None:
    """The example as pip installs it, without any index."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the example, is not in this environment: pip install hatchling")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(place), str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("install", [by_hand, by_pip])
def test_the_example_of_a_provider_writes_briefs_once_it_is_installed(install, tmp_path: Path) -> None:
    place, folder = tmp_path / "site", Folder(tmp_path)
    place.mkdir()
    install(place)
    folder.env["PYTHONPATH"] = str(place)
    folder.spawn(["clew", "config", "set", "agents.defaults.compaction.provider", "quotes"], "config set")
    printed = folder.spawn(["clew", "compact", "session.jsonl.gz", "--window", "200000"], "compact")
    assert re.search(r"the brief\s+passed\s.*; by provider", printed, re.DOTALL), printed
