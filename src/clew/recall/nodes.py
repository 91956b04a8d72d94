"""The graph of a session's summaries: which entries each stands for, and which summaries another one stands for.

Pure: it is made of the compactions that stand, and of the numbers their ends have in the transcript. A compaction that
names summaries of its own (the engine `lossless`) brings those; any other is a summary itself, of the entries that left
the view with it, on top of the summaries before it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal

import msgspec

from clew.transcript import Compaction, Entry, Node

Said = Callable[[int, int], bool]
"""Whether any entry from one number to another was part of the conversation."""


class Round(msgspec.Struct, frozen=True):
    """A compaction and its number in the transcript."""

    id: str
    seq: int
    at: int
    body: Compaction


class Summary(msgspec.Struct, frozen=True):
    """A node of the graph in its place."""

    id: str
    depth: int
    """0 stands for entries alone; else one more than the deepest of its children."""
    first: int | None
    last: int | None
    """Numbers of the entries it stands for; None where an end is no entry of the session. For an ordinary brief these
    left the view with it (none did where `last` is before `first`); its children stand for those before."""
    text: str
    children: tuple[str, ...]
    tokens: int
    """Of the entries it stands for; 0 where nobody counted them."""
    writer: str | None
    compaction: str
    """The id of the entry it is kept in."""
    at: int
    ordinary: bool = False
    """Whether it is a compaction's brief itself."""

    @property
    def leaf(self) -> bool:
        """Whether it stands for entries of its own, beside those of its children."""
        return self.ordinary or not self.depth


class Graph(msgspec.Struct, frozen=True, dict=True):
    """The summaries of a session, in the order they were written."""

    summaries: tuple[Summary, ...] = ()
    start: int = 1
    """The number of the first entry they have to stand for: the first one, or the first since a reset."""
    end: int = 1
    """The number of the first entry still in view as it was."""

    @cached_property
    def by_id(self) -> dict[str, Summary]:
        """The summaries by id; of two with one id, the first."""
        return {one.id: one for one in reversed(self.summaries)}

    @cached_property
    def roots(self) -> tuple[Summary, ...]:
        """Those no other stands for, oldest entries first: together they stand for all that left the view."""
        inside = {child for one in self.summaries for child in one.children}
        return tuple(sorted((one for one in self.summaries if one.id not in inside), key=lambda one: one.first or 0))

    def children(self, one: Summary) -> tuple[Summary, ...]:
        """Those a summary stands for; ids that are not there are left out."""
        return tuple(self.by_id[name] for name in one.children if name in self.by_id)

    def holding(self, seq: int) -> Summary | None:
        """The lowest summary that stands for an entry; None for one in view, and for one that none stands for."""
        at = bisect_right(self._leaves, seq, key=lambda leaf: leaf[0])
        if not at:
            return None
        _, last, one = self._leaves[at - 1]
        return one if seq <= last else None

    def reach(self, one: Summary) -> tuple[int | None, int | None]:
        """The first and last entry a summary stands for, those of its children included."""
        first, below = one.first, self.children(one)
        while below:
            first, below = below[0].first, self.children(below[0])
        return first, one.last

    @cached_property
    def _leaves(self) -> list[tuple[int, int, Summary]]:
        found = [(one.first, one.last, one) for one in self.summaries if one.leaf]
        known = [(first, last, one) for first, last, one in found if first and last and first <= last]
        return sorted(known, key=lambda leaf: leaf[:2])


class Flaw(msgspec.Struct, frozen=True):
    """Something wrong with a graph."""

    code: Literal["unknown_end", "order", "twice", "lost", "unknown_child", "two_parents", "depth", "same_id"]
    node: str
    """The summary it is about; empty where no summary stands for the entries."""
    detail: str


# The graph ------------------------------------------------------------------------------------------------------------


def standing(compactions: Iterable[tuple[int, Entry]], boundary: str | None) -> tuple[list[Round], str | None]:
    """The compactions that lead up to a session's boundary, oldest first, and what the oldest one took the place of.

    Those taken back and those before a reset are not among them. `compactions` are entries with their numbers, in any
    order; the second value is None for the session's beginning, else a reset (or an entry that is not there).
    """
    by_id = {entry.id: Round(entry.id, seq, entry.at, body) for seq, entry in compactions if (body := _brief(entry))}
    chain: list[Round] = []
    here = boundary
    while here is not None and (found := by_id.pop(here, None)) is not None:
        chain.append(found)
        here = found.body.previous
    chain.reverse()
    return chain, here


def _brief(entry: Entry) -> Compaction | None:
    return entry.body if isinstance(entry.body, Compaction) else None


def ends(rounds: Iterable[Round]) -> list[str]:
    """The ids of the entries whose numbers `graph` needs, each once."""
    found: dict[str, None] = {}
    for one in rounds:
        found |= {one.body.first_kept: None} if one.body.first_kept else {}
        for node in one.body.nodes:
            found |= {node.first: None, node.last: None}
    return list(found)


