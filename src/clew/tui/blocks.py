"""The pieces a conversation is shown as: what was said, an answer as it comes, a tool's call folded, a compaction."""

from rich.console import RenderableType
from rich.text import Text
from textual.content import Content
from textual.widgets import Collapsible, Markdown, Static
from textual.widgets.collapsible import CollapsibleTitle
from textual.widgets.markdown import MarkdownStream

from clew.render.events import called, returned, step
from clew.render.text import one_line, plural, short, visible
from clew.runtime import events
from clew.transcript import Call, Compaction, ToolResult, text_of

FOLD_LINES = 200
"""Lines of a result that an open fold shows."""

TITLE = 240
"""Characters of a fold's title; the screen cuts it to its width."""


class Said(Static):
    """Something the user said."""

    def __init__(self, text: str, note: str = "") -> None:
        super().__init__(classes="said")
        self.text = text
        self.mark(note)

    def mark(self, note: str) -> None:
        """Say beside it what became of it: waiting, or taken up by the turn."""
        mark = Text.assemble(("› ", "bold"), visible(self.text))
        if note:
            mark.append(f"  ({note})", style="dim italic")
        self.update(mark)


class Answer(Markdown):
    """An answer, growing as it comes. Its links are shown and not opened."""

    def __init__(self, text: str = "") -> None:
        super().__init__(visible(text), classes="answer", open_links=False)
        self._stream: MarkdownStream | None = None
        self.chars = len(text)

    async def add(self, piece: str) -> None:
        """A piece more of it."""
        if self._stream is None:
            self._stream = Markdown.get_stream(self)
        self.chars += len(piece)
        await self._stream.write(visible(piece))

    async def end(self) -> None:
        """It is whole."""
        if self._stream is not None:
            await self._stream.stop()
            self._stream = None


class Note(Static):
    """A line beside the conversation, or what a command came to."""

    def __init__(self, words: RenderableType, *, kind: str = "note") -> None:
        super().__init__(Text(words) if isinstance(words, str) else words, classes=kind)


class Fold(Collapsible):
    """A line that opens. Nothing in it is markup."""

    def __init__(self, title: str, kind: str) -> None:
        self._inside = Static("", classes="inside")
        super().__init__(self._inside, title=_inert(title), classes=kind)

    def head(self, title: str) -> None:
        """Another title."""
        self.title = _inert(title)
        self.call_after_refresh(self._paint)  # one that is set while the line is being mounted is not painted by itself

    def _paint(self) -> None:
        for line in self.query(CollapsibleTitle):
            line.mutate_reactive(CollapsibleTitle.label)

    def fill(self, words: str) -> None:
        """What it opens to."""
        self._inside.update(Text(words))


class ToolFold(Fold):
    """A call and what came back, on one line until it is opened."""

    def __init__(self, call: Call) -> None:
        self.call = call
        super().__init__(f"{called(call, TITLE)} …", "tool")
        self.fill(_given(call))

    def end(self, result: ToolResult, ms: int) -> None:
        """The call came back."""
        self.head(f"{called(self.call, 48)} · {returned(result, ms, TITLE)}")
        self.set_class(result.error, "failed")
        self.fill(f"{_given(self.call)}\n\n{_cut(text_of(result))}")


class CompactionFold(Fold):
    """A compaction while it runs, and afterwards its outcome, which opens to the way back."""

    def __init__(self, event: events.Compacting, key: str) -> None:
        self._key = key
        self._about = f"🧹 Compacting {short(event.tokens)} tokens"
        super().__init__(f"{self._about} …", "compaction")

    def on_step(self, event: events.CompactionStep) -> None:
        """It goes on."""
        self.head(f"{self._about}: {step(event)}")

    def end(self, event: events.Compacted, words: str) -> None:
        """It is over."""
        self.head(words)
        self.set_class(event.outcome == "declined", "failed")
        if event.id:
            self.fill(_ways(event.id, self._key, event.count))
        else:
            self.fill(f"Reason: {event.reason}. The history is as it was, and the conversation goes on.")


class BriefFold(Fold):
    """The brief that a resumed conversation opens with."""

    def __init__(self, name: str, brief: Compaction, key: str, count: int) -> None:
        sizes = f"{short(brief.tokens_before)} → {short(brief.tokens_after)}"
        super().__init__(f"🧹 Compacted before ({sizes})", "compaction")
        self.fill(f"{_ways(name, key, count)}\n\n{_cut(brief.summary)}")


def _ways(name: str, key: str, count: int) -> str:
    return (
        f"{plural(count, 'compaction')} in this session. Everything said is kept:\n"
        f"clew compactions show {name}\nclew trace {visible(key)}\nclew undo {visible(key)}"
    )


def _given(call: Call) -> str:
    if call.raw is not None:
        return visible(call.raw)
    return "\n".join(f"{visible(name)}: {_cut(str(value))}" for name, value in call.arguments.items())


def _cut(text: str) -> str:
    lines = visible(text).split("\n")
    more = f"\n… {plural(len(lines) - FOLD_LINES, 'more line')}" if len(lines) > FOLD_LINES else ""
    return "\n".join(line[:2_000] for line in lines[:FOLD_LINES]) + more


def _inert(title: str) -> str:
    """A title in which no bracket is markup."""
    return Content(one_line(title, TITLE)).markup
