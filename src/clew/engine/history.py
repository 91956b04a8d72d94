"""A session's history as one can look through it: searched, described by its summaries, opened word for word.

It reads the store and asks no model; its methods block. What it promises: whatever was compacted away is found and
opened again, and a page of it costs what the page holds, not what the session does.
"""

from collections.abc import Iterator, Sequence

import msgspec

from clew.compact import identifiers
from clew.engine import legible, opening
from clew.engine.finding import Match, find
from clew.engine.opening import LIMIT, Opened
from clew.errors import AmbiguousName, BadInput, UnknownEntry
from clew.recall.exact import speaker
from clew.recall.excerpt import Excerpt
from clew.recall.hit import Hit as Passage
from clew.recall.message import ROLES, role, searchable
from clew.recall.names import telling
from clew.recall.nodes import Graph, Summary, ends, graph, standing
from clew.recall.query import Phrase, loose, parse
from clew.store.port import Record, Search, SessionRow, Store
from clew.transcript import Compaction, Reset, Said, ToolResult, encode

COUNTED = 5_000
"""Entries whose sizes are added up for a summary that does not know its own size."""

TIMED = 8
"""Entries looked at for the time a summary begins: imports have some without one."""

TEXT = 4_000
"""Characters of a summary's text that are given at once."""

BESIDE = 80
"""Messages that are looked through for the names that stand in them."""

WINDOW = 2_000
"""Entries of a window that is read to tell side branches from what the model sees; in a longer one all counts as seen.
"""


class Hit(msgspec.Struct, frozen=True):
    """A message that was found."""

    id: str
    seq: int
    at: int
    """Milliseconds since 1970-01-01 UTC."""
    role: str
    """`user`, `assistant` or `tool`."""
    speaker: str
    """The same in words: `result of Bash`."""
    tool: str | None
    """The tool whose result it is."""
    excerpt: Excerpt
    node: str | None
    """The lowest summary that stands for it."""
    in_view: bool
    """Whether the model is shown it as it was. False with no node: before a reset, or on a side branch."""
    offset: int = 0
    """Near which character of the entry's words it was found: where `expand` may begin."""


class Hits(msgspec.Struct, frozen=True):
    """What a search found."""

    hits: tuple[Hit, ...]
    cursor: str | None
    """What to go on with; None where all of the session was looked through."""
    looked: int | None = None
    """How many messages a pattern was held against; None without one."""


class Card(msgspec.Struct, frozen=True):
    """A summary in a line."""

    id: str
    depth: int
    first: int | None
    last: int | None
    """Numbers of the entries it stands for, its children's included."""
    entries: int
    tokens: int | None
    """The size of those entries, estimated; None where it was not counted."""
    since: int | None
    until: int | None
    """When the first and the last of them were stored."""
    writer: str | None
    """`provider/model`; None for rules."""
    opening: str
    """The first line that says something."""


class Described(msgspec.Struct, frozen=True):
    """A summary and those below it."""

    card: Card
    text: str
    offset: int
    whole: int
    """The character of its text that `text` begins with, and how many there are."""
    children: tuple[Card, ...]
    own: tuple[int, int] | None
    """The entries it stands for itself, beside its children; None for none."""


class Outline(msgspec.Struct, frozen=True):
    """The top of a session's history."""

    key: str
    entries: int
    roots: tuple[Card, ...]
    """The summaries that stand for all that left the view, oldest first."""
    start: int
    """The first entry since a reset; 1 without one."""
    view: int
    """The first entry the model is shown as it was."""


