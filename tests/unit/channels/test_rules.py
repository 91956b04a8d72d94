"""Who may talk, who may command, and which lines are commands that change something."""

import pytest

from clew.config import Config
from clew.errors import NotAllowed
from clew.gateway.channels.rules import COMMAND, TALK, Rules, changes, channel_of

ROOM, DIRECT = "agent:main:irc:#clew", "agent:main:webhook:ann"


def rules(irc=(), webhook=(), commands=None) -> Rules:
    return Rules(Config.model_validate({
        "channels": {"irc": {"allowFrom": list(irc)}, "webhook": {"allowFrom": list(webhook)}},
        "commands": {"allowFrom": commands},
    }))  # fmt: skip


@pytest.mark.parametrize(
    ("listed", "sender", "may"),
    [
        pytest.param([], "ann!a@host", False, id="an empty list is nobody"),
        pytest.param(["*"], "ann!a@host", True, id="a star is everybody"),
        pytest.param(["Ann"], "ann!a@host", True, id="a nick, in any case"),
        pytest.param(["a[b]"], "A{B}!a@host", True, id="brackets are letters on IRC"),
        pytest.param(["ann"], "anna!a@host", False, id="the whole nick"),
        pytest.param(["ann!*@*.example.org"], "ann!x@home.example.org", True, id="a mask"),
        pytest.param(["ann!*@*.example.org"], "ann!x@elsewhere.net", False, id="a mask of another host"),
    ],
)
def test_who_may_talk_on_irc(listed, sender, may) -> None:
    assert rules(irc=listed).may_talk("irc", sender) is may


def test_a_webhook_compares_whole_ids() -> None:
    assert rules(webhook=["ann@example.org"]).may_talk("webhook", "ann@example.org")
    assert not rules(webhook=["*@example.org"]).may_talk("webhook", "ann@example.org")


@pytest.mark.parametrize(
    ("commands", "sender", "may"),
    [
        pytest.param(None, "ann", True, id="not set: whoever may talk"),
        pytest.param([], "ann", False, id="an empty list: nobody"),
        pytest.param(["bob"], "bob", True, id="a list is for all channels"),
        pytest.param(["bob"], "ann", False, id="who is not on it may only talk"),
        pytest.param({"webhook": ["ann"], "*": ["bob"]}, "ann", True, id="the channel's own list"),
        pytest.param({"irc": ["ann"]}, "ann", False, id="another channel's list"),
        pytest.param(["eve"], "eve", False, id="who may not talk may not command"),
    ],
)
def test_who_may_command(commands, sender, may) -> None:
    assert rules(webhook=["ann", "bob"], commands=commands).may_command("webhook", sender) is may


@pytest.mark.parametrize("line", ["/compact", "/COMPACT: the names", "/new", "/reset hi", "/model x/y", "/usage full",
                                  "/verbose on", "/context map a.svg", " /compact"])  # fmt: skip
def test_lines_that_change_something(line) -> None:
    assert changes(line)


@pytest.mark.parametrize("line", ["/help", "/status", "/context", "/context detail", "/nonsense", "//compact", "hi",
                                  "/etc/hosts"])  # fmt: skip
def test_lines_that_change_nothing(line) -> None:
    assert not changes(line)


def test_a_refusal_says_what_for() -> None:
    for text, words in (("hi", TALK), ("/compact", COMMAND), ("/status", COMMAND)):
        with pytest.raises(NotAllowed, match=words.split(";")[0]):
            rules(irc=["ann"]).check(ROOM, text, "eve!e@host")


def test_whoever_has_the_token_and_names_nobody_may_all() -> None:
    rules().check(ROOM, "/compact", "")
    rules(commands=[]).check("agent:main:main", "/compact", "")


def test_a_named_sender_is_looked_at_on_any_route() -> None:
    with pytest.raises(NotAllowed):
        rules(webhook=["ann"]).check(DIRECT, "/compact", "eve")
    with pytest.raises(NotAllowed):
        rules(commands=["ann"]).check("agent:main:main", "/compact", "eve")


@pytest.mark.parametrize(
    ("key", "channel"), [(ROOM, "irc"), (DIRECT, "webhook"), ("agent:main:main", ""), ("notes", ""), ("", "")]
)
def test_the_channel_of_a_key(key, channel) -> None:
    assert channel_of(key) == channel
