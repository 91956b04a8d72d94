"""Whether a session's entries, its row, its graph of summaries and its search index agree with one another.

One pass over the entries (`clew.runtime.census`), and a look at what is derived from them. Nothing is changed; `repair`
makes derived data anew.
"""

from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from clew.engine.history import graph_of
from clew.errors import DamagedStore, StoreBusy, StoreError, UnknownSession
from clew.recall.message import ROLES, searchable
from clew.recall.nodes import flaws
from clew.recall.terms import terms
from clew.runtime.census import ROOT, UNREAD, Census, census
from clew.store.audit import Audited
from clew.store.port import DAMAGED, Search, SessionRow, Store
from clew.transcript import Compaction, Reset, Said, Undo

AGAIN = 3
"""How often a session is read anew that somebody writes to meanwhile."""

SAMPLES, PHRASE = 12, 6
"""Messages that are looked for in the search index, and how many of their first terms."""

ANEW = "export the session (clew export) and import it again: its order and its sums are made anew"
BACKUP = "only a backup of the store has what is missing; what is left can be found and opened (clew recall)"
CUT = (
    "nothing is lost: clew recall finds what the model is no longer shown. Where nobody went back to an earlier "
    "message there, put a backup of the store in its place"
)
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
    """Whether something is broken; False for what is mended by itself, or may be meant so."""


def integrity(store: Store, key: str) -> list[Part]:
    """What is wrong with a session, part by part. Raises UnknownSession."""
    for _ in range(AGAIN):
        seen, row = census(store, _row(store, key)), _row(store, key)
        if (row.entries, row.generation) == (seen.row.entries, seen.row.generation):
            break
    branch = seen.branch()
    return [
        *_facts(seen), _entries(seen), _columns(seen), _counters(seen), _order(seen), _branch(store, seen, branch),
        _boundaries(seen, branch), _summaries(store, seen, branch), _pairs(seen), _index(store, seen),
    ]  # fmt: skip


def repair(store: Store, key: str) -> str:
    """Make what is derived from the entries anew, and say what was done. Raises UnknownSession, StoreError."""
    upto = store.reindex(key)
    done = f"the search index was made anew, up to #{upto}" if upto else "no entry is there, and the search index empty"
    return f"{done}; entries and counters are as they were"


def facts_of(row: SessionRow) -> Part:
    """Whether the small facts of a session can be read."""
    fault = row.meta.get(DAMAGED)
    wrong = () if fault is None else (f"the facts of session {row.key} cannot be read ({fault})",)
    key = row.key.replace("'", "''")
    statement = f"UPDATE sessions SET meta = x'7b7d' WHERE key = '{key}'"
    do = (
        "its entries are there. Put a backup of the store in its place; or empty the facts (title, costs, where it was "
        f"imported from) on a copy of the store, with sqlite3: {statement}"
    )
    return Part("facts", "the facts of the session can be read", wrong, do)


def _row(store: Store, key: str) -> SessionRow:
    """The session's row, with or without its facts."""
    try:
        return store.session(key)
    except DamagedStore:
        found = next((row for row in store.sessions(prefix=key) if row.key == key), None)
        if found is None:
            raise UnknownSession(f"There is no session {key!r}; nothing was changed.") from None
        return found


def _facts(seen: Census) -> list[Part]:
    return [part for part in (facts_of(seen.row),) if part.wrong]


def _entries(seen: Census) -> Part:
    """Whether each entry can be read."""
    do = "upgrade Clew to read them; until then search and recall pass over them" if seen.newer else BACKUP
    return Part("entries", "every entry can be read", tuple(seen.unread), do)


def _columns(seen: Census) -> Part:
    """Whether what stands beside each entry, for queries, is what the entry says."""
    return Part("columns", "what is kept beside the entries agrees with them", tuple(seen.columns), _anew(seen))


def _anew(seen: Census) -> str:
    """An export needs every entry."""
    return ANEW if seen.whole else BACKUP


