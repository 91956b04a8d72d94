"""The chat without a full screen: a line in, an answer out as it comes; what happens beside it goes to stderr."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

from rich.console import Console

from clew.agency import Conversation
from clew.cli.lines import Lines
from clew.commands.command import Command, Unknown, parse, text_of
from clew.commands.result import Fresh
from clew.commands.run import run, usage_mode
from clew.commands.tally import Tally
from clew.errors import ClewError
from clew.render import chat as words
from clew.render import events as happening
from clew.render.status import used
from clew.render.text import visible
from clew.runtime import events
from clew.runtime.events import Ended, Event
from clew.transcript import Call

ARGUMENTS = 2_000
"""Characters of a call's arguments that are shown before it is asked for."""


class Printer:
    """Prints a run as it happens: the answer to standard output, the rest to standard error."""

    def __init__(self, conversation: Conversation, *, person: bool, answer: bool = True) -> None:
        """`person`: somebody watches, so that compactions are shown although nobody asked for notices; `answer`: print
        the model's words as they come."""
        self._conversation, self._person, self._answer = conversation, person, answer
        self._open = False
        self._notices = happening.Notices()
        self.out: TextIO = sys.stdout
        self.console = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
        conversation.listen(self)

    def __call__(self, event: Event) -> None:
        """Print one event."""
        if isinstance(event, events.Words):
            if self._answer:
                self._write(event.text)
            return
        for line in self._lines(event):
            self.note(line)
        if isinstance(event, events.Answered | Ended):
            self.close()

    def note(self, line: str) -> None:
        """Something beside the answer."""
        self.close()
        self.console.print(line, markup=False, style="dim")

    def close(self) -> None:
        """End the line of an answer that was begun."""
        if self._open:
            self.out.write("\n")
            self.out.flush()
        self._open = False

    def _write(self, text: str) -> None:
        shown = visible(text)
        if shown:
            self.out.write(shown)
            self.out.flush()
            self._open = not shown.endswith("\n")

    def _lines(self, event: Event) -> Iterator[str]:
        notify = self._conversation.agent.compaction.notify_user
        if self._person or happening.compaction(event) is None:
            if (line := happening.line(event)) is not None:
                yield line
            notify = False
        yield from self._notices.of(event, notify=notify, verbose=self._conversation.verbose)


class LineMode:
    """A chat over lines. Ctrl-C once cancels what runs and keeps what was said; twice, it ends."""

    def __init__(self, conversation: Conversation, lines: Lines, *, person: bool) -> None:
        """`person`: somebody sits at a terminal, so that there is a prompt."""
        self.conversation, self.lines, self.person = conversation, lines, person
        self.printer = Printer(conversation, person=person)
        self.tally = Tally(conversation)
        self.console = Console(highlight=False, soft_wrap=True, emoji=False)
        self._pressed = 0
        self._work: asyncio.Task[None] | None = None
        self._left = asyncio.Event()

    async def run(self) -> int:
        """Until the input ends; the exit code."""
        leaving = asyncio.create_task(self._left.wait())
        with self._interrupts():
            await self._greet()
            while (line := await self._next(leaving)) is not None:
                self._pressed = 0
                if line.strip():
                    await self._whole(line)
                if self._left.is_set():
                    break
        leaving.cancel()
        return 130 if self._left.is_set() and not self.person else 0

    async def _greet(self) -> None:
        if not self.person:
            return
        status = await self.conversation.status()
        self.printer.note(
            f"{status.key} · {status.model} · {used(status.size, status.limits.budget)} · /help, Ctrl-D ends"
        )

    async def _next(self, leaving: asyncio.Task[bool]) -> str | None:
        """The next line; None at the end of the input, or when Ctrl-C was pressed twice."""
        if self.person:
            self.printer.console.print("› ", end="", markup=False, style="bold")
        reading = asyncio.create_task(self.lines.next())
        await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            return reading.result()
        reading.cancel()
        return None

    async def _whole(self, line: str) -> None:
        """One line carried out, as something that Ctrl-C can cancel."""
        self._work = asyncio.create_task(self._one(line))
        try:
            await self._work
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            self.printer.close()
        except ClewError as error:
            self.printer.note(str(error))
        finally:
            self._work = None

    async def _one(self, line: str) -> None:
        command = parse(line)
        if command is None:
            await self._say(text_of(line))
            return
        await self._command(command)

    async def _say(self, text: str) -> None:
        self.tally.start()
        await self.conversation.say(text)
        below = words.footer(self.tally.billing, usage_mode(self.conversation))
        if below:
            self.printer.note(below)

    async def _command(self, command: Command | Unknown) -> None:
        done = await run(command, self.conversation)
        for line in words.answer(done):
            self.console.print(line)
        if isinstance(done, Fresh) and done.message:
            await self._say(done.message)

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Ctrl-C comes here and not as an exception that would end everything at once."""
        loop = asyncio.get_running_loop()

        def pressed(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._interrupted)

        before = signal.signal(signal.SIGINT, pressed)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupted(self) -> None:
        self._pressed += 1
        if self._pressed > 1 or not self.person:
            self._left.set()
        if self._work is not None:
            self._work.cancel()
        elif self._pressed == 1 and self.person:
            self.printer.note("\nCtrl-C again, or Ctrl-D, ends the chat.")


class Question:
    """Asks at the terminal whether a call may run."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._console = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

    async def __call__(self, call: Call, why: str) -> bool:
        """Whether the answer is yes; anything else is no."""
        for name, value in call.arguments.items():
            self._console.print(f"  {name}: {visible(str(value))[:ARGUMENTS]}", markup=False)
        asked = f"Run {visible(call.name)}? ({visible(why)}) [y/N] "
        self._console.print(asked, end="", markup=False, style="bold yellow")
        answer = await self._lines.fresh()
        return (answer or "").strip().lower() in ("y", "yes")
