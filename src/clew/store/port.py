"""What a store of transcripts promises, in words and types. It keeps and hands out; it never decides.

Laws, which `clew.testing.StoreContract` checks over every adapter:

1. **Durable.** When `append` or `commit` has returned, its entries survive a killed process and a lost power supply.
2. **Whole.** A call stores all of its entries or none; a reader never sees half of a call.
3. **Append-only.** Nothing but `delete` and `trim` takes an entry away, and nothing else changes one.
4. **In order.** `seq` grows with every entry of a session, and a parent's `seq` is smaller than its child's.
5. **Compare-and-swap.** `commit` succeeds only if `generation` is still the session's; then it grows by one.
   `append` never changes the generation: messages that arrive during a compaction stay after its boundary.
6. **The window is read, not the history.** What `window` costs depends on what it returns, not on the session's age.
7. **Shared.** Two processes may use one store at once; one of them waits for the other, bounded, then StoreBusy.
8. **Owed.** A turn that `append` was given with its last entry is handed out by `owed` until `settle` says it is done:
   oldest first, each once, whatever was killed in between. What `trim` takes an end of is owed no more.
9. **Found.** `search` sees every message stored before the call. What it needs for that is derived from the entries,
   is paid for by the searches and not by `append`, and goes when the session is deleted.
10. **Honest.** A torn, foreign or newer file raises DamagedStore, ForeignStore or NewerSchema and is left untouched.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, Self

import msgspec

from clew.transcript import Body, Entry


class Draft(msgspec.Struct, frozen=True):
    """An entry about to be stored."""

    id: str
    at: int
    """Milliseconds since 1970-01-01 UTC."""
    body: Body
    tokens: int = 0
    """The estimated size in a view, in tokens."""
    parent: str | msgspec.UnsetType | None = msgspec.UNSET
    """Its parent, stored already or earlier in the same call; None for a root. Unset means the session's leaf at the
    moment it is stored, drafts before it in the same call included; on a side branch, the draft before it in the call.
    """
    leaf: bool = True
    """Whether the session goes on from this entry. False for a side branch."""


class Record(msgspec.Struct, frozen=True):
    """A stored entry."""

    seq: int
    """Its place in the session, counted from 1."""
    entry: Entry
    tokens: int
    """The estimated size in a view, in tokens."""
    size: int
    """The stored size, in bytes."""


class SessionRow(msgspec.Struct, frozen=True):
    """What is known of a session without reading its entries."""

    key: str
    created: int
    updated: int
    """Milliseconds since 1970-01-01 UTC."""
    leaf: str | None
    generation: int
    """Grows with every compaction, reset and undo."""
    boundary: str | None
    """The compaction or reset its view starts from."""
    start: int
    """The `seq` of the first entry that `window` returns (1 while there is no boundary)."""
    entries: int
    compactions: int
    """Compactions that stand: those taken back do not count."""
    window_tokens: int
    """The sum of `tokens` from `start` on, compactions and resets other than the boundary left out."""
    window_bytes: int
    """The sum of `size` over the same entries."""
    meta: dict[str, Any] = {}
    """Small facts: title, model, working directory, where it was imported from."""


class Slice(msgspec.Struct, frozen=True):
    """A session's active window."""

    session: SessionRow
    boundary: Record | None
    """The compaction or reset the window starts from; it may lie before or after the first of `records`."""
    records: tuple[Record, ...]
    """The active branch from the first kept entry to the leaf, oldest first, boundary included where it lies in it."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries alone."""
        return tuple(record.entry for record in self.records)


DAMAGED = "clew:damaged"
"""The one fact in a row's `meta` where the facts themselves cannot be read: why not. Only `sessions` gives such a row.
"""

Phrase = tuple[str, ...]
"""Terms in a row, as `clew.recall.terms.terms` makes them."""


class Search(msgspec.Struct, frozen=True):
    """What to look for in the messages of a session."""

    phrases: tuple[Phrase, ...] = ()
    """The more of them a message holds, and the rarer they are, the better it fits; the first 32 count. None at all:
    the newest messages that pass the filters."""
    every: bool = False
    """Whether a message must hold all of them."""
    without: tuple[Phrase, ...] = ()
    """Phrases a message must not hold."""
    roles: tuple[str, ...] = ()
    """`user`, `assistant`, `tool`; empty for all. A shell command of the user's is the user's."""
    since: int | None = None
    until: int | None = None
    """The times between which it was said, both included: milliseconds since 1970-01-01 UTC."""
    before: int | None = None
    """Only messages with a smaller `seq`."""
    limit: int = 20


class Found(msgspec.Struct, frozen=True):
    """A message that fits a search."""

    record: Record
    score: float
    """How well; bigger is better, and comparable within one search only."""


class Event(msgspec.Struct, frozen=True):
    """Something that happened to a session, for logs and pages."""

    seq: int
    key: str
    at: int
    kind: str
    """Such as `created`, `imported`, `compaction`, `reset`, `undo`, `pin`."""
    data: dict[str, Any] = {}


class Owed(msgspec.Struct, frozen=True):
    """A finished turn that a context engine has still to take over."""

    key: str
    turn: str
    """What makes it the same turn however often it is handed over: the id of the message that began it."""
    engine: str
    """The id of the engine it is for."""
    first: str
    last: str
    """Ids of the turn's first and last entry."""
    at: int
    """Milliseconds since 1970-01-01 UTC."""
    attempts: int = 0
    """How often handing it over failed."""
    error: str = ""
    """Why it failed last."""
    blocked: bool = False
    """Whether it is tried no more until somebody asks for that."""