def _counters(seen: Census) -> Part:
    """The row against the sums of the entries."""
    row, count = seen.row, seen.count
    undone = [body.target for body in seen.boundaries.values() if isinstance(body, Undo)]
    stand = seen.compactions - sum(isinstance(seen.boundaries.get(target), Compaction) for target in undone)
    compared = (
        ("entries", row.entries, count),
        ("compactions", row.compactions, stand),
        ("tokens of the window", row.window_tokens, seen.tokens),
        ("bytes of the window", row.window_bytes, seen.size),
    )
    wrong = tuple(f"{told:,} {name} counted, {there:,} there" for name, told, there in compared if told != there)
    return Part("counters", f"{count:,} {'entry' if count == 1 else 'entries'} as counted", wrong, _anew(seen))


def _order(seen: Census) -> Part:
    """Numbers without a gap, parents before their children."""
    wrong = [*seen.order, *seen.lost_parents]
    if seen.row.leaf is not None and seen.row.leaf not in seen.places:
        wrong.append(f"the session ends with {seen.row.leaf}, which is not stored")
    if seen.row.leaf is None and seen.places:
        wrong.append("the session has entries and no end")
    return Part("parents", "every parent is stored before its child, no number is missing", tuple(wrong), _anew(seen))


def _branch(store: Store, seen: Census, branch: list[int]) -> Part:
    """Whether the active branch leads from the session's end back to its first entry, and passes over nothing said."""
    cut, numbers = list[str](), seen.numbers
    if branch and branch[0] > 0 and seen.parents[branch[0]] == ROOT and any(seen.said[: branch[0]]):
        before = _range(numbers[0], numbers[branch[0] - 1])
        cut.append(f"the branch begins with #{numbers[branch[0]]}, which follows nothing, not even {before}")
    skipped = [
        f"#{numbers[fork.child]} follows #{numbers[fork.parent]}, past "
        f"{_range(numbers[fork.passed[0]], numbers[fork.passed[-1]])}, which no other branch accounts for"
        for fork in seen.forks(branch)
    ]
    grave = bool(cut) and not _may_begin_anew(store, seen.row)
    return Part("branch", "one branch from the first entry to the last", (*cut, *skipped), CUT, grave)


def _may_begin_anew(store: Store, row: SessionRow) -> bool:
    """Whether a session may have a second beginning: it was imported or cut short, or it follows a client that begins
    again as it likes."""
    told = {"format", "openai"} & row.meta.keys()  # what imports and the gateway's OpenAI door write down
    return bool(told) or any(event.kind == "trim" for event in store.events(row.key))


def _boundaries(seen: Census, branch: list[int]) -> Part:
    """The boundary the view starts from, what it keeps, and those it took the place of."""
    wrong = list(_chain(seen))
    # A row that names a wrong boundary is made anew; a boundary that names a wrong one is not.
    broken = bool(wrong and seen.chain())
    row, on = seen.row, set(branch)
    if row.boundary is not None and not wrong and seen.places.get(row.boundary) not in on:
        wrong.append(f"the view starts from {row.boundary}, which is not on the session's branch")
    if not wrong and (newest := _newest(seen, on)) != row.boundary:
        wrong.append(f"the view starts from {row.boundary}, and the newest that was not taken back is {newest}")
    if not wrong and row.start != _start(seen):
        wrong.append(f"the window starts at #{row.start}, and its boundary keeps from #{_start(seen)} on")
    count = f"{row.compactions:,} compaction{'' if row.compactions == 1 else 's'}"
    return Part("boundaries", f"{count} in one chain", tuple(wrong), BACKUP if broken else _anew(seen))


def _chain(seen: Census) -> Iterator[str]:
    chain = seen.chain()
    for name in chain:
        body = seen.boundaries[name]
        if isinstance(body, Compaction | Reset) and body.first_kept is not None and body.first_kept not in seen.places:
            yield f"{name} keeps from {body.first_kept} on, which is not stored"
    last = seen.boundaries[chain[-1]] if chain else None
    next_ = (last.previous if isinstance(last, Compaction) else None) if chain else seen.row.boundary
    if next_ is not None:
        yield f"the chain of boundaries breaks at {next_}"


def _newest(seen: Census, on: set[int]) -> str | None:
    """The newest compaction or reset of the branch that no later entry took back."""
    undone: set[str] = set()
    for name, body in reversed(seen.boundaries.items()):
        if seen.places[name] not in on:
            continue
        if isinstance(body, Undo):
            undone.add(body.target)
        elif name not in undone:
            return name
    return None


