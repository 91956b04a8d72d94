"""Who may talk and who may command, on which channel. Pure: lists and names in, a verdict out."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from clew.commands.command import Command, parse
from clew.config import Config
from clew.errors import NotAllowed

EVERYBODY = "*"

IRC, WEBHOOK = "irc", "webhook"

TALK = "You are not allowed to talk to me here; nothing was kept. Ask whoever runs me to add you."
COMMAND = "You are not allowed to give that command here; nothing was changed."

LOOKING = frozenset({"help", "status"})
"""Commands that change nothing, whatever they are given."""

_FOLD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ[]\\~", "abcdefghijklmnopqrstuvwxyz{}|^")


def fold(name: str) -> str:
    """A name on IRC as it is compared: RFC 1459 has three more letters than ASCII."""
    return name.translate(_FOLD)


class Rules:
    """The lists in force."""

    def __init__(self, config: Config) -> None:
        self._talk: Mapping[str, tuple[str, ...]] = {
            IRC: config.channels.irc.allow_from, WEBHOOK: config.channels.webhook.allow_from,
        }  # fmt: skip
        self._command = config.commands.allow_from

    def may_talk(self, channel: str, sender: str) -> bool:
        """Whether a sender is heard at all. On what is no channel everybody is, who came through the door."""
        return channel not in self._talk or _listed(channel, sender, self._talk[channel])

    def may_command(self, channel: str, sender: str) -> bool:
        """Whether a sender's commands may change something; only of one who may talk."""
        return self.may_talk(channel, sender) and _listed(channel, sender, self.commanders(channel))

    def commanders(self, channel: str) -> tuple[str, ...]:
        """The list that says whose commands may change something."""
        if self._command is None:
            return self._talk.get(channel, (EVERYBODY,))
        return self._command.get(channel, self._command.get(EVERYBODY, ()))

    def check(self, key: str, text: str, sender: str) -> None:
        """Refuse what a sender may not say in a session. Raises NotAllowed.

        A message without a sender is its caller's own, who has shown the gateway's token.
        """
        channel = channel_of(key)
        if sender and not self.may_talk(channel, sender):
            raise NotAllowed(COMMAND if parse(text) else TALK)
        if sender and changes(text) and not self.may_command(channel, sender):
            raise NotAllowed(COMMAND)


def channel_of(key: str) -> str:
    """The channel that a session's key names: `agent:ID:CHANNEL:…`; empty for any other key."""
    parts = key.split(":", 3)
    return parts[2] if len(parts) == 4 and parts[0] == "agent" else ""


def changes(text: str) -> bool:
    """Whether a line is a command that changes something: the conversation, its settings, or the disk."""
    command = parse(text)
    if not isinstance(command, Command) or command.name in LOOKING:
        return False
    return command.name != "context" or command.argument.lower().startswith("map ")


def _listed(channel: str, sender: str, names: Iterable[str]) -> bool:
    return any(_fits(channel, sender, name) for name in names)


def _fits(channel: str, sender: str, name: str) -> bool:
    if name == EVERYBODY:
        return True
    if channel != IRC:
        return name == sender
    if "!" in name or "@" in name:
        return fnmatchcase(fold(sender), fold(name))
    return fold(name) == fold(sender.partition("!")[0])
