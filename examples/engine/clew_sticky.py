"""A context engine that keeps notes in view: a line of the user's that begins with `remember:` is shown for good.

`forget:` and the same words take a note away. Notes outlive compactions and `/new`. The engine keeps no file: all it
knows it reads from the transcript again, once for each session and process.
"""

import asyncio

from clew.compact.outcome import Outcome
from clew.engine.port import Assembled, Assembly, CompactionAsk, EngineOffer, Host, Info, Seen, delegate_compaction
from clew.plugins import hookimpl
from clew.tokens import estimate
from clew.transcript import Message, Said, User, text_of, user

HEAD = "You were asked to remember:"


class Sticky:
    """The engine over one session."""

    info = Info("sticky", "Sticky notes", "0.1.0")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._notes: dict[str, None] = {}  # a dict keeps the order and holds each note once

    async def bootstrap(self, given: Seen) -> bool:
        """The notes of the session so far. Reading may take a while, so it happens on a thread."""
        return await asyncio.to_thread(self._read_all)

    async def ingest(self, session: str, message: Message) -> bool:
        """The notes of one message of a finished turn."""
        return self._take(message)

    async def assemble(self, given: Assembly) -> Assembled:
        """The view as it is, and at its end the notes that it does not show.

        What is appended is stored: the next request has it at the same place, and the prompt cache holds. So a note is
        appended once, and again only when a compaction or `/new` has taken it from the view.
        """
        self._take(user(given.prompt))  # a turn that fails is not handed to `ingest`
        if not given.first:
            return Assembled(given.messages)
        shown = "\n".join(map(text_of, given.messages))
        missing = [note for note in self._notes if note not in shown]
        if given.budget is not None:
            missing = _fitting(missing, given.budget - sum(map(estimate.message, given.messages)))
        words = "\n".join([HEAD, *(f"- {note}" for note in missing)])
        return Assembled(given.messages, append=(user(words),) if missing else ())

    async def compact(self, ask: CompactionAsk) -> Outcome:
        """By Clew, with its brief, its audit and its ledger."""
        return await delegate_compaction(self._host, ask)

    def _read_all(self) -> bool:
        for record in self._host.store.entries(self._host.session):
            if isinstance(record.entry.body, Said):
                self._take(record.entry.body.message)
        return bool(self._notes)

    def _take(self, message: Message) -> bool:
        """Heed what a person said; `synthetic` are words that a program put in a person's place, these notes too."""
        before = dict(self._notes)
        for line in text_of(message).splitlines() if isinstance(message, User) and not message.synthetic else ():
            word, _, note = line.strip().partition(":")
            if word.lower() == "remember" and note.strip():
                self._notes[note.strip()] = None
            elif word.lower() == "forget":
                self._notes.pop(note.strip(), None)
        return self._notes != before


def _fitting(notes: list[str], room: int) -> list[str]:
    """The newest notes that fit into so many tokens, oldest first."""
    while notes and estimate.message(user("\n".join([HEAD, *(f"- {note}" for note in notes)]))) > room:
        notes = notes[1:]
    return notes


@hookimpl
def context_engines() -> list[EngineOffer]:
    """Clew's hook: the engines this package brings, by the name the setting uses."""
    return [EngineOffer("sticky", Sticky)]
