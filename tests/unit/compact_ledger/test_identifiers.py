"""Identifiers: found whole, in any script, and only where they stand."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compact.identifiers import READ, find, kind, missing, occurs, strings, strong
from clew.transcript import Call, Shell, assistant


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("链接https://例子.com/路径。", ["https://例子.com/路径"], id="no full stop in a URL"),
        pytest.param("(see https://a.com/x?y=1&z=2).", ["https://a.com/x?y=1&z=2"], id="nor a bracket"),
        pytest.param("请看订单order_987654谢谢", ["order_987654"], id="an id between Chinese characters"),
        pytest.param("“src/例え/x.ts”", ["src/例え/x.ts"], id="a path with a Japanese segment"),
        pytest.param("打开src/app/main.ts文件", ["src/app/main.ts"], id="a relative path before Chinese"),
        pytest.param("main.go:12:5: undefined", ["main.go"], id="a line number is not part of a name"),
        pytest.param("--out=build/x.js", ["--out", "build/x.js"], id="a flag and its value"),
        pytest.param(r"got \nsrc/a_b.py", ["src/a_b.py"], id="an escaped line break is no letter"),
        pytest.param(r"at C:\Users\me\x.txt", [r"C:\Users\me\x.txt"], id="a Windows path"),
        pytest.param("git@github.com:own/repo.git", ["git@github.com:own/repo.git"], id="a repository by ssh"),
        pytest.param("打开数据/报表_6.csv文件", ["数据/报表_6.csv"], id="a Chinese file name"),
        pytest.param("\x1b[32mutils.py\x1b[0m [1;31mfoo_bar[0m", ["utils.py", "foo_bar"], id="colours are no letters"),
        pytest.param("it ends here.Let us see thought.We go", [], id="a full stop without its blank joins no name"),
        pytest.param("state.FilesTouched os.Stderr", ["state.FilesTouched", "os.Stderr"], id="a package's name is one"),
        pytest.param("sed 's/main-new/main/g' src/cli.ts", ["src/cli.ts"], id="a substitution is no path"),
        pytest.param("```perl#!/usr/bin/perlprint", ["/usr/bin/perl"], id="an interpreter with its line break lost"),
        pytest.param("use --generate/--force", ["--generate", "--force"], id="flags with a slash between them"),
        pytest.param("2.1 of 0.123456, on 2026-09-06, e.g. UTF-8", [], id="numbers, dates and abbreviations are none"),
        pytest.param("Just plain words, nothing else.", [], id="words are none"),
    ],
)  # fmt: skip
def test_found(text, names):
    assert find(text) == names


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("550e8400-e29b-41d4-a716-446655440000", "uuid"), ("INC0012345", "id"), ("toolu_01FgJ46jquuukk6", "id"),
        ("abc1234", "hash"), ("db.internal", "host"), ("localhost:8080", "host"), ("db.internal:5432", "host"),
        ("10.0.0.1:80", "ip"), ("192.168.1.1", "ip"), ("./x", "path"), ("~/x", "path"), ("src/app/main.ts", "path"),
        ("JIRA-1234", "ticket"), ("#129423", "ticket"), ("own/repo#12", "ticket"), ("v2.1", "version"),
        ("1.10.3", "version"), ("--dry-run", "flag"), ("a@b.com", "email"), ("README.md", "file"),
        ("forms.pl", "file"),
    ],
)  # fmt: skip
def test_kinds_the_audit_insists_on(name, what):
    assert find(f"x {name} y") == [name]
    assert (kind(name), strong(name)) == (what, True)


@pytest.mark.parametrize("name", ["snake_case", "CamelCase", "camelCase", "os.path.join", "FOO_BAR", "std::vec::Vec"])
def test_names_in_code_are_found_and_not_insisted_on(name):
    assert find(f"the `{name}` is") == [name]
    assert not strong(name)


@pytest.mark.parametrize(
    ("name", "text", "there"),
    [
        ("123456", "99123456789", False), ("123456", "订单123456。", True), ("ABC1234", "commit abc1234", True),
        ("1.10", "1.10.3", False), ("10.3.0", "1.10.3.0", False), ("x.py", "x.py.bak", False),
        ("run", "--dry-run", False),
        ("app/x.py", "/srv/app/x.py", True), ("/srv/app/x.py", "below /srv: app/x.py", True),
        ("/srv/app/x.py", "below /opt: app/x.py", False), ("FilesTouched", "state.FilesTouched.Len()", True),
        ("src/a.py", "src/A.py", False), ("order_9", "order_98", False), ("db:5432", "(db:5432)", True),
    ],
)  # fmt: skip
def test_occurs_whole_or_not_at_all(name, text, there):
    assert occurs(name, text) is there
    assert (missing([name], text) == []) is there


def test_arguments_are_read_at_any_depth_and_reasoning_is_not():
    call = Call("c", "edit", {"file_path": "/a/b.py", "edits": [{"new": "call do_it(7654321)"}]})
    assert find("\n".join(strings(assistant("see JIRA-12", call)))) == ["JIRA-12", "/a/b.py", "do_it", "7654321"]
    assert find("\n".join(strings(Shell("rm x_y.txt", "gone", 0)))) == ["x_y.txt"]


@settings(max_examples=60)
@given(st.text(alphabet="ab1_-./:@#A=~\\ 例。", max_size=80))
def test_what_is_found_occurs_where_it_was_found(text):
    assert missing(find(text), text) == []


def test_of_a_huge_text_both_ends_are_read():
    names = find("first_one\n" + "middle_99\n" * 200_000 + "last_one")
    assert (names[0], names[-1]) == ("first_one", "last_one")
    assert find("x\n" * READ + "in_the_middle\n" + "x\n" * READ) == []


@pytest.mark.parametrize(
    "piece", ["a", "a/", "1:", "a-b_", "A1", "a.", "/例", "例_", "例", "a@b.", "x://", "[1;", "\x1b[1"]
)
def test_reading_is_linear(piece):
    start = time.perf_counter()
    find(piece * 100_000)
    assert time.perf_counter() - start < 2
