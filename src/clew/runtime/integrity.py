"""Whether a session's entries, its row, its graph of summaries and its search index agree with one another.

One pass over the entries, which are read in pages and let go of: what is kept of each is its id, its parent's number
and a mark, so a session of 100,000 entries takes some 20 MB. Nothing is changed; `repair` makes derived data anew.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from clew.engine.history import graph_of
from clew.errors import StoreError
from clew.recall.message import searchable
from clew.recall.nodes import flaws
from clew.recall.terms import terms
from clew.store.port import Record, Search, SessionRow, Store
from clew.transcript import Compaction, Reset, Said, ToolResult, Undo, calls_of

AGAIN = 3
"""How often a session is read anew that somebody writes to meanwhile."""

SAMPLES, PHRASE = 12, 6
"""Messages that are looked for in the search index, and how many of their first terms."""

ANEW = "export the session (clew export) and import it again"
REPAIR = "clew doctor KEY --repair makes it anew from the entries"


class Part(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    sound: str
    """What is said where nothing is wrong."""
    wrong: tuple[str, ...] = ()
    do: str = ANEW
    """What to do about it."""
    grave: bool = True
    """Whether something is broken; False for what is mended by itself."""


class _Seen:
    """What is known of the entries once all have passed."""

    def __init__(self, row: SessionRow) -> None:
        self.row = row
        self.seqs: dict[str, int] = {}
        self.parents = array("q")
        """By number less one: the parent's number, 0 for a root, -1 for a parent that is not stored before."""
        self.said = bytearray()
        self.boundaries: dict[str, Compaction | Reset | Undo] = {}
        self.order: list[str] = []
        self.lost_parents: list[str] = []
        self.count = self.tokens = self.size = 0
        self.calls: dict[str, list[int]] = {}
        self.stray = self.parted = 0

    def take(self, record: Record) -> None:
        """One entry more."""
        entry, body, expected = record.entry, record.entry.body, len(self.parents) + 1
        self.count += 1
        if record.seq != expected:
            self.order.append(f"#{record.seq} stands where #{expected} should")
            for _ in range(expected, record.seq):
                self.parents.append(-1)
                self.said.append(False)
        parent = 0 if entry.parent is None else self.seqs.get(entry.parent, -1)
        if parent < 0:
            self.lost_parents.append(f"#{record.seq} follows {entry.parent}, which is not stored before it")
        self.seqs[entry.id] = record.seq
        self.parents.append(parent)
        self.said.append(isinstance(body, Said))
        if isinstance(body, Compaction | Reset | Undo):
            self.boundaries[entry.id] = _light(body)
        if record.seq >= self.row.start and (entry.id == self.row.boundary or not isinstance(body, Compaction | Reset)):
            self.tokens += record.tokens
            self.size += record.size
        if isinstance(body, Said):
            self._pair(record.seq, body)

    def _pair(self, seq: int, body: Said) -> None:
        for call in calls_of(body.message):
            self.calls.setdefault(call.id, []).append(seq)
        if isinstance(body.message, ToolResult):
            waiting = self.calls.get(body.message.call_id)
            if not waiting:
                self.stray += 1
                return
            self.parted += waiting.pop(0) < self.row.start <= seq
            if not waiting:
                del self.calls[body.message.call_id]

    def branch(self) -> list[int]:
        """The numbers of the active branch, oldest first."""
        here, walked = self.seqs.get(self.row.leaf or "", 0), []
        while here > 0:
            walked.append(here)
            here = self.parents[here - 1]
        return walked[::-1]


def _light(body: Compaction | Reset | Undo) -> Compaction | Reset | Undo:
    """A boundary without its words and its ledger."""
    if not isinstance(body, Compaction):
        return body
    return Compaction(
        "", body.first_kept, 0, 0, body.trigger, body.verdict, type(body.ledger)(), previous=body.previous
    )


def integrity(store: Store, key: str) -> list[Part]:
    """What is wrong with a session, part by part. Raises UnknownSession."""
    for _ in range(AGAIN):
        seen = _Seen(store.session(key))
        for record in store.entries(key):
            seen.take(record)
        row = store.session(key)
        if (row.entries, row.generation) == (seen.row.entries, seen.row.generation):
            break
    branch = seen.branch()
    return [_counters(seen), _order(seen), _boundaries(seen, branch), _summaries(store, seen, branch), _pairs(seen),
            _index(store, seen)]  # fmt: skip


def repair(store: Store, key: str) -> str:
    """Make what is derived from the entries anew, and say what was done. Raises UnknownSession, StoreError."""
    upto = store.reindex(key)
    return f"the search index was made anew, up to #{upto}; entries and counters are as they were"


def _counters(seen: _Seen) -> Part:
    """The row against the sums of the entries."""
    row, count = seen.row, seen.count
    undone = [body.target for body in seen.boundaries.values() if isinstance(body, Undo)]
    stand = sum(isinstance(body, Compaction) for body in seen.boundaries.values())
    stand -= sum(isinstance(seen.boundaries.get(target), Compaction) for target in undone)
    compared = (
        ("entries", row.entries, count),
        ("compactions", row.compactions, stand),
        ("tokens of the window", row.window_tokens, seen.tokens),
        ("bytes of the window", row.window_bytes, seen.size),
    )
    wrong = tuple(f"{told:,} {name} counted, {there:,} there" for name, told, there in compared if told != there)
    return Part("counters", f"{count:,} {'entry' if count == 1 else 'entries'} as counted", wrong)


