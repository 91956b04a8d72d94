"""What may bind the agent: demands and asks of the user's, and work that user or agent said is open.

What only a tool returned, a page or a file's words say, binds nobody, however it is phrased: a brief that lists it
among the rules would pass on what was planted there. What was finished or cancelled is open no more.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import msgspec

from clew.compact.brief import ASKS, RULES, TODOS, sections
from clew.compact.closings import Closings, closings
from clew.compact.source import SUPPORTED, Source
from clew.transcript import Assistant, Compaction, Entry, Ledger, Said, User, text_of

HEARD = 0.4
"""Of a line's weight that the words of those who may bind must hold."""

BINDING = (
    TODOS, RULES, ASKS, "## User asks, oldest first", "## Pinned", "## Rules the user stated", "## To-do state",
)  # fmt: skip
"""The sections of an earlier brief whose lines have been held against these words already."""


class Voices:
    """The words of the user, and those of user and agent, looked through once somebody asks.

    `entries` are all that can be seen, the kept tail too; `known` is the ledger, for the asks and to-dos of before.
    """

    def __init__(self, entries: Sequence[Entry], previous: Compaction | None, known: Ledger, focus: str = "") -> None:
        self._entries, self._previous, self._known, self._focus = entries, previous, known, focus

    @cached_property
    def user(self) -> Source:
        """What the user said or pinned, and what stood as such in the earlier brief."""
        pinned = {item.key for item in self._known.pins}
        return self._source(lambda entry: entry.id in pinned or _said_by(entry, User))

    @cached_property
    def both(self) -> Source:
        """The same with the agent's words and calls."""
        return self._source(lambda entry: _said_by(entry, User, Assistant))

    @cached_property
    def closings(self) -> Closings:
        """What is known of which work is open."""
        here = {entry.id for entry in self._entries}
        older = [ask.text for ask in self._known.asks if ask.sources[-1:] and ask.sources[-1] not in here]
        newer = [
            text_of(entry.body.message)
            for entry in self._entries
            if isinstance(entry.body, Said) and _said_by(entry, User, Assistant)
        ]
        return closings(self._known.todos, [*older, *newer])

    def _source(self, counts: Callable[[Entry], bool]) -> Source:
        return Source(filter(counts, self._entries), _binding(self._previous), self._focus)

    def bind(self, heading: str, line: str, source: Source) -> bool:
        """Whether a line may stand under a heading: someone who may say so said it, or nobody said it at all.

        What nothing supports is another finding; here it is only asked who said what is supported.
        """
        if heading not in (RULES, ASKS, TODOS) or source.support(line)[1] < SUPPORTED:
            return True
        return (self.both if heading == TODOS else self.user).support(line)[1] >= HEARD


def _said_by(entry: Entry, *who: type) -> bool:
    if not isinstance(entry.body, Said) or not isinstance(entry.body.message, who):
        return False
    return not (isinstance(entry.body.message, User) and entry.body.message.synthetic)


def _binding(previous: Compaction | None) -> Compaction | None:
    """An earlier brief without the sections in which anybody's words may stand."""
    if previous is None:
        return None
    lines: Iterable[str] = (
        line for part in sections(previous.summary) if part.heading in BINDING for line in part.lines
    )
    return msgspec.structs.replace(previous, summary="\n".join(lines), lines=())
