"""What runs without asking, and what a command is not told of the environment."""

import pytest

from clew.workspace.permission import allowed, command_gate, environment, name_gate


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("git status", "git status"),
        (" git status ", "git status"),
        ("ls -la src", "ls *"),
        ("make test | tail -5", "make test | tail *"),
        ("cat 文件.txt", "cat *.txt"),
        ("ls a", "ls ?"),
    ],
)
def test_a_pattern_matches_the_whole_command(command: str, pattern: str) -> None:
    assert allowed(command, [pattern])


JOINED = [
    "ls; rm -rf x", "ls && rm x", "ls || rm x", "ls | sh", "ls > x", "ls < x", "ls $(rm x)", "ls `rm x`", "ls $HOME",
    "ls &", "ls\nrm x", "ls\rrm x", "ls {a,b}", "ls (x)", "ls \\\n rm", "ls '; rm x'",
]  # fmt: skip


@pytest.mark.parametrize("command", JOINED)
def test_a_star_never_stands_for_a_sign_of_the_shell(command: str) -> None:
    assert not allowed(command, ["ls *", "ls*", "*", "ls ?????????"])


@pytest.mark.parametrize("command", ["git status -s", "xgit status", "git  status", "GIT STATUS", ""])
def test_what_only_resembles_a_pattern_is_asked_for(command: str) -> None:
    assert not allowed(command, ["git status"])


def test_the_signs_of_regular_expressions_mean_themselves() -> None:
    assert allowed("echo a.b[1]+", ["echo a.b[1]+"])
    assert not allowed("echo aXb1", ["echo a.b[1]"])


def test_the_setting_says_who_is_asked() -> None:
    assert command_gate("never", ()) is None
    always, sometimes = command_gate("always", ("ls *",)), command_gate("unless-allowed", ("ls *",))
    assert always is not None
    assert sometimes is not None
    assert always({"command": "ls x"}) == "every command is asked for"
    assert sometimes({"command": "ls x"}) is None
    assert "tools.exec.allow" in (sometimes({"command": "rm x"}) or "")


def test_a_server_s_tool_is_asked_for_unless_it_is_listed() -> None:
    assert name_gate("unless-allowed", "search_web", ["search*"], "mcp.servers.a.allow") is None
    gate = name_gate("unless-allowed", "delete", ["search*"], "mcp.servers.a.allow")
    assert gate is not None
    assert gate({}) == "`mcp.servers.a.allow` does not list it"


SECRETS = {
    "OPENAI_API_KEY": "x", "GITHUB_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "MYSQL_PWD": "x", "PGPASSWORD": "x",
    "npm_config__auth": "x", "APIKEY": "x", "DATABASE_URL": "postgres://me:hunter2@db/x", "SENTRY_DSN": "x",
    "GOOGLE_APPLICATION_CREDENTIALS": "x", "authToken": "x",
}  # fmt: skip
PLAIN = {
    "PATH": "/bin", "HOME": "/h", "PWD": "/w", "LANG": "zh_CN.UTF-8", "SSH_AUTH_SOCK": "/s", "KEYBOARD": "us",
    "TOKENIZERS_PARALLELISM": "false", "PIP_INDEX_URL": "https://example.org/simple", "MONKEYS": "3",
}  # fmt: skip


def test_a_command_is_given_no_secret() -> None:
    assert environment({**SECRETS, **PLAIN}) == PLAIN


def test_a_variable_is_passed_on_where_it_is_named() -> None:
    passed = environment(SECRETS, ["GITHUB_TOKEN", "AWS_*"])
    assert sorted(passed) == ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"]
