"""The commands there are, and a line read as one of them. Knows no conversation and carries nothing out."""

import re
from difflib import get_close_matches

import msgspec

_LINE = re.compile(r"/([a-z]+)(?:\s*:\s*|\s+|$)(.*)", re.IGNORECASE | re.DOTALL)
"""A slash, a word, and what it is given. `/etc/hosts is full` is no command: a slash follows the word."""

COMPACT = re.compile(r"/compact(?:\s|:|$)", re.IGNORECASE)
"""A message that asks for a compaction; `clew agent` refuses it, since nobody is there who could have typed it."""


class Kind(msgspec.Struct, frozen=True):
    """One command as it is documented and completed."""

    usage: str
    does: str
    waits: bool = False
    """Whether it changes the conversation, so that it cannot run beside a turn."""
    words: tuple[str, ...] = ()
    """The words it knows as its argument."""


CONTEXT = ("list", "detail", "map", "json", "help")
USAGE = ("off", "tokens", "full")
VERBOSE = ("on", "off")

COMMANDS: dict[str, Kind] = {
    "help": Kind("/help [command]", "these commands"),
    "context": Kind(
        "/context [list|detail|map|json|help]", "who takes how much of the window; `map FILE.svg|.png` draws a file",
        words=CONTEXT,
    ),
    "compact": Kind("/compact [focus]", "wind the old part up into an audited brief", waits=True),
    "status": Kind("/status", "model, window, compactions, tokens, money"),
    "usage": Kind("/usage [tokens|full|off]", "what each answer used; without a word: the next mode", words=USAGE),
    "verbose": Kind("/verbose [on|off]", "tell of compactions that ran by themselves", words=VERBOSE),
    "model": Kind("/model [provider/model-id]", "the model that answers, or another one from here on", waits=True),
    "new": Kind("/new [model] [message]", "a fresh window; the transcript keeps everything", waits=True),
    "reset": Kind("/reset [message]", "the same, with the model as it is", waits=True),
}  # fmt: skip
"""Every command, in the order `/help` shows them."""


class Command(msgspec.Struct, frozen=True):
    """A command with what it was given."""

    name: str
    argument: str = ""

    @property
    def kind(self) -> Kind:
        """What is known of it."""
        return COMMANDS[self.name]


class Unknown(msgspec.Struct, frozen=True):
    """Something that looks like a command and is none."""

    name: str
    nearest: str | None = None


def parse(line: str) -> Command | Unknown | None:
    """A line as a command; None where it is meant for the model (`text_of` says what to send)."""
    found = _LINE.fullmatch(line.strip())
    if found is None:
        return None
    name = found[1].lower()
    if name in COMMANDS:
        return Command(name, found[2].strip())
    starts = [known for known in COMMANDS if known.startswith(name)]
    close = starts[:1] if len(starts) == 1 else get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    return Unknown(name, close[0] if close else None)


def text_of(line: str) -> str:
    """What a line that is no command says: `//status` is the text `/status`."""
    return line[1:] if line.startswith("//") else line


def completions(line: str) -> list[str]:
    """The lines that a line just being typed may become, in the order of `/help`."""
    if not line.startswith("/") or line.startswith("//") or "\n" in line:
        return []
    name, blank, argument = line[1:].partition(" ")
    if not blank:
        return [f"/{known}" for known in COMMANDS if known.startswith(name.lower()) and known != name]
    kind = COMMANDS.get(name.lower())
    words = kind.words if kind else ()
    return [f"/{name} {word}" for word in words if word.startswith(argument.lower()) and word != argument]
