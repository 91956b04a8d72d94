"""The chat on a full screen: keys and lines in, turns and commands out; `Stage` shows what happens."""

import asyncio
import os
import time
from collections.abc import Coroutine
from typing import Any, ClassVar, Protocol

from rich.console import Group
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from clew.agency import Conversation
from clew.commands.command import Command, Unknown, parse, text_of
from clew.commands.result import Fresh
from clew.commands.run import run, usage_mode
from clew.commands.tally import Tally
from clew.errors import ClewError
from clew.render import chat as words
from clew.render.text import short
from clew.runtime import events
from clew.runtime.agent import Ask
from clew.runtime.events import Event
from clew.transcript import Call
from clew.tui import blocks
from clew.tui.approval import Approval
from clew.tui.bar import Activity, Bar
from clew.tui.composer import Composer
from clew.tui.past import asked, past
from clew.tui.stage import Stage
from clew.tui.warnings import on_screen

TICK_S = 0.5
"""Seconds between two looks at how long something takes."""

WELCOME = "A new session. Enter sends, Ctrl+J starts a line, Ctrl+C cancels, Ctrl+D leaves, /help lists the commands."

FILL = (
    events.Admitted, events.Asking, events.Answered, events.Returned, events.Compacted, events.Trimmed, events.Ended,
)  # fmt: skip
"""Events after which the window is looked at again."""


class Asked(Protocol):
    """Where the conversation asks whether a call may run; a face puts itself there."""

    face: Ask | None


async def show(conversation: Conversation, asked: Asked) -> int:
    """Run the chat until it is left; the exit code."""
    app = ChatApp(conversation)
    asked.face = app.ask
    with on_screen(app):
        return await app.run_async() or 0


