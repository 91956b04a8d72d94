"""Where a message is written: Enter sends, Ctrl+J or Alt+Enter starts a line, the arrows go through what was sent."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.message import Message
from textual.widgets import TextArea

from clew.commands.command import completions

MOST_LINES = 8
"""Lines of a message that are in sight at once."""


class Composer(TextArea):
    """The input."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+d", "leave", "Leave")]

    KEYS: ClassVar[dict[str, str]] = {
        "enter": "send",
        "ctrl+j": "break_line",
        "alt+enter": "break_line",
        "shift+enter": "break_line",
        "tab": "complete",
    }
    """Keys that are taken in the order they come in, between the letters before and after them."""

    class Sent(Message):
        """A message was sent."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Typed(Message):
        """The text changed; these lines it may become."""

        def __init__(self, may_be: list[str]) -> None:
            super().__init__()
            self.may_be = may_be

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True, tab_behavior="indent", highlight_cursor_line=False, compact=True,
            placeholder="Say something, or /help", id="composer",
        )  # fmt: skip
        self.sent: list[str] = []
        self._at = 0
        self._draft = ""

    def take(self, text: str) -> None:
        """Show a text as if it had been typed."""
        self.text = text
        self.move_cursor(self.document.end)

    def remember(self, text: str) -> None:
        """Keep a message for the arrows."""
        if not self.sent or self.sent[-1] != text:
            self.sent.append(text)
        self._at = len(self.sent)

    async def _on_key(self, event: Key) -> None:
        action = self.KEYS.get(event.key)
        if action is None:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        await self.run_action(action)

    def action_send(self) -> None:
        """Send what stands there."""
        text = self.text.strip()
        if text:
            self.remember(text)
            self.text = ""
            self.post_message(self.Sent(text))

    def action_break_line(self) -> None:
        """Start another line."""
        self.insert("\n")

    def action_complete(self) -> None:
        """Make a command of what was begun."""
        may_be = completions(self.text)
        if may_be:
            self.take(f"{may_be[0]} " if len(may_be) == 1 else _shared(may_be))

    def action_leave(self) -> None:
        """End the chat where nothing is written, else take the next character away."""
        if self.text:
            self.action_delete_right()
        else:
            self.app.exit(0)

    def action_cursor_up(self, select: bool = False) -> None:
        """The line above; from the first one, the message before."""
        if self.cursor_location[0] == 0 and self._at > 0 and not select:
            self._show(self._at - 1)
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """The line below; from the last one, the message after."""
        if self.cursor_location[0] == self.document.line_count - 1 and self._at < len(self.sent) and not select:
            self._show(self._at + 1)
        else:
            super().action_cursor_down(select)

    def _show(self, at: int) -> None:
        if self._at == len(self.sent):
            self._draft = self.text
        self._at = at
        self.take(self.sent[at] if at < len(self.sent) else self._draft)

    def on_text_area_changed(self) -> None:
        """As high as what is written, and the completions of it told."""
        self.styles.height = min(MOST_LINES, max(1, self.wrapped_document.height))
        self.post_message(self.Typed(completions(self.text)))


def _shared(lines: list[str]) -> str:
    """The longest beginning that all of some lines have."""
    first, last = min(lines), max(lines)
    length = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:length]
