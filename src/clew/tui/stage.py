"""What happens in a run, shown as blocks one after the other: words, tools, compactions, how it ended."""

import asyncio
import time

from textual.containers import VerticalScroll
from textual.widget import Widget

from clew.agency import Conversation
from clew.render import events as happening
from clew.runtime import events
from clew.runtime.events import Event
from clew.tui import blocks

MOST_CHARS, MOST_BLOCKS = 60_000, 400
"""What stays on the screen; older blocks are taken off it (a paragraph costs memory), and stay in the transcript."""


class Stage(VerticalScroll, can_focus=False):
    """The conversation on the screen."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(id="talk")
        self.conversation = conversation
        self.doing, self.since = "", 0.0
        self.waiting: list[blocks.Said] = []
        """Messages that wait for the turn's next step."""
        self._steering: list[blocks.Said] = []
        self._happened: asyncio.Queue[Event] = asyncio.Queue()
        self._unwatched = False
        """The screen is gone: nobody shows what happens, and nobody may wait for it to be shown."""
        self._answer: blocks.Answer | None = None
        self._folds: dict[str, blocks.ToolFold] = {}
        self._compaction: blocks.CompactionFold | None = None
        self._notices = happening.Notices()

    def on_mount(self) -> None:
        """Begin to show what happens."""
        self.run_worker(self._show_all(), name="events")

    # What to show -----------------------------------------------------------------------------------------------------

    def heard(self, event: Event) -> None:
        """Take an event; called by the turn itself. Messages that wait are handed to it here: it looks for them right
        after a tool returned."""
        if isinstance(event, events.Returned):
            for block in self.waiting:
                self.conversation.steer(block.text)
            self._steering += self.waiting
            self.waiting.clear()
        if not self._unwatched:
            self._happened.put_nowait(event)

    async def add(self, block: Widget) -> None:
        """Show one more block."""
        await self.mount(block)
        shown = list(self.children)
        chars = sum(getattr(one, "chars", 0) for one in shown)
        while len(shown) > 1 and (chars > MOST_CHARS or len(shown) > MOST_BLOCKS):
            oldest = shown.pop(0)
            chars -= getattr(oldest, "chars", 0)
            await oldest.remove()

    async def drain(self) -> None:
        """Wait until everything that happened is shown."""
        await self._happened.join()

    async def settle(self) -> None:
        """A piece of work is over, however it ended: nothing goes on any more."""
        await self.drain()
        await self._end_answer()
        self.do("")
        for block in self._steering:
            block.mark("kept; the next turn reads it")
        self._steering.clear()
        if self._compaction is not None:
            self._compaction.head(happening.CANCELLED)
            self._compaction = None

    def do(self, doing: str) -> None:
        """Something goes on from now."""
        if doing != self.doing:
            self.doing, self.since = doing, time.monotonic()

    # How it is shown --------------------------------------------------------------------------------------------------

    async def _show_all(self) -> None:
        try:
            while True:
                event = await self._happened.get()
                try:
                    await self._show(event)
                finally:
                    self._happened.task_done()
        finally:
            self._unwatched = True
            while not self._happened.empty():
                self._happened.get_nowait()
                self._happened.task_done()

    async def _show(self, event: Event) -> None:
        match event:
            case events.Words():
                await self._words(event.text)
            case events.Called() | events.Returned():
                await self._tool(event)
            case events.Admitted():
                self._taken_up()
            case events.Asking():
                self.do("thinking")
            case events.Flushing():
                self.do("writing lasting notes")
            case events.Answered():
                await self._end_answer()
            case events.Compacting() | events.CompactionStep() | events.Compacted():
                await self._compacting(event)
            case _:
                await self._told(event)

    async def _words(self, piece: str) -> None:
        if self._answer is None:
            self._answer = blocks.Answer()
            await self.add(self._answer)
        self.do("answering")
        await self._answer.add(piece)

    async def _end_answer(self) -> None:
        if self._answer is not None:
            answer, self._answer = self._answer, None
            await answer.end()

    async def _tool(self, event: events.Called | events.Returned) -> None:
        if isinstance(event, events.Called):
            await self._end_answer()
            self._folds[event.call.id] = blocks.ToolFold(event.call)
            await self.add(self._folds[event.call.id])
            self.do(f"running {event.call.name}")
        elif fold := self._folds.pop(event.result.call_id, None):
            fold.end(event.result, event.ms)

    def _taken_up(self) -> None:
        """A message is stored: those that were handed over wait no more."""
        for block in self._steering:
            block.mark("taken up by the turn")
        self._steering.clear()

    async def _compacting(self, event: events.Compacting | events.CompactionStep | events.Compacted) -> None:
        """A compaction as it starts, goes on and ends, in one place."""
        await self._end_answer()
        notices = list(self._notices.of(event, notify=False, verbose=self.conversation.verbose))
        if isinstance(event, events.Compacting):
            self._compaction = blocks.CompactionFold(event, self.conversation.session.key)
            await self.add(self._compaction)
            self.do("compacting")
        elif self._compaction is not None and isinstance(event, events.CompactionStep):
            self._compaction.on_step(event)
        elif self._compaction is not None and isinstance(event, events.Compacted):
            self._compaction.end(event, happening.compaction(event) or "")
            self._compaction = None
            for line in notices:
                await self.add(blocks.Note(line))

    async def _told(self, event: Event) -> None:
        line = happening.line(event)
        if line is not None:
            await self._end_answer()
            failed = isinstance(event, events.Ended) and event.outcome not in ("done", "cancelled")
            await self.add(blocks.Note(line, kind="note problem" if failed else "note"))
