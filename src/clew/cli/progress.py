"""What a long compaction shows while it runs: stage, part, attempt, and how much of the answer has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from clew.models.drive import Progress
from clew.render.text import number

STAGES = {"chunk": "reading the conversation", "merge": "writing the brief", "turn": "reading the turn in progress"}
"""The stages of a compaction in words."""


@contextmanager
def shown(console: Console, *, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A live line on a terminal; nothing at all in a pipe, or where `quiet`."""
    if quiet or not console.is_terminal:
        yield None
        return
    with console.status("starting …") as status:
        yield lambda step: status.update(words(step))


def words(step: Progress) -> str:
    """One step in words."""
    ask = step.ask
    part = f", part {ask.part} of {ask.parts}" if ask.parts > 1 else ""
    attempt = f", attempt {ask.attempt} of {ask.attempts}" if ask.attempt > 1 else ""
    arrived = f", about {number(step.chars // 4)} tokens so far" if step.chars else ""
    return f"{step.model}: {STAGES[ask.stage]}{part}{attempt}{arrived}"
