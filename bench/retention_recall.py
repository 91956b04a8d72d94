"""What an agent finds again by searching, on the recorded compactions of `bench.retention`: columns with recall.

An agent that sees a brief searches the history before the compaction with what it knows at the time: what the user says
after the compaction, and what it writes or thinks before each call. Nothing of a call is looked at before it was made.
All it recalls within the horizon of 30 calls is at most so many tokens, headings included. A needed name is kept if it
is in the brief (or the tail), or was recalled before the first call that uses it.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from clew.compact.identifiers import find
from clew.recall.hit import Hit
from clew.recall.message import role, searchable
from clew.recall.names import telling
from clew.recall.query import loose
from clew.recall.terms import terms
from clew.store.inmemory import InMemoryStore
from clew.store.port import Draft, Search
from clew.store.rank import PHRASES
from clew.testing.scene import KEY
from clew.tokens import estimate
from clew.transcript import Assistant, Call, Entry, Message, Said, Text, Thinking, User, blocks_of, text_of

HITS = 80
"""Messages looked through for one search."""
FIRST, EACH = 0.3, 0.15
"""The share of what is left that one search may recall: for what the user says, for what the agent writes."""
LEAST, MOST, MOST_FIRST = 80, 200, 600
"""Tokens one search recalls: at least (if so many are left), at most, and at most for the user's words."""
HEADING = "Named earlier: "


class Step(msgspec.Struct, frozen=True):
    """What was said before a call."""

    text: str
    asked: bool
    """Whether the user said some of it."""
    call: Call


def steps(after: Sequence[Message], horizon: int) -> Iterator[Step]:
    """The calls after a compaction, each with what was said since the one before."""
    said: list[str] = []
    asked, made = False, 0
    for message in after:
        if isinstance(message, User):
            said.append(text_of(message))
            asked = True
        elif isinstance(message, Assistant):
            said += [block.text for block in message.blocks if isinstance(block, Text | Thinking)]
        for call in (block for block in blocks_of(message) if isinstance(block, Call)):
            made += 1
            if made > horizon:
                return
            yield Step("\n".join(said), asked, call)
            said, asked = [], False


class Past:
    """The history before one recorded compaction, to be searched."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._store = InMemoryStore()
        self._store.create(KEY, at=0)
        self._store.append(KEY, [Draft(entry.id, entry.at, entry.body) for entry in entries])

    def hits(self, text: str) -> list[Hit]:
        """What a search for the names and the words of a text finds."""
        exact = [tuple(terms(name)) for name in find(text)][: PHRASES // 2]
        phrases = tuple(dict.fromkeys([*exact, *loose(text, PHRASES)]))
        found = self._store.search(KEY, Search(phrases, limit=HITS))
        said = [(one, one.record.entry.body.message) for one in found if isinstance(one.record.entry.body, Said)]
        return [
            Hit(one.record.entry.id, role(message), one.record.entry.at, searchable(message), one.score)
            for one, message in said
        ]


def recalled(past: Past, seen: str, after: Sequence[Message], horizon: int, budget: int) -> Iterator[str]:
    """For each call, what was recalled before it: all of it together, at most `budget` tokens."""
    text, left = "", budget
    for step in steps(after, horizon):
        if step.text.strip() and left > estimate.text(HEADING):
            share = min(MOST_FIRST, left * FIRST) if step.asked else min(MOST, left * EACH)
            listed = telling(step.text, past.hits(step.text), f"{seen}\n{text}", find)
            more = fitting(listed, min(left, max(LEAST, share)))
            text = f"{text}{more}\n" if more else text
            left = budget - estimate.text(text)
        yield text


def fitting(names: Sequence[str], budget: float) -> str:
    """As many names as there is room for, in a line."""
    line = ""
    for name in names:
        longer = f"{line}, {name}" if line else f"{HEADING}{name}"
        if estimate.text(f"{longer}\n") >= budget:
            break
        line = longer
    return line


def first_uses(after: Sequence[Message], horizon: int, used: Callable[[Call], list[str]]) -> dict[str, int]:
    """For each name the calls use the number of the first call that does, from 0."""
    found: dict[str, int] = {}
    for number, step in enumerate(steps(after, horizon)):
        for name in used(step.call):
            found.setdefault(name, number)
    return found