def graph(rounds: Sequence[Round], seqs: Mapping[str, int], start: int = 1) -> Graph:
    """The graph of the rounds that stand, oldest first.

    `seqs` are the numbers of the entries that `ends` names; `start` is the first entry of the window before the first
    round.
    """
    summaries: list[Summary] = []
    roots: dict[str, Summary] = {}
    here: int | None = start
    for one in rounds:
        body, kept = one.body, _window(one, seqs)
        if body.nodes:
            made = [_placed(node, one, seqs) for node in body.nodes]
        else:
            made = [_brief_of(one, here, kept, sorted(roots.values(), key=lambda root: root.first or 0))]
        for summary in made:
            roots = {name: root for name, root in roots.items() if name not in summary.children}
            roots[summary.id] = summary
        summaries += made
        here = kept if kept is not None else here
    return Graph(tuple(summaries), start, here or start)


def _window(one: Round, seqs: Mapping[str, int]) -> int | None:
    """The number of the first entry of the window after a round; None where it names one that is not there."""
    return seqs.get(one.body.first_kept) if one.body.first_kept else one.seq


def _brief_of(one: Round, first: int | None, kept: int | None, below: Sequence[Summary]) -> Summary:
    """An ordinary brief: it stands for the entries up to the first that was kept, and took in the summaries before."""
    depth, last = max((root.depth for root in below), default=-1) + 1, None if kept is None else kept - 1
    children, body = tuple(root.id for root in below), one.body
    return Summary(one.id, depth, first, last, body.summary, children, 0, body.model, one.id, one.at, ordinary=True)


def _placed(node: Node, one: Round, seqs: Mapping[str, int]) -> Summary:
    first, last = seqs.get(node.first), seqs.get(node.last)
    return Summary(node.id, node.depth, first, last, node.text, node.children, node.tokens, node.writer, one.id, one.at)


# What may be wrong with it --------------------------------------------------------------------------------------------


def flaws(of: Graph, said: Said = lambda first, last: first <= last) -> Iterator[Flaw]:
    """What is wrong with a graph: an end or a child that is not there, entries lost or covered twice, a wrong order.

    `said` tells which gaps lose something; without it every entry counts. Linear in the number of summaries.
    """
    yield from _spans(of, said)
    yield from _links(of)


def _spans(of: Graph, said: Said) -> Iterator[Flaw]:
    """Whether the leaves stand for each entry from `start` to the view once, in order."""
    expected, sound = of.start, True
    for one in (one for one in of.summaries if one.leaf):
        if one.first is None or one.last is None:
            sound = False
            yield Flaw("unknown_end", one.id, "an end of its span is no entry of the session")
            continue
        if one.last < one.first - 1 or (one.last < one.first and not one.ordinary):
            yield Flaw("order", one.id, f"its span ends at #{one.last}, before #{one.first}, where it begins")
            continue
        if one.first < expected and said(one.first, min(one.last, expected - 1)):
            yield Flaw("twice", one.id, f"{_range(one.first, min(one.last, expected - 1))} stood in an older summary")
        if one.first > expected and said(expected, one.first - 1):
            yield Flaw("lost", one.id, f"no summary stands for {_range(expected, one.first - 1)} before it")
        expected = max(expected, one.last + 1)
    if not of.summaries or not sound:
        return
    if expected < of.end and said(expected, of.end - 1):
        yield Flaw("lost", "", f"no summary stands for {_range(expected, of.end - 1)}, and the view starts behind")
    if expected > of.end and said(of.end, expected - 1):
        yield Flaw("twice", "", f"{_range(of.end, expected - 1)} are in a summary and in view")


def _links(of: Graph) -> Iterator[Flaw]:
    """Whether each child is there, was there first, has one parent, and lies where its parent says."""
    before: dict[str, Summary] = {}
    parents: dict[str, str] = {}
    for one in of.summaries:
        if one.id in before:
            yield Flaw("same_id", one.id, "two summaries have this id")
            continue
        for child in one.children:
            if child not in before:
                why = "comes after it" if child in of.by_id else "is no summary of the session"
                yield Flaw("order" if child in of.by_id else "unknown_child", one.id, f"its child {child} {why}")
            elif child in parents:
                yield Flaw("two_parents", one.id, f"its child {child} is a child of {parents[child]} as well")
            parents.setdefault(child, one.id)
        children = [before[child] for child in one.children if child in before]
        yield from _fit(of, one, children)
        before[one.id] = one


def _fit(of: Graph, one: Summary, children: Sequence[Summary]) -> Iterator[Flaw]:
    """Whether a summary lies where its children do."""
    if one.depth and not one.children and not one.ordinary:
        yield Flaw("depth", one.id, f"it has depth {one.depth} and no child")
    if children and one.depth != max(child.depth for child in children) + 1:
        yield Flaw("depth", one.id, f"it has depth {one.depth}, which is not one more than that of its children")
    for older, newer in pairwise(children):
        if older.last is not None and newer.first is not None and newer.first <= older.last and not newer.ordinary:
            yield Flaw("order", one.id, f"its child {newer.id} does not lie behind {older.id}")
    if one.ordinary or not children or len(children) < len(one.children):
        return
    if (one.first, one.last) != (of.reach(children[0])[0], children[-1].last):
        yield Flaw("order", one.id, "its span is not that of its children")


def _range(first: int, last: int) -> str:
    return f"#{first}" if first == last else f"#{first} to #{last}"