class ChatApp(App[int]):
    """One conversation on the screen."""

    TITLE = "clew"
    CSS_PATH = "chat.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "Cancel, twice: leave", priority=True),
        Binding("ctrl+t", "shade", "Light or dark", priority=True),
        Binding("pageup", "page(-1)", "Up", priority=True),
        Binding("pagedown", "page(1)", "Down", priority=True),
    ]

    def __init__(self, conversation: Conversation) -> None:
        super().__init__()
        self.theme = "textual-light" if is_light(os.environ.get("COLORFGBG", "")) else "textual-dark"
        self.conversation = conversation
        self.tally = Tally(conversation)
        self.stage = Stage(conversation)
        self.composer, self.bar, self.activity = Composer(), Bar(), Activity()
        self._work: asyncio.Task[None] | None = None
        self._pressed = False
        conversation.listen(self._heard)

    def compose(self) -> ComposeResult:
        """The conversation, what goes on, the input, the bar."""
        yield self.stage
        with Vertical(id="foot"):
            yield self.activity
            with Horizontal(id="prompt"):
                yield Static("› ", id="mark")
                yield self.composer
            yield self.bar

    async def on_mount(self) -> None:
        """The last turns, and the fill of the window."""
        session = self.conversation.session
        for text in asked(session):
            self.composer.remember(text)
        await self.stage.mount_all(list(past(session)) or [blocks.Note(WELCOME)])
        self.stage.anchor()
        self.composer.focus()
        await self._fill()
        self.set_interval(TICK_S, self._tick)

    def _heard(self, event: Event) -> None:
        self.stage.heard(event)
        if isinstance(event, FILL):
            self.call_later(self._fill)

    # What is typed ----------------------------------------------------------------------------------------------------

    async def on_composer_sent(self, message: Composer.Sent) -> None:
        """A line: a command, something to say, or something for the turn that runs."""
        self._pressed = False
        self.stage.anchor()
        command = parse(message.text)
        if command is not None:
            await self._commanded(message.text, command)
            return
        said = blocks.Said(text_of(message.text))
        await self.stage.add(said)
        if self._work is not None:
            said.mark("waits for the turn's next step")
            self.stage.waiting.append(said)
        else:
            self._start(self._say(said.text), "thinking")

    def on_composer_typed(self, message: Composer.Typed) -> None:
        """The commands a line may become."""
        self.activity.tell("  ".join(message.may_be) or self._doing())

    async def _commanded(self, line: str, command: Command | Unknown) -> None:
        waits = isinstance(command, Command) and command.kind.waits
        if waits and self._work is not None:
            self.composer.take(line)
            words = f"{line.split()[0]} cannot run beside a turn: wait for its end, or cancel it with Ctrl+C."
            await self.stage.add(blocks.Note(words))
            return
        await self.stage.add(blocks.Said(line))
        if waits:
            self._start(self._carry_out(command), line.split()[0])
        else:
            await self._carry_out(command)

    async def _carry_out(self, command: Command | Unknown) -> None:
        done = await run(command, self.conversation)
        await self.stage.drain()
        await self.stage.add(blocks.Note(Group(*words.answer(done)), kind="told"))
        await self._fill()
        if isinstance(done, Fresh) and done.message:
            await self.stage.add(blocks.Said(done.message))
            await self._say(done.message)

    # What runs --------------------------------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None], doing: str) -> None:
        self.stage.do(doing)
        self._tick()
        self._work = asyncio.create_task(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Work to its end, whichever that is; then what was left waiting."""
        cancelled = False
        try:
            await work
        except asyncio.CancelledError:
            cancelled = True
        except ClewError as error:
            await self.stage.add(blocks.Note(str(error), kind="note problem"))
        await self.stage.settle()
        self._work = None
        self._tick()
        await self._fill()
        await self._go_on(cancelled)

    async def _go_on(self, cancelled: bool) -> None:
        """Messages that no step took up: after the end of a turn they are the next one, after a cancel input again."""
        waiting = list(self.stage.waiting)
        self.stage.waiting.clear()
        text = "\n\n".join(block.text for block in waiting)
        if waiting and cancelled:
            for block in waiting:
                await block.remove()
            self.composer.take("\n\n".join(part for part in (text, self.composer.text) if part.strip()))
        elif waiting:
            for block in waiting:
                block.mark("")
            self._start(self._say(text), "thinking")

    async def _say(self, text: str) -> None:
        self.tally.start()
        await self.conversation.say(text)
        below = words.footer(self.tally.billing, usage_mode(self.conversation))
        if below:
            await self.stage.drain()
            await self.stage.add(blocks.Note(below))

    async def ask(self, call: Call, why: str) -> bool:
        """Whether a call may run, as the person at the screen says. Cancelling takes the question away."""
        await self.stage.drain()
        self.stage.do("waiting for your answer")
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        screen = Approval(call, why)

        def answered(yes: bool | None) -> None:
            if not answer.done():
                answer.set_result(bool(yes))

        self.push_screen(screen, answered)
        try:
            return await answer
        finally:
            if screen.is_current:
                screen.dismiss(False)
            self.stage.do(f"running {call.name}")

    # The screen -------------------------------------------------------------------------------------------------------

    async def _fill(self) -> None:
        self.bar.show(await self.conversation.status())

    def _tick(self) -> None:
        if not self.composer.text.startswith("/"):
            self.activity.tell(self._doing())

    def _doing(self) -> str:
        if not self.stage.doing:
            return "Ctrl+C again leaves" if self._pressed else ""
        seconds, output = int(time.monotonic() - self.stage.since), self.tally.billing.output
        used = f" · {short(output)} out" if output and self.stage.doing in ("thinking", "answering") else ""
        return f"{self.stage.doing} … {seconds} s{used} · Ctrl+C cancels"

    def action_page(self, pages: int) -> None:
        """A page up or down in the conversation; at its end it follows what comes."""
        if pages < 0:
            self.stage.scroll_page_up(animate=False)
        else:
            self.stage.scroll_page_down(animate=False)

    def action_shade(self) -> None:
        """Light or dark."""
        self.theme = "textual-dark" if self.theme == "textual-light" else "textual-light"

    def action_interrupt(self) -> None:
        """Once: cancel what runs, or copy what is selected. Twice: leave."""
        selected = self.composer.selected_text or self.screen.get_selected_text()
        if selected and not self._pressed:
            self.copy_to_clipboard(selected)
            return
        if self._work is not None:
            self._work.cancel()
        if self._pressed:
            self.exit(0)
        self._pressed = True
        self._tick()


def is_light(colours: str) -> bool:
    """Whether a terminal says, as some do in COLORFGBG (`0;15`), that its background is light."""
    last = colours.rpartition(";")[2]
    return last.isdigit() and int(last) in (7, 15)