class Store(Protocol):
    """Where transcripts are kept. Methods block; they may be called from any thread."""

    def create(self, key: str, *, at: int, meta: dict[str, Any] | None = None) -> SessionRow:
        """A new, empty session, with its first event, `created`. Raises SessionExists, and BadInput for a bad key."""
        ...

    def session(self, key: str) -> SessionRow:
        """One session's row. Raises UnknownSession."""
        ...

    def sessions(
        self, *, prefix: str = "", active_since: int | None = None, limit: int | None = None
    ) -> list[SessionRow]:
        """The sessions whose key starts with `prefix`, the most recently used first."""
        ...

    def append(self, key: str, drafts: Sequence[Draft], *, owed: Owed | None = None) -> list[Record]:
        """Store entries at the end of a session and return them as a reader will see them. None at all is fine.

        `owed` is the turn that ends with them, stored in the same transaction; one that is owed already stays as it is.
        Raises UnknownSession, and BadInput for an id that is taken, a parent that is not stored, a body that could not
        be read back, or a turn that is owed to another engine or with another end; then nothing is stored.
        """
        ...

    def owed(self, key: str | None = None) -> list[Owed]:
        """The turns still to be handed over, oldest first: of one session, or of all."""
        ...

    def settle(self, key: str, turn: str, *, error: str | None = None, blocked: bool = False) -> None:
        """A turn was handed over and is owed no more; or (`error`) that failed, and it stays, `blocked` for good.

        Nothing happens where it is not owed. Raises UnknownSession.
        """
        ...

    def reopen(self, key: str) -> int:
        """Have the blocked turns of a session tried again; how many there were. Raises UnknownSession."""
        ...

    def commit(
        self,
        key: str,
        draft: Draft,
        *,
        generation: int,
        boundary: str | None,
        start: str | None,
        event: str,
        data: dict[str, Any],
    ) -> Record:
        """Store one entry that moves the window, with its event, in one transaction.

        `boundary` is the id of the compaction or reset that the view starts from afterwards (the draft's own id, or an
        older one, or None for none); `start` the id of the first entry of the window, or None for the boundary itself
        (or the session's first entry, where there is no boundary).
        Raises Conflict if the session's generation is no longer `generation`, UnknownSession, and BadInput as `append`
        does and for a boundary or start that is not stored; then nothing is stored.
        """
        ...

    def describe(self, key: str, meta: dict[str, Any]) -> None:
        """Add to a session's small facts; None as a value takes one away. Raises UnknownSession."""
        ...

    def window(self, key: str) -> Slice:
        """A session's active window, all of it from one moment. Raises UnknownSession."""
        ...

    def entries(self, key: str, *, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """The whole history in order of `seq`, side branches included, read in pages.

        What is stored meanwhile may be among it. Raises UnknownSession, also halfway if the session is deleted.
        """
        ...

    def entry(self, key: str, name: str) -> Record:
        """One entry by its id or the start of it; a whole id goes before the start of longer ones.

        Raises UnknownSession, UnknownEntry, AmbiguousName.
        """
        ...

    def entry_many(self, key: str, ids: Sequence[str]) -> dict[str, Record]:
        """The entries with these ids, in one look; ids that are not there are left out."""
        ...

    def compactions(self, key: str) -> list[Record]:
        """The compactions of a session, oldest first, those taken back included. Raises UnknownSession."""
        ...

    def find_compaction(self, name: str) -> tuple[str, Record]:
        """A compaction of any session by its id or the start of it, with the session's key.

        Raises UnknownEntry, AmbiguousName.
        """
        ...

    def search(self, key: str, wanted: Search) -> list[Found]:
        """The messages that fit best, best first, of equals the newer first; side branches and all of history included.

        Looked at are a message's words, its calls' names and arguments, and a result's text; not reasoning. A phrase
        that thousands of messages hold is ranked over the newest 2,000 of them at most. Raises UnknownSession, BadInput
        for an unknown role, and StoreError where the store has no means to search.
        """
        ...

    def indexed(self, key: str) -> tuple[int, int]:
        """Up to which `seq` the search index knows a session, and the session's last. Raises UnknownSession."""
        ...

    def reindex(self, key: str) -> int:
        """Drop what search derived from a session, make it anew, and say up to which `seq`. Raises UnknownSession."""
        ...

    def events(self, key: str | None = None, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """What happened, oldest first: to one session, or to all."""
        ...

    def claim(self, key: str, owner: str, *, now: int, until: int) -> str | None:
        """Hold a session for one turn until a time (both in milliseconds), so that no other process runs one beside it.

        None where it is held from now on; else the owner that holds it. An owner renews its own claim; a claim whose
        time has passed is free. Raises UnknownSession.
        """
        ...

    def release(self, key: str, owner: str) -> None:
        """Let a claimed session go; nothing happens where another owner holds it. Raises UnknownSession."""
        ...

    def trim(self, key: str, keep: int, *, at: int) -> int:
        """Take all but the newest `keep` entries away for good, with an event `trim`, and say how many went.

        The one cut there is no way back from. A call and its result stay or go together, and the session's last entry
        stays with those it belongs to, which may be more than `keep`. What is left is numbered from 1 again, its oldest
        entries become roots, and the view starts from the boundary if that is left, else from the first entry. The
        generation grows, if anything went. `at` is now, in milliseconds. Raises UnknownSession, BadInput.
        """
        ...

    def delete(self, key: str) -> None:
        """Remove a session, all of its entries and its events for good. Raises UnknownSession."""
        ...

    def close(self) -> None:
        """Let go of the file or the connection. Twice does no harm; any other call afterwards raises StoreError."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...