class History:
    """The history of one session."""

    def __init__(self, store: Store, key: str) -> None:
        self.store, self.key = store, key
        self._known: tuple[int, str | None, Graph] | None = None

    # Search -----------------------------------------------------------------------------------------------------------

    def search(
        self,
        words: str = "",
        *,
        regex: str | None = None,
        roles: Sequence[str] = (),
        since: int | None = None,
        until: int | None = None,
        limit: int = 10,
        cursor: str | None = None,
    ) -> Hits:
        """The messages that fit best; the newest first where only a pattern, roles or times are given.

        `words` are words, `"phrases"` and `-exclusions`; `since` and `until` milliseconds, both included; `cursor` is
        that of the page before, with the same query. Raises BadInput, UnknownSession.
        """
        if unknown := [one for one in roles if one not in ROLES]:
            raise BadInput(f"There is no role {unknown[0]!r}; nothing was searched. Roles are: {', '.join(ROLES)}.")
        query = parse(words, regex=regex, roles=roles, since=since, until=until)
        found = find(self.store, self.key, query, limit=max(1, limit), cursor=cursor)
        return Hits(tuple(self._placed(found.found)), found.cursor, found.looked)

    def _placed(self, found: Sequence[Match]) -> Iterator[Hit]:
        """What was found, each with where it is now: in view, or in a summary."""
        row, of = self.store.session(self.key), self.graph()
        off_branch = self._off_branch(row) if any(one.record.seq >= row.start for one in found) else frozenset()
        for match in found:
            entry, seq, body = match.record.entry, match.record.seq, match.record.entry.body
            if not isinstance(body, Said):
                continue
            tool = body.message.tool if isinstance(body.message, ToolResult) else None
            node, in_view = of.holding(seq), seq >= row.start and entry.id not in off_branch
            yield Hit(
                entry.id, seq, entry.at, role(body.message), speaker(entry), tool, match.excerpt,
                node.id if node else None, in_view, match.offset,
            )  # fmt: skip

    def _off_branch(self, row: SessionRow) -> frozenset[str]:
        """The entries since the window's start that are on a side branch."""
        if row.entries - row.start >= WINDOW:
            return frozenset()
        try:
            shown = {record.entry.id for record in self.store.window(self.key).records}
            since = self.store.entries(self.key, after=row.start - 1)
            return frozenset(record.entry.id for record in since if record.entry.id not in shown)
        except legible.FAULTS:
            return frozenset()

    def messages(self, phrases: Sequence[Phrase], *, before: int | None = None, limit: int) -> tuple[Passage, ...]:
        """The messages that hold these phrases, the best first, whole: to tell of again."""
        wanted = tuple(phrase for phrase in phrases if phrase)
        found = self.store.search(self.key, Search(wanted, before=before, limit=limit)) if wanted else []
        said = [(one, one.record.entry.body.message) for one in found if isinstance(one.record.entry.body, Said)]
        return tuple(
            Passage(one.record.entry.id, role(message), one.record.entry.at, searchable(message), one.score)
            for one, message in said
        )

    def named(self, words: str, seen: str, *, before: int | None = None) -> list[str]:
        """The names that messages about these words hold and `seen` does not, the likeliest to be needed first."""
        return telling(words, self.messages(loose(words), before=before, limit=BESIDE), seen, identifiers.find)

    # Describe ---------------------------------------------------------------------------------------------------------

    def graph(self) -> Graph:
        """The summaries that stand, in their places."""
        row = self.store.session(self.key)
        if self._known is None or self._known[:2] != (row.generation, row.boundary):
            self._known = row.generation, row.boundary, graph_of(self.store, row)
        return self._known[2]

    def outline(self) -> Outline:
        """The summaries at the top, and what is in view."""
        row, of = self.store.session(self.key), self.graph()
        roots = tuple(self._card(of, one) for one in of.roots)
        return Outline(self.key, row.entries, roots, of.start, row.start)

    def describe(self, node: str, *, offset: int = 0) -> Described:
        """A summary: what it stands for, its children, its text from a character on. Raises UnknownEntry,
        AmbiguousName."""
        of = self.graph()
        one = self._node(of, node)
        if one is None:
            raise UnknownEntry(f"There is no summary {node!r}; nothing was changed. {_existing(of)}")
        own = (one.first, one.last) if one.leaf and one.first and one.last and one.first <= one.last else None
        start = max(0, min(offset, len(one.text)))
        children = tuple(self._card(of, child) for child in of.children(one))
        text = one.text[start : start + TEXT]
        return Described(self._card(of, one), text, start, len(one.text), children, own)

    def _card(self, of: Graph, one: Summary) -> Card:
        first, last = of.reach(one)
        entries = last - first + 1 if first and last else 0
        times = self._at(first, TIMED), self._at(last, 1)
        tokens = one.tokens or self._counted(first, entries)
        begins = opening_line(one.text)
        return Card(one.id, one.depth, first, last, entries, tokens, times[0], times[1], one.writer, begins)

    def _at(self, seq: int | None, most: int) -> int | None:
        """When an entry was stored; where that is not known, one of the `most` from there on."""
        records = self._read(seq - 1, most) if seq else ()
        return next((record.entry.at for record in records if record.entry.at), None)

    def _counted(self, first: int | None, entries: int) -> int | None:
        if first is None or not 0 < entries <= COUNTED:
            return None
        return sum(
            record.tokens
            for record in self._read(first - 1, entries)
            if not isinstance(record.entry.body, Compaction | Reset)
        )

    # Expand -----------------------------------------------------------------------------------------------------------

    def expand(self, name: str, *, to: str | None = None, offset: int = 0, limit: int = LIMIT) -> Opened:
        """The exact words of an entry, of the entries a summary stands for, or of all from one entry `to` another.

        `name` is a number (`#12`), an entry's id or a summary's, or the start of one; `offset` is a character of the
        first entry's words, `limit` about so many characters. Raises UnknownEntry, AmbiguousName, BadInput.
        """
        first, last = self._range(name)
        last = self._range(to)[1] if to else last
        if last < first:
            raise BadInput(f"{to} comes before {name}; nothing was opened. Name the older one first.")
        if offset < 0:
            raise BadInput("An offset is 0 or more; nothing was opened.")
        done = opening.page(self._read, first, last, offset=offset, limit=limit)
        if done.pieces and offset > done.pieces[0].whole:
            whole = done.pieces[0].whole
            raise BadInput(f"#{first} has {whole:,} characters; there is no character {offset:,}. Nothing was opened.")
        return done

    def raw(self, name: str) -> bytes:
        """An entry's canonical JSON, media included: the bytes that are stored. Raises UnknownEntry, AmbiguousName."""
        return encode(self._entry(name).entry)

    def _range(self, name: str) -> tuple[int, int]:
        """The first and last entry that a name stands for."""
        if not name.startswith("#"):
            of = self.graph()
            if (one := self._node(of, name)) is not None:
                first, last = of.reach(one)
                if not first or not last:
                    raise UnknownEntry(f"The entries that {one.id} stands for are not all there; nothing was opened.")
                return first, last
        seq = self._entry(name).seq
        return seq, seq

    def _node(self, of: Graph, name: str) -> Summary | None:
        if name in of.by_id:
            return of.by_id[name]
        starting = [one for one in of.by_id if name and one.startswith(name)]
        if len(starting) > 1:
            raise AmbiguousName(f"More than one summary starts with {name!r}: {', '.join(starting[:3])}. Say which.")
        return of.by_id[starting[0]] if starting else None

    def _entry(self, name: str) -> Record:
        if not name.startswith("#"):
            try:
                return self.store.entry(self.key, name)
            except UnknownEntry:
                raise UnknownEntry(
                    f"No entry and no summary has an id that starts with {name!r}; nothing was opened. Name an entry "
                    f"by its number, such as #12. {_existing(self.graph())}"
                ) from None
        last = self.store.session(self.key).entries
        number = int(name[1:]) if name[1:].isascii() and name[1:].isdigit() else 0
        if not 1 <= number <= last:
            there = f"has entries #1 to #{last}" if last else "is empty"
            raise UnknownEntry(f"Session {self.key} {there}; there is no {name}. Nothing was opened.")
        record = next(self.store.entries(self.key, after=number - 1, limit=1), None)
        if record is None or record.seq != number:
            raise UnknownEntry(
                f"Session {self.key} has lost its entry {name}; nothing was opened. `clew doctor {self.key}` says more."
            )
        return record

    def _read(self, after: int, limit: int) -> Iterator[Record]:
        return legible.entries(self.store, self.key, after, limit)


