"""A command carried out on a conversation: each one a few lines that end in a value."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import get_args

from clew.agency import Conversation
from clew.commands import result
from clew.commands.command import COMMANDS, Command, Unknown
from clew.commands.result import Mode, Result
from clew.errors import BadInput, BadSettings, ClewError
from clew.render.treemap_png import png
from clew.render.treemap_svg import svg

MODE = "responseUsage"
"""Under which a session's row remembers what is shown below each answer."""

MODES: tuple[Mode, ...] = get_args(Mode)

DRAWN = {".svg": svg, ".png": png}
"""The pictures `/context map` writes, by the end of the file's name."""


async def run(command: Command | Unknown, conversation: Conversation) -> Result:
    """Carry a command out. What a person or a provider did wrong is a value; cancelling cancels."""
    if isinstance(command, Unknown):
        return result.NoCommand(command.name, command.nearest)
    try:
        return await RUN[command.name](command, conversation)
    except ClewError as error:
        return result.Failed(command.name, str(error))


def usage_mode(conversation: Conversation) -> Mode:
    """What is shown below each answer of this session."""
    mode = conversation.session.row().meta.get(MODE)
    return mode if mode in MODES else "off"


async def _help(command: Command, conversation: Conversation) -> Result:
    topic = command.argument.lstrip("/").lower()
    return result.Helped(topic) if topic in COMMANDS or not topic else result.NoCommand(topic)


async def _context(command: Command, conversation: Conversation) -> Result:
    what, _, where = command.argument.partition(" ")
    what = {"": "list", "show": "list", "deep": "detail"}.get(what.lower(), what.lower())
    if what == "help":
        return result.Helped("context")
    if what not in ("list", "detail", "map", "json") or (where and what != "map"):
        return result.Misused("context", command.argument)
    report, key = await conversation.report(), conversation.session.key
    written = _draw(where.strip(), conversation.workspace, lambda draw: draw(report, key)) if where else None
    return result.Context(what, report, key, written)  # type: ignore[arg-type]


def _draw(where: str, workspace: str, picture: Callable[[Callable[..., bytes]], bytes]) -> str:
    """Write the map to a new file, relative to the workspace."""
    path = Path(workspace or ".") / Path(where).expanduser()
    draw = DRAWN.get(path.suffix.lower())
    if draw is None:
        raise BadInput(f"{where} ends neither in .svg nor in .png; nothing was written.")
    try:
        with path.open("xb") as file:
            file.write(picture(draw))
    except FileExistsError:
        raise BadInput(f"{path} exists already; nothing was written. Choose another name.") from None
    except OSError as error:
        raise BadInput(f"{path} could not be written ({error.strerror}). Choose another place.") from error
    return str(path)


async def _compact(command: Command, conversation: Conversation) -> Result:
    outcome = await conversation.compact(command.argument or None)
    return result.Compaction(outcome, conversation.session.key, await conversation.status())


async def _status(command: Command, conversation: Conversation) -> Result:
    return result.Standing(await conversation.status())


async def _usage(command: Command, conversation: Conversation) -> Result:
    asked, now = command.argument.lower(), usage_mode(conversation)
    if asked and asked not in MODES:
        return result.Misused("usage", command.argument)
    mode = asked if asked else MODES[(MODES.index(now) + 1) % len(MODES)]
    conversation.session.store.describe(conversation.session.key, {MODE: mode})
    return result.Usage(mode, await conversation.status())


async def _verbose(command: Command, conversation: Conversation) -> Result:
    wanted = {"": not conversation.verbose, "on": True, "off": False}.get(command.argument.lower())
    if wanted is None:
        return result.Misused("verbose", command.argument)
    conversation.verbose = wanted
    return result.Verbose(wanted)


async def _model(command: Command, conversation: Conversation) -> Result:
    if command.argument:
        return await _use(conversation, command.argument)
    status = await conversation.status()
    return result.ModelInUse(status.model, status.limits, status.stand_ins)


async def _use(conversation: Conversation, name: str) -> result.ModelInUse:
    limits = await conversation.use(name)
    return result.ModelInUse(conversation.model.name, limits, changed=True)


async def _new(command: Command, conversation: Conversation) -> Result:
    """The first word may name a model; where it is no model's name, all of it is the first message."""
    first, _, rest = command.argument.partition(" ")
    model = None
    if first:
        try:
            model = await _use(conversation, first)
        except BadSettings:
            if not rest and "/" in first:
                raise
            rest = command.argument
    return _afresh(conversation, "new", model, rest.strip())


async def _reset(command: Command, conversation: Conversation) -> Result:
    return _afresh(conversation, "reset", None, command.argument)


def _afresh(conversation: Conversation, reason: str, model: result.ModelInUse | None, message: str) -> Result:
    conversation.reset(reason)
    entries = conversation.session.row().entries
    return result.Fresh("new" if reason == "new" else "reset", entries, model, message)


RUN: dict[str, Callable[[Command, Conversation], Awaitable[Result]]] = {
    "help": _help,
    "context": _context,
    "compact": _compact,
    "status": _status,
    "usage": _usage,
    "verbose": _verbose,
    "model": _model,
    "new": _new,
    "reset": _reset,
}
"""What carries each command out."""