def _order(seen: _Seen) -> Part:
    """Numbers without a gap, parents before their children, each branch from one root to its end."""
    wrong = [*seen.order, *seen.lost_parents]
    if seen.row.leaf is not None and seen.row.leaf not in seen.seqs:
        wrong.append(f"the session ends with {seen.row.leaf}, which is not stored")
    if seen.row.leaf is None and seen.seqs:
        wrong.append("the session has entries and no end")
    return Part("parents", "every parent is stored before its child, no number is missing", tuple(wrong))


def _boundaries(seen: _Seen, branch: list[int]) -> Part:
    """The boundary the view starts from, what it keeps, and those it took the place of."""
    wrong = list(_chain(seen))
    row, on = seen.row, set(branch)
    if row.boundary is not None and not wrong and seen.seqs.get(row.boundary) not in on:
        wrong.append(f"the view starts from {row.boundary}, which is not on the session's branch")
    if not wrong and (newest := _newest(seen, on)) != row.boundary:
        wrong.append(f"the view starts from {row.boundary}, and the newest that was not taken back is {newest}")
    if not wrong and row.start != _start(seen):
        wrong.append(f"the window starts at #{row.start}, and its boundary keeps from #{_start(seen)} on")
    count = f"{row.compactions:,} compaction{'' if row.compactions == 1 else 's'}"
    return Part("boundaries", f"{count} in one chain", tuple(wrong))


def _chain(seen: _Seen) -> Iterator[str]:
    here, passed = seen.row.boundary, set[str]()
    while here is not None:
        body = seen.boundaries.get(here)
        if not isinstance(body, Compaction | Reset) or here in passed:
            yield f"the chain of boundaries breaks at {here}"
            return
        if body.first_kept is not None and body.first_kept not in seen.seqs:
            yield f"{here} keeps from {body.first_kept} on, which is not stored"
        passed.add(here)
        here = body.previous if isinstance(body, Compaction) else None


def _newest(seen: _Seen, on: set[int]) -> str | None:
    """The newest compaction or reset of the branch that no later entry took back."""
    undone: set[str] = set()
    for name, body in reversed(seen.boundaries.items()):
        if seen.seqs[name] not in on:
            continue
        if isinstance(body, Undo):
            undone.add(body.target)
        elif name not in undone:
            return name
    return None


def _start(seen: _Seen) -> int:
    body = seen.boundaries.get(seen.row.boundary or "")
    first = body.first_kept if isinstance(body, Compaction | Reset) else None
    return seen.seqs.get(first or seen.row.boundary or "", 1)


def _summaries(store: Store, seen: _Seen, branch: list[int]) -> Part:
    """The graph: each message that left the view is in one summary, in order, and each summary's children are there."""
    spoken = [seq for seq in branch if seen.said[seq - 1]]

    def said(first: int, last: int) -> bool:
        at = bisect_left(spoken, first)
        return at < len(spoken) and spoken[at] <= last

    of = graph_of(store, seen.row)
    found = list(flaws(of, said))
    wrong = tuple(f"{flaw.node}: {flaw.detail}" if flaw.node else flaw.detail for flaw in found)
    count = len(of.summaries)
    sound = f"{count:,} in the graph, no entry lost and none covered twice" if count else "none: nothing left the view"
    return Part("summaries", sound, wrong, do="the entries are all there: search and expand reach them (clew recall)")


def _pairs(seen: _Seen) -> Part:
    """Whether each call has its result, and each result its call. A call without one is closed when it is sent."""
    left, stray = sum(map(len, seen.calls.values())), seen.stray
    wrong = []
    if left or stray:
        calls, results = f"{left:,} call{'' if left == 1 else 's'}", f"{stray:,} result{'' if stray == 1 else 's'}"
        wrong.append(f"{calls} without a result, {results} without a call")
    if seen.parted:
        wrong.append(f"the view starts between a call and its result ({seen.parted:,} of them)")
    mended = "nothing to do: each request is mended before it is sent"
    return Part("pairs", "every call has its result", tuple(wrong), mended, grave=False)


def _index(store: Store, seen: _Seen) -> Part:
    """Whether the search index knows what it says it knows: some messages are looked for by their first words."""
    key = seen.row.key
    try:
        upto, last = store.indexed(key)
        if upto > last:
            return Part("index", "", (f"search knows up to #{upto}, and the session ends with #{last}",), REPAIR)
        if not upto:
            return Part("index", "not made yet: the first search makes it")
        missed = [f"search does not find #{seq}" for seq in _sampled(seen, upto) if not _findable(store, key, seq)]
    except StoreError as error:
        return Part("index", "", (str(error),), "nothing to do for conversations; search is not there", grave=False)
    behind = f"; the next search adds #{upto + 1} to #{last}" if upto < last else ""
    return Part("index", f"in step with the entries up to #{upto}{behind}", tuple(missed), REPAIR)


def _sampled(seen: _Seen, upto: int) -> list[int]:
    """Messages from all over the session."""
    spoken = [seq for seq, said in enumerate(seen.said[:upto], 1) if said]
    step = max(1, len(spoken) // SAMPLES)
    return spoken[::-step][:SAMPLES]


def _findable(store: Store, key: str, seq: int) -> bool:
    record = next(iter(store.entries(key, after=seq - 1, limit=1)))
    phrase = tuple(terms(searchable(record.entry.body.message))[:PHRASE]) if isinstance(record.entry.body, Said) else ()
    if not phrase:
        return True
    at = record.entry.at
    wanted = Search((phrase,), every=True, since=at, until=at, before=seq + 1, limit=SAMPLES)
    found = store.search(key, wanted)
    # Of entries with one time and one beginning, the search gives a few; any of them will do.
    return any(one.record.seq == seq for one in found) or len(found) == SAMPLES