def graph_of(store: Store, row: SessionRow) -> Graph:
    """The graph of the summaries that stand in a session."""
    rounds, before = standing(((one.seq, one.entry) for one in legible.compactions(store, row.key)), row.boundary)
    if not rounds:
        return Graph((), row.start if row.boundary else 1, row.start)
    found = legible.many(store, row.key, [*ends(rounds), *([before] if before else [])])
    start = 1
    if before in found and isinstance(reset := found[before].entry.body, Reset):
        kept = legible.many(store, row.key, [reset.first_kept]) if reset.first_kept else {}
        start = kept[reset.first_kept].seq if reset.first_kept in kept else found[before].seq
    return graph(rounds, {name: record.seq for name, record in found.items()}, start)


def opening_line(text: str) -> str:
    """The first line of a summary that says something."""
    lines = (line.strip() for line in text.split("\n"))
    said = (line for line in lines if line and not line.startswith("#") and line.strip("-* .").lower() != "none")
    return next(said, "").removeprefix("- ")


def _existing(of: Graph) -> str:
    """The summaries there are, for an error."""
    if not of.summaries:
        return "The session has no summary yet: nothing of it was compacted away."
    named = [one.id for one in of.roots]
    more = f" and {len(of.summaries) - len(named[:5])} more" if len(of.summaries) > len(named[:5]) else ""
    return f"There are {', '.join(named[:5])}{more}."
