"""The chat on a full screen: a conversation's events in, blocks out; keys and lines in, turns and commands out."""

import asyncio
import logging
import os
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from clew.agency import Conversation
from clew.commands.command import Command, Unknown, parse, text_of
from clew.commands.result import Fresh
from clew.commands.run import run, usage_mode
from clew.commands.tally import Tally
from clew.errors import ClewError
from clew.logs import Said as SaidFormat
from clew.render import chat as words
from clew.render import events as happening
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

TICK_S = 0.5
"""Seconds between two looks at how long something takes."""

MOST_BLOCKS = 400
"""Blocks that stay on the screen; older ones are taken off it, and stay in the transcript."""

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
    with app.warnings():
        return await app.run_async() or 0


class ChatApp(App[int]):
    """One conversation on the screen."""

    TITLE = "clew"
    CSS_PATH = "chat.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "Cancel, twice: leave", priority=True),
        Binding("ctrl+t", "shade", "Light or dark", priority=True),
        Binding("pageup", "scroll(-1)", "Up", priority=True),
        Binding("pagedown", "scroll(1)", "Down", priority=True),
    ]

    def __init__(self, conversation: Conversation) -> None:
        super().__init__()
        self.theme = "textual-light" if is_light(os.environ.get("COLORFGBG", "")) else "textual-dark"
        self.conversation = conversation
        self.tally = Tally(conversation)
        self._happened: asyncio.Queue[Event] = asyncio.Queue()
        self._work: asyncio.Task[None] | None = None
        self._waiting: list[tuple[str, blocks.Said]] = []
        self._steering: list[blocks.Said] = []
        self._answer: blocks.Answer | None = None
        self._folds: dict[str, blocks.ToolFold] = {}
        self._compaction: blocks.CompactionFold | None = None
        self._doing, self._since = "", 0.0
        self._pressed = False
        conversation.listen(self._heard)

    def compose(self) -> ComposeResult:
        """The conversation, what goes on, the input, the bar."""
        yield VerticalScroll(id="talk")
        with Vertical(id="foot"):
            yield Activity()
            with Horizontal(id="prompt"):
                yield Static("› ", id="mark")
                yield Composer()
            yield Bar()

    async def on_mount(self) -> None:
        """The last turns, the fill of the window, and an ear for what happens."""
        self.talk.can_focus = False
        composer = self.query_one(Composer)
        for text in asked(self.conversation.session):
            composer.remember(text)
        await self.talk.mount_all(list(past(self.conversation.session)))
        self.talk.anchor()
        composer.focus()
        await self._fill()
        self.set_interval(TICK_S, self._tick)
        self.run_worker(self._listen(), name="events")

    @property
    def talk(self) -> VerticalScroll:
        """Where the conversation is shown."""
        return self.query_one("#talk", VerticalScroll)

    # What is typed ----------------------------------------------------------------------------------------------------

    async def on_composer_sent(self, message: Composer.Sent) -> None:
        """A line: a command, something to say, or something for the turn that runs."""
        self._pressed = False
        self.talk.anchor()
        command = parse(message.text)
        if command is not None:
            await self._commanded(message.text, command)
        elif self._work is not None:
            block = blocks.Said(text_of(message.text), "waits for the turn's next step")
            self._waiting.append((text_of(message.text), block))
            await self._mount(block)
        else:
            await self._mount(blocks.Said(text_of(message.text)))
            self._start(self._say(text_of(message.text)), "thinking")

    def on_composer_typed(self, message: Composer.Typed) -> None:
        """The commands a line may become."""
        self.query_one(Activity).tell("  ".join(message.may_be) or self._doing_words())

    async def _commanded(self, line: str, command: Command | Unknown) -> None:
        if self._work is not None and isinstance(command, Command) and command.kind.waits:
            self.query_one(Composer).take(line)
            await self._mount(
                blocks.Note(f"/{command.name} cannot run beside a turn: wait for its end, or cancel it with Ctrl-C.")
            )
            return
        await self._mount(blocks.Said(line))
        if isinstance(command, Command) and command.kind.waits:
            self._start(self._carry_out(command), f"/{command.name}")
        else:
            await self._carry_out(command)

    async def _carry_out(self, command: Command | Unknown) -> None:
        done = await run(command, self.conversation)
        for line in words.answer(done):
            await self._mount(blocks.Note(line, kind="told"))
        await self._fill()
        if isinstance(done, Fresh) and done.message:
            await self._mount(blocks.Said(done.message))
            await self._say(done.message)

    # What runs --------------------------------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None], doing: str) -> None:
        self._do(doing)
        self._work = asyncio.create_task(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Work to its end, whichever that is; then what was left waiting."""
        cancelled = False
        try:
            await work
        except asyncio.CancelledError:
            cancelled = True
        except ClewError as error:
            await self._mount(blocks.Note(str(error), kind="note problem"))
        await self._drain()
        self._work = None
        self._do("")
        await self._fill()
        if self._compaction is not None:
            self._compaction.head("🧹 Compaction cancelled; the history is as it was")
            self._compaction = None
        await self._go_on(cancelled)

    async def _go_on(self, cancelled: bool) -> None:
        """Messages that no step took up: after the end of a turn they are the next one, after a cancel back in the input."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        text = "\n\n".join(one for one, _ in waiting)
        if cancelled:
            for _, block in waiting:
                await block.remove()
            composer = self.query_one(Composer)
            composer.take("\n\n".join(part for part in (text, composer.text) if part.strip()))
            return
        for _, block in waiting:
            block.mark("")
        self._start(self._say(text), "thinking")

    async def _say(self, text: str) -> None:
        await self.tally.start()
        await self.conversation.say(text)
        below = words.footer(self.tally.billing, await self.tally.price(), usage_mode(self.conversation))
        if below:
            await self._drain()
            await self._mount(blocks.Note(below))

    async def ask(self, call: Call, why: str) -> bool:
        """Whether a call may run, as the person at the screen says."""
        self._do("waiting for your answer")
        await self._drain()
        yes = await self.push_screen_wait_here(Approval(call, why))
        self._do(f"running {call.name}")
        return yes

    async def push_screen_wait_here(self, screen: Approval) -> bool:
        """The answer of a question, from a task that is none of Textual's workers."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def answered(yes: bool | None) -> None:
            if not answer.done():
                answer.set_result(bool(yes))

        self.push_screen(screen, answered)
        try:
            return await answer
        except asyncio.CancelledError:
            if screen.is_current:
                screen.dismiss(False)
            raise

    # What happens -----------------------------------------------------------------------------------------------------

    def _heard(self, event: Event) -> None:
        """Called by the turn itself. Messages that wait are handed over here: the turn looks for them right after."""
        if isinstance(event, events.Returned):
            for text, block in self._waiting:
                self.conversation.steer(text)
                self._steering.append(block)
            self._waiting.clear()
        self._happened.put_nowait(event)

    async def _listen(self) -> None:
        while True:
            event = await self._happened.get()
            try:
                await self._shown(event)
            finally:
                self._happened.task_done()

    async def _drain(self) -> None:
        """Wait until everything that happened is on the screen."""
        await self._happened.join()

    async def _shown(self, event: Event) -> None:
        """One event on the screen."""
        match event:
            case events.Words():
                await self._words(event.text)
            case events.Called():
                await self._end_answer()
                self._folds[event.call.id] = blocks.ToolFold(event.call)
                await self._mount(self._folds[event.call.id])
                self._do(f"running {event.call.name}")
            case events.Returned():
                if fold := self._folds.pop(event.result.call_id, None):
                    fold.end(event.result, event.ms)
            case events.Admitted():
                self._taken_up()
            case events.Asking():
                self._do("thinking")
            case events.Answered():
                await self._end_answer()
            case events.Compacting() | events.CompactionStep() | events.Compacted():
                await self._compacting(event)
            case events.PrefixBreak():
                pass
            case _:
                await self._told(event)
        if isinstance(event, FILL):
            await self._fill()

    async def _told(self, event: Event) -> None:
        await self._end_answer()
        if (line := happening.line(event)) is not None:
            failed = isinstance(event, events.Ended) and event.outcome not in ("done", "cancelled")
            await self._mount(blocks.Note(line, kind="note problem" if failed else "note"))

    def _taken_up(self) -> None:
        """A message is stored; those that were handed over are told apart from those that wait."""
        for block in self._steering:
            block.mark("taken up by the turn")
        self._steering.clear()

    async def _words(self, piece: str) -> None:
        if self._answer is None:
            self._answer = blocks.Answer()
            await self._mount(self._answer)
        self._do("answering")
        await self._answer.add(piece)

    async def _end_answer(self) -> None:
        if self._answer is not None:
            answer, self._answer = self._answer, None
            await answer.end()

    async def _compacting(self, event: events.Compacting | events.CompactionStep | events.Compacted) -> None:
        """A compaction as it starts, goes on and ends, in one place."""
        await self._end_answer()
        if isinstance(event, events.Compacting):
            self._compaction = blocks.CompactionFold(event, self.conversation.session.key)
            await self._mount(self._compaction)
            self._do("compacting")
        elif isinstance(event, events.CompactionStep) and self._compaction is not None:
            self._compaction.on_step(event)
        elif isinstance(event, events.Compacted) and self._compaction is not None:
            self._compaction.end(event, happening.compaction(event) or "")
            self._compaction = None
            self._do("thinking")
            for line in happening.notice(event, notify=False, verbose=self.conversation.verbose):
                await self._mount(blocks.Note(line))

    # The screen -------------------------------------------------------------------------------------------------------

    async def _mount(self, block: Widget) -> None:
        talk = self.talk
        await talk.mount(block)
        for old in list(talk.children)[:-MOST_BLOCKS]:
            await old.remove()

    async def _fill(self) -> None:
        self.query_one(Bar).show(await self.conversation.status())

    def _do(self, doing: str) -> None:
        if doing != self._doing:
            self._doing, self._since = doing, time.monotonic()
        self._tick()

    def _tick(self) -> None:
        if not self.query_one(Composer).text.startswith("/"):
            self.query_one(Activity).tell(self._doing_words())

    def _doing_words(self) -> str:
        if not self._doing:
            return "Ctrl-C again leaves" if self._pressed else ""
        seconds = int(time.monotonic() - self._since)
        output = self.tally.billing.output
        used = f" · {short(output)} out" if output else ""
        return f"{self._doing} … {seconds} s{used} · Ctrl-C cancels"

    def action_scroll(self, pages: int) -> None:
        """A page up or down in the conversation."""
        if pages < 0:
            self.talk.release_anchor()
            self.talk.scroll_page_up(animate=False)
        else:
            self.talk.scroll_page_down(animate=False)

    def action_shade(self) -> None:
        """Light or dark."""
        self.theme = "textual-dark" if self.theme == "textual-light" else "textual-light"

    def action_interrupt(self) -> None:
        """Once: cancel what runs, or copy what is selected. Twice: leave."""
        selected = self.query_one(Composer).selected_text or self.screen.get_selected_text()
        if selected and not self._pressed:
            self.copy_to_clipboard(selected)
            return
        if self._pressed:
            self._leave()
            return
        self._pressed = True
        if self._work is not None:
            self._work.cancel()
        self._tick()

    def _leave(self) -> None:
        if self._work is not None:
            self._work.cancel()
        self.exit(0)

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Warnings of the log go to the screen as notes, since standard error is the screen itself."""
        logger, there = logging.getLogger("clew"), _Notes(self)
        beside = [one for one in logger.handlers if type(one) is logging.StreamHandler]
        for one in beside:
            logger.removeHandler(one)
        logger.addHandler(there)
        try:
            yield
        finally:
            logger.removeHandler(there)
            for one in beside:
                logger.addHandler(one)


class _Notes(logging.Handler):
    """Shows warnings on the screen."""

    def __init__(self, app: ChatApp) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(SaidFormat())
        self._app = app

    def emit(self, record: logging.LogRecord) -> None:
        """One warning, from whatever thread."""
        if self._app.is_running:
            self._app.call_later(self._app.notify, self.format(record), severity="warning", markup=False)


def is_light(colours: str) -> bool:
    """Whether a terminal says, as some do in COLORFGBG (`0;15`), that its background is light."""
    last = colours.rpartition(";")[2]
    return last.isdigit() and int(last) in (7, 15)
