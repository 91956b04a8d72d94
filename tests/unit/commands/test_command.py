"""A line as a command: what is one, what is text, what it was meant to be."""

import pytest

from clew.commands.command import COMMANDS, COMPACT, Command, Unknown, completions, parse, text_of


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/status", Command("status")),
        ("  /STATUS  ", Command("status")),
        ("/compact", Command("compact")),
        ("/compact the retry policy", Command("compact", "the retry policy")),
        ("/compact: the retry policy", Command("compact", "the retry policy")),
        ("/compact:the retry", Command("compact", "the retry")),
        ("/new openai/gpt-5 hello there", Command("new", "openai/gpt-5 hello there")),
        ("/reset line one\nline two", Command("reset", "line one\nline two")),
    ],
)
def test_a_command_is_read_with_what_it_is_given(line, command):
    assert parse(line) == command


@pytest.mark.parametrize("line", ["hello", "/etc/hosts is full", "//status", "a /status", "/", "/ status", "", "/2"])
def test_anything_else_is_text(line):
    assert parse(line) is None


def test_two_slashes_send_one():
    assert (text_of("//status"), text_of("/etc/hosts"), text_of("hi")) == ("/status", "/etc/hosts", "hi")


@pytest.mark.parametrize(
    ("line", "nearest"),
    [
        ("/stat", "status"),
        ("/contxt map", "context"),
        ("/compct", "compact"),
        ("/xyzzy", None),
        ("/compactfoo", "compact"),
    ],
)
def test_a_command_that_is_none_names_the_nearest(line, nearest):
    found = parse(line)
    assert isinstance(found, Unknown)
    assert found.nearest == nearest


@pytest.mark.parametrize(
    ("text", "refused"),
    [("/compact", True), ("/Compact x", True), ("/compact: x", True), ("/compactfoo", False), ("say /compact", False)],
)
def test_what_an_agent_command_refuses(text, refused):
    assert bool(COMPACT.match(text)) is refused


def test_completions_are_commands_then_their_words():
    assert completions("/co") == ["/context", "/compact"]
    assert completions("/context d") == ["/context detail"]
    assert completions("/usage ") == ["/usage off", "/usage tokens", "/usage full"]
    assert completions("hello") == completions("//co") == completions("/status") == []


def test_every_completion_is_a_command_again():
    for name in COMMANDS:
        for line in (f"/{name}", *completions(f"/{name} ")):
            assert isinstance(parse(line), Command)