def _start(seen: Census) -> int:
    body = seen.boundaries.get(seen.row.boundary or "")
    first = body.first_kept if isinstance(body, Compaction | Reset) else None
    return seen.number(first or seen.row.boundary) or 1


def _summaries(store: Store, seen: Census, branch: list[int]) -> Part:
    """The graph: each message that left the view is in one summary, in order, and each summary's children are there."""
    spoken = [seen.numbers[place] for place in branch if seen.said[place]]

    def said(first: int, last: int) -> bool:
        at = bisect_left(spoken, first)
        return at < len(spoken) and spoken[at] <= last

    of = graph_of(store, seen.row)
    wrong = [f"{flaw.node}: {flaw.detail}" if flaw.node else flaw.detail for flaw in flaws(of, said)]
    count, boundary = len(of.summaries), seen.row.boundary
    if boundary is not None and not count and not isinstance(seen.boundaries.get(boundary), Reset):
        wrong.append(f"no summary is found, and the view starts from {boundary}")
    sound = f"{count:,} in the graph, no entry lost and none covered twice" if count else "none: nothing left the view"
    do = "the entries are all there: search and expand reach them (clew recall)" if seen.whole else BACKUP
    return Part("summaries", sound, tuple(wrong), do)


def _pairs(seen: Census) -> Part:
    """Whether each call has its result, and each result its call. A call without one is closed when it is sent."""
    left, stray = sum(map(len, seen.calls.values())), seen.stray
    wrong = []
    if left or stray:
        wrong.append(f"{_many(left, 'call')} without a result, {_many(stray, 'result')} without a call")
    if seen.parted:
        wrong.append(f"the view starts between a call and its result ({seen.parted:,} of them)")
    mended = "nothing to do: each request is mended before it is sent"
    return Part("pairs", "every call has its result", tuple(wrong), mended, grave=False)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _range(first: int, last: int) -> str:
    return f"#{first}" if first == last else f"#{first} to #{last}"


# The search index -----------------------------------------------------------------------------------------------------


def _index(store: Store, seen: Census) -> Part:
    """Whether the search index knows what it says it knows: its messages are counted, and some are looked for."""
    key = seen.row.key
    try:
        upto, last = store.indexed(key)
        if upto > last:
            return Part("index", "", (f"search knows up to #{upto}, and the session ends with #{last}",), REPAIR)
        if not upto:
            return Part("index", "not made yet: the first search makes it")
        # Counted first: a search takes in what is new.
        wrong = [*_miscounted(store, seen)]
        wrong += [f"search does not find #{seq}" for seq in _sampled(seen, upto) if not _findable(store, key, seq)]
    except StoreBusy as error:
        return Part("index", "", (str(error),), "try again in a moment", grave=False)
    except StoreError as error:
        if error.__cause__ is not None:  # what SQLite itself complains of; a store without the means has its own words
            return Part("index", "", (f"the search index cannot be used ({error.__cause__})",), REPAIR)
        return Part("index", "", (str(error),), "nothing to do for conversations; search is not there", grave=False)
    behind = f"; the next search adds {_range(upto + 1, last)}" if upto < last else ""
    return Part("index", f"in step with the entries up to #{upto}{behind}", tuple(wrong), REPAIR)


def _miscounted(store: Store, seen: Census) -> Iterator[str]:
    """Where the index does not hold as many messages of each side as there are, or disagrees with itself."""
    if not isinstance(store, Audited):
        return
    index = store.audit_index(seen.row.key)
    yield from index.faults
    if seen.columns or index.seq > max(seen.numbers, default=0):
        return  # told of already, or stored since
    known = [mark for number, mark in zip(seen.numbers, seen.said, strict=True) if 0 < number <= index.seq]
    unread = known.count(UNREAD)
    for name in dict.fromkeys((*ROLES, *index.roles)):
        there, held = known.count(ROLES.index(name) + 1) if name in ROLES else 0, index.roles.get(name, 0)
        # One that cannot be read any more may have been taken in while it could.
        if not there <= held <= there + unread * (name in ROLES):
            yield f"search holds {held:,} messages of {name}, and there are {there:,}"


def _sampled(seen: Census, upto: int) -> list[int]:
    """Messages from all over the session."""
    marked = zip(seen.numbers, seen.said, strict=True)
    spoken = [number for number, mark in marked if 0 < mark < UNREAD and 0 < number <= upto]
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
