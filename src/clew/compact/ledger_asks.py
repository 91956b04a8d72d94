"""What the user asked and what became of it: which messages are asks, when one is answered, when it is open again."""

import msgspec

from clew.compact import ledger_words
from clew.compact.ledger_shelf import Shelf
from clew.transcript import LedgerItem

ASK = 8000
"""Characters of one ask that are stored; of a longer one, a pasted file say, its head and its tail."""
ASKS = 48_000
"""Characters of all stored asks together; the longest give way first."""
NUDGE = 40
"""Characters up to which a message sent into an unfinished turn (`go on`) does not close the ask before it, and up to
which the same words said again are another event."""
NOTICE = (
    "<task-notification>", "<bash-notification>", "[Request interrupted", "<bash-input>", "<bash-stdout>",
    "<bash-stderr>", "<local-command-stdout>", "<local-command-stderr>", "Caveat: The messages below",
)  # fmt: skip
"""How a message begins that a harness sent in the user's name: it is kept, but it asks for nothing."""

NODS = frozenset(
    """ok okay k kk okey thanks thx ty cheers great nice cool perfect good awesome excellent wonderful lovely wow
    gracias vale obrigado danke merci grazie спасибо ок хорошо شكرا حسنا תודה
    네 응 고마워 감사합니다 はい 了解 了解です ありがとう ありがとうございます
    好 好的 好吧 谢谢 多谢 嗯 行 可以 收到 明白 明白了 不错""".split()
) | frozenset(
    """|thank you|thank you very much|thanks a lot|ok thanks|ok thank you|ok great|ok cool|great thanks|got it
    |perfect thanks|nice work|sounds good|looks good|good job|great job|well done""".replace("\n    ", "").split("|")
)
"""Messages that say no more than that the last one arrived, without their marks; of marks alone (a thumb) too."""


def nod(text: str) -> bool:
    """Whether a message only acknowledges."""
    if len(text) > NUDGE:
        return False
    return " ".join("".join(mark if mark.isalnum() else " " for mark in text.lower()).split()) in NODS


class Asks:
    """The asks while entries are read. `finished` says whether the last answer stands at the end of its turn."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.finished = not any(ask.state == "open" for ask in self._all())

    def said(self, key: str, text: str, at: int, source: str) -> None:
        """The user spoke: an ask, which closes those before it unless it is a nudge into a turn that goes on."""
        if nod(text) and any(ask.state != "notice" and not nod(ask.text) for ask in self._all()):
            self.shelf.put(key, text, at, source, "nod", again=True)
            return
        if self.finished or len(text) > NUDGE:
            self._close("answered")
        self._close_nods()
        self.shelf.put(key, ledger_words.ends(text, ASK), at, source, "open", again=len(text) <= NUDGE)
        self.finished = False

    def noticed(self, key: str, text: str, at: int, source: str) -> None:
        """The harness spoke in the user's name."""
        self.shelf.put(key, ledger_words.ends(text, ASK), at, source, "notice")

    def works(self) -> None:
        """The model goes on: what looked like its last answer was not, and its newest ask is open again."""
        if self.finished and not any(ask.state == "open" for ask in self._all()):
            self.shelf.mark(self.newest(), "open")
        self.finished = False

    def answers(self) -> None:
        """The model said something that may be its last answer."""
        self.finished = True

    def newest(self) -> str:
        """The key of the newest ask; empty before the first."""
        asks = [ask for ask in self._all() if ask.state in ("open", "answered")]
        return max(asks, key=lambda ask: ask.at).key if asks else ""

    def close(self) -> None:
        """Nothing more was read: a turn that ended has answered its ask."""
        if self.finished:
            self._close("answered")
        self.shelf.items = {ask.key: ask for ask in fitting(self._all())}

    def _close(self, state: str) -> None:
        for ask in self._all():
            if ask.state == "open":
                self.shelf.mark(ask.key, state)

    def _close_nods(self) -> None:
        for ask in self._all():
            if ask.state in ("open", "answered") and nod(ask.text):
                self.shelf.mark(ask.key, "nod")

    def _all(self) -> list[LedgerItem]:
        return list(self.shelf.items.values())


def fitting(asks: list[LedgerItem]) -> list[LedgerItem]:
    """All asks within ASKS characters, the longest cut first."""
    most = max(ledger_words.level([len(ask.text) for ask in asks], ASKS), 80)
    return [msgspec.structs.replace(ask, text=ledger_words.ends(ask.text, most)) for ask in asks]
