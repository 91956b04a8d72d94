"""The conversations that clients resend, found again: which session holds the longest beginning of what was sent.

The transcript is the truth. A session's row keeps the digests of its first message and of its whole history, so that
after a restart it is found without reading it; the chain of a session is read when it is looked at, and kept.
"""

import threading
from collections import OrderedDict
from collections.abc import Container
from typing import Any

import msgspec

from clew.clock import NewId, Now
from clew.errors import UnknownSession
from clew.gateway.openai_chain import Chain, Given, common, leaves_an_answer
from clew.runtime.arrival import settle
from clew.runtime.lane import owner
from clew.store.port import Draft, Record, Store
from clew.transcript import Compaction, Undo, path, text_of

FACT = "openai"
"""Under which a session's row keeps its digests."""

ROWS = 20_000
"""Sessions that are known by their digests, the newest ones."""

CHAINS = 64
"""Chains that are kept ready."""

ALIKE = 16
"""Sessions with the same first message that are looked at, the newest ones."""

TITLE = 60
"""Characters of a title made from the first message."""


class Choice(msgspec.Struct, frozen=True):
    """The session a history belongs to."""

    key: str
    how: str = ""
    """`branched` for a session that was made from the beginning of another, `new` for an empty one."""


class Known:
    """What is known of the sessions that clients resend. Its methods block; they may be called from any thread."""

    def __init__(self, store: Store, *, now: Now, new_id: NewId) -> None:
        self._store, self._now, self._new_id = store, now, new_id
        self._heads: dict[str, str] = {}
        self._firsts: dict[str, list[str]] = {}
        self._chains: OrderedDict[str, Chain] = OrderedDict()
        self._loaded = False
        self._lock = threading.RLock()

    def choose(self, agent: str, given: Given, busy: Container[str]) -> Choice:
        """The session that holds the longest beginning of a history and goes on from it; else a new one.

        One in `busy` is at work on another request, and so belongs to that.
        """
        with self._lock:
            return self._choose(agent, given, busy)

    def _choose(self, agent: str, given: Given, busy: Container[str]) -> Choice:
        self._load()
        best: tuple[int, str] = (0, "")
        for key in self._candidates(given):
            if (chain := self._chain_or_none(key)) is None or chain.seed != given.seed:
                continue
            shared = common(chain, given)
            goes_on = shared == len(chain.links) or leaves_an_answer(chain, given)
            if shared and goes_on and key not in busy:
                return Choice(key)
            best = max(best, (shared, key))
        if best[0] > 1:
            return Choice(self._fork(agent, best[1], best[0]), "branched")
        return Choice(self._made(agent, given), "new")

    def _candidates(self, given: Given) -> list[str]:
        """Sessions that may hold a beginning of it: the longest whole history first, then those that start alike."""
        heads = [self._heads[one] for one in reversed(given.whole) if one in self._heads]
        alike = self._firsts.get(given.whole[0], [])
        looked_at = alike[-ALIKE:] if len(given.whole) > 1 else alike[-1:]  # one message alone makes no branch
        return list(dict.fromkeys([*heads, *reversed(looked_at)]))

    # Chains -----------------------------------------------------------------------------------------------------------

    def chain(self, key: str) -> Chain:
        """The chain of a session as it is now. Raises UnknownSession."""
        with self._lock:
            row = self._store.session(key)
            known = self._chains.get(key)
            if known is None or known.leaf != row.leaf:
                known = self._read(key, _seed_of(row.meta))
            self._chains[key] = known
            self._chains.move_to_end(key)
            while len(self._chains) > CHAINS:
                self._chains.popitem(last=False)
            return known

    def _chain_or_none(self, key: str) -> Chain | None:
        try:
            return self.chain(key)
        except UnknownSession:
            self._forget(key)
            return None

    def _read(self, key: str, seed: str) -> Chain:
        chain = self._chains.get(key)
        if chain is not None and chain.leaf is not None and chain.seed == seed:
            more = self._branch(key, self._store.entry(key, chain.leaf).seq)
            if more and more[0].entry.parent == chain.leaf:
                chain.follow(more)
                return chain
        chain = Chain(seed)
        chain.follow(self._branch(key, 0))
        return chain

    def _branch(self, key: str, after: int) -> list[Record]:
        """The active branch behind a `seq`, oldest first."""
        records = {record.entry.id: record for record in self._store.entries(key, after=after)}
        leaf = self._store.session(key).leaf
        return [records[entry.id] for entry in path((one.entry for one in records.values()), leaf)]

    def learn(self, key: str) -> None:
        """Remember what a session holds now."""
        with self._lock:
            self._learn(key)

    def _learn(self, key: str) -> None:
        before = self._store.session(key).meta.get(FACT)
        if not isinstance(before, dict) or not (chain := self.chain(key)).links:
            return
        now = {**before, "first": chain.links[0].whole, "head": chain.links[-1].whole}
        if now != before:
            self._store.describe(key, {FACT: now})
            if self._heads.get(before.get("head", "")) == key:
                del self._heads[before["head"]]
        self._note(key, now)

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        for row in reversed(self._store.sessions(prefix="agent:", limit=ROWS)):
            if isinstance(facts := row.meta.get(FACT), dict):
                self._note(row.key, facts)

    def _note(self, key: str, facts: dict[str, Any]) -> None:
        if head := facts.get("head"):
            self._heads[head] = key
        if (first := facts.get("first")) and key not in (alike := self._firsts.setdefault(first, [])):
            alike.append(key)

    def _forget(self, key: str) -> None:
        self._chains.pop(key, None)
        self._heads = {head: one for head, one in self._heads.items() if one != key}
        for alike in self._firsts.values():
            if key in alike:
                alike.remove(key)

    # New sessions -----------------------------------------------------------------------------------------------------

    def _made(self, agent: str, given: Given) -> str:
        key = self._key(agent)
        self._store.create(key, at=self._now(), meta={FACT: {"seed": given.seed}, "title": _title(given) or None})
        return key

    def _fork(self, agent: str, source: str, shared: int) -> str:
        """A session that begins as the first `shared` messages of another, its compactions among them."""
        key, chain = self._key(agent), self.chain(source)
        row = self._store.session(source)
        records = [one for one in self._branch(source, 0) if one.seq <= chain.links[shared - 1].seq]
        meta = {FACT: {"seed": chain.seed}, "branchedFrom": source, "branchedAt": chain.links[shared - 1].entry}
        if title := row.meta.get("title"):
            meta["title"] = title
        drafts = _copies(records, self._new_id)
        settle(self._store, key, drafts, at=self._now(), meta=meta, by=owner(self._new_id()))
        self.learn(key)
        return key

    def _key(self, agent: str) -> str:
        return f"agent:{agent}:openai:{self._new_id()}"


def _copies(records: list[Record], new_id: NewId) -> list[Draft]:
    """Entries for another session. A compaction is found by its id in all sessions, so that it gets another one."""
    names = {one.entry.id: new_id() for one in records if isinstance(one.entry.body, Compaction)}
    drafts, before = [], None
    for record in records:
        entry, body = record.entry, record.entry.body
        if isinstance(body, Compaction) and body.previous:
            body = msgspec.structs.replace(body, previous=names.get(body.previous, body.previous))
        if isinstance(body, Undo):
            body = msgspec.structs.replace(body, target=names.get(body.target, body.target))
        before = Draft(names.get(entry.id, entry.id), entry.at, body, record.tokens, before.id if before else None)
        drafts.append(before)
    return drafts


def _seed_of(meta: dict[str, Any]) -> str:
    facts = meta.get(FACT)
    return str(facts.get("seed", "")) if isinstance(facts, dict) else ""


def _title(given: Given) -> str:
    said = " ".join(text_of(given.messages[0]).split())
    return said if len(said) <= TITLE else f"{said[: TITLE - 1]}…"
