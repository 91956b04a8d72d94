"""The engine with which nothing is lost to the model: what left its view it can search, and open again word for word.

The transcript is not touched. Each compaction adds a leaf to a graph of summaries (`clew.engine.weave`), kept in the
compaction's own entry, so that graph and boundary are one transaction and an undo takes both back. The model is lent
tools that search, describe and open the history. A name in a new message that the view does not show recalls its
passage by itself: a message behind the user's, where it breaks no cache.
"""

import asyncio
from functools import partial

from clew.compact.brief import IDENTIFIERS, sections
from clew.compact.identifiers import find
from clew.compact.ledger_render import CODE, FILES, MORE
from clew.compact.outcome import Outcome
from clew.engine.history import History
from clew.engine.history_tools import HistoryTools
from clew.engine.port import Assembled, Assembly, CompactionAsk, Host, Info
from clew.engine.weave import weave
from clew.recall.message import searchable
from clew.recall.passages import Asked, absent, recalled
from clew.recall.terms import terms
from clew.tokens import estimate
from clew.transcript import Message, Node, user
from clew.transcript.view import INTRO
from clew.workspace.port import Offer

ID = "lossless"

RECALLED = 2_000
"""Tokens that are recalled by themselves for one message."""

SHARE = 16
"""A passage takes at most this part of the budget, however small the window is."""

BARE = (IDENTIFIERS, FILES, MORE, CODE)
"""Sections of a brief that list names."""

NAMES, EACH = 8, 6
"""Names of one message that are looked for, and messages looked at for each."""


class Lossless:
    """The engine over one session."""

    info = Info(ID, "Lossless", "1")

    def __init__(self, host: Host) -> None:
        self._host, self.history = host, History(host.store, host.session)

    async def ingest(self, session: str, message: Message) -> bool:
        """Nothing is taken in: the transcript has it."""
        return False

    async def assemble(self, given: Assembly) -> Assembled:
        """The view as it is; before a turn's first request, with the passages that the user's names recall."""
        named = find(given.prompt) if given.first else []
        if not named:
            return Assembled(given.messages)
        passage = await asyncio.to_thread(self._passage, given, named)
        return Assembled(given.messages, append=(user(passage, synthetic=True),) if passage else ())

    async def compact(self, ask: CompactionAsk) -> Outcome:
        """By the runtime, with what is wound up as a new leaf of the graph."""
        roots = await asyncio.to_thread(self._roots)
        return await self._host.delegate_compaction(ask, flow=partial(weave, roots=roots))

    def tools(self) -> tuple[Offer, ...]:
        """What searches, describes and opens the history."""
        return HistoryTools(self.history).offers()

    def _passage(self, given: Assembly, named: list[str]) -> str:
        """What the history says of names that the view does not show; empty where it shows them all."""
        start = self._host.store.session(self._host.session).start
        shown = "\n".join(map(_told, given.messages[:-1]))
        missing = absent(named, shown)[:NAMES] if start > 1 else []
        look = partial(self.history.messages, before=start, limit=EACH)
        asked = [Asked(name, hits) for name in missing if (hits := look([tuple(terms(name))]))]
        if not asked:
            return ""
        size = sum(map(estimate.message, given.messages))
        room = RECALLED if given.budget is None else min(RECALLED, given.budget // SHARE, given.budget - size)
        also = self.history.named(given.prompt, f"{shown}\n{given.prompt}", before=start)
        return recalled(asked, budget=room, count=estimate.text, also=also).text

    def _roots(self) -> tuple[Node, ...]:
        """The summaries at the top of the graph, oldest first."""
        graph, store, key = self.history.graph(), self._host.store, self._host.session
        found = []
        for one in graph.roots:
            first, last = graph.reach(one)
            ends = [next(iter(store.entries(key, after=seq - 1, limit=1)), None) for seq in (first, last) if seq]
            if len(ends) == 2 and ends[0] and ends[1]:
                ids = (ends[0].entry.id, ends[1].entry.id)
                found.append(Node(one.id, one.depth, *ids, one.text, one.children, one.tokens, one.writer))
        return tuple(found)


def _told(message: Message) -> str:
    """What a message tells; of a brief without the lists in which names stand alone: they say nothing of a name but
    that it was there."""
    words = searchable(message)
    if not words.startswith(INTRO):
        return words
    return "\n".join(line for part in sections(words) if part.heading not in BARE for line in part.lines)
