"""The last turns of a conversation that is taken up again, as the blocks they were."""

from collections.abc import Iterator, Sequence

from textual.widget import Widget

from clew.render.text import plural
from clew.runtime.session import Session
from clew.transcript import Assistant, Entry, Said, Shell, ToolResult, User, calls_of, text_of
from clew.transcript.message import shell_text
from clew.tui import blocks

TURNS = 4
"""So many of the last things the user said are shown with what followed."""

MOST, MOST_CHARS = 60, 30_000
"""Messages of those turns at most, and characters of what was said in them."""


def past(session: Session) -> Iterator[Widget]:
    """The brief the view opens with, how much lies before, and the last turns."""
    view, row = session.view(), session.row()
    if view.brief is not None and view.boundary is not None:
        yield blocks.BriefFold(view.boundary.id, view.brief, session.key, row.compactions)
    spoken = [entry for entry in view.entries if isinstance(entry.body, Said)]
    start = _start(spoken)
    if start:
        yield blocks.Note(f"… {plural(start, 'earlier message')} in the window")
    yield from _shown(spoken[start:])


def asked(session: Session) -> list[str]:
    """What the user said in the window, oldest first."""
    messages = [entry.body.message for entry in session.view().entries if isinstance(entry.body, Said)]
    return [text_of(one) for one in messages if isinstance(one, User) and not one.synthetic and text_of(one)]


def _start(spoken: Sequence[Entry]) -> int:
    asks = [at for at, entry in enumerate(spoken) if _is_ask(entry)]
    first = max(asks[-TURNS] if len(asks) >= TURNS else 0, len(spoken) - MOST)
    chars = 0
    for at in range(len(spoken) - 1, first - 1, -1):
        chars += _said(spoken[at])
        if chars > MOST_CHARS:
            return min(at + 1, len(spoken) - 1)
    return first


def _said(entry: Entry) -> int:
    """The characters of a message that is shown unfolded."""
    message = entry.body.message if isinstance(entry.body, Said) else None
    return 0 if message is None or isinstance(message, ToolResult) else len(text_of(message))


def _is_ask(entry: Entry) -> bool:
    message = entry.body.message if isinstance(entry.body, Said) else None
    return isinstance(message, User) and not message.synthetic


def _shown(spoken: Sequence[Entry]) -> Iterator[Widget]:
    folds: dict[str, blocks.ToolFold] = {}
    for entry in spoken:
        message = entry.body.message if isinstance(entry.body, Said) else None
        match message:
            case User() if not message.synthetic:
                yield blocks.Said(text_of(message))
            case Assistant():
                if text_of(message).strip():
                    yield blocks.Answer(text_of(message))
                for call in calls_of(message):
                    yield folds.setdefault(call.id, blocks.ToolFold(call))
            case ToolResult() if message.call_id in folds:
                folds[message.call_id].end(message, 0)
            case Shell():
                yield blocks.Note(shell_text(message))
