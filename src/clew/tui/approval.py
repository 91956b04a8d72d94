"""The question whether a call may run, over the conversation, with all that it was given in sight."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from clew.render.text import visible
from clew.transcript import Call


class Approval(ModalScreen[bool]):
    """Yes runs the call; everything else does not.

    A letter means nothing here: whoever is in the middle of a sentence when the question comes has not answered it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+y", "answer(True)", "Run it"),
        Binding("escape", "answer(False)", "Do not"),
        Binding("left,right", "app.focus_next", "The other"),
        Binding("ctrl+c", "interrupt", "Cancel the turn", priority=True),
    ]

    def __init__(self, call: Call, why: str) -> None:
        super().__init__()
        self._call, self._why = call, why

    def compose(self) -> ComposeResult:
        """The call, the reason for asking, two buttons; the harmless one is chosen."""
        with Vertical(id="question"):
            yield Static(Text.assemble("Run ", (visible(self._call.name), "bold"), "?"))
            with VerticalScroll(id="given"):
                yield Static(self._given())
            yield Static(Text(visible(self._why), style="dim"))
            with Horizontal(id="buttons"):
                yield Button("No (Esc)", id="no", compact=True)
                yield Button("Yes (Ctrl+Y)", id="yes", variant="warning", compact=True)

    def _given(self) -> Text:
        if self._call.raw is not None:
            return Text(visible(self._call.raw))
        given = Text()
        for name, value in self._call.arguments.items():
            given.append(f"{visible(name)}: ", style="dim")
            given.append(f"{visible(str(value))}\n")
        return given

    def on_mount(self) -> None:
        """No is what Enter means."""
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """A button."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """A key."""
        self.dismiss(yes)

    async def action_interrupt(self) -> None:
        """No, and the turn is cancelled with it."""
        self.dismiss(False)
        await self.app.run_action("interrupt")
