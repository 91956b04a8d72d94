"""A compaction that adds to a graph of summaries: what is wound up becomes a leaf, and leaves become nodes above them.

The view's brief is made of the texts at the graph's top, oldest first. So a stretch is summarised from its own words
once, by one request, and never again from a summary of a summary, until four summaries lie side by side and become one.
"""

from collections.abc import Generator, Sequence

import msgspec

from clew.compact import brief
from clew.compact.brief import ASKS, HEADINGS, TODOS, Ask
from clew.compact.cut import Cut
from clew.compact.flow import Requests, compaction
from clew.compact.job import Accepted, Failure, Job, Reply
from clew.transcript import Entry, Node, Said, user
from clew.transcript.entry import Compaction

FAN = 4
"""Nodes side by side at one depth that become one above them."""

LEAF_SHARE, NODE_SHARE = 3, 3
"""A leaf, and a node above leaves, may take a third of a brief's budget."""

OPEN = (TODOS, ASKS)
"""Sections that hold only what is so now: the newest leaf has them for the whole session."""


def weave(job: Job, roots: Sequence[Node]) -> Requests:
    """One compaction over the graph's top as it is, oldest node first: the brief, and the nodes that are new."""
    previous = _still_open(job.previous) if job.writer else None
    share = job.budget // LEAF_SHARE
    drafted = yield from compaction(
        msgspec.structs.replace(job, previous=previous, budget=share, given=None, rides=False)
    )
    if not isinstance(drafted, Accepted):
        return drafted
    leaf = _leaf(job.cut, drafted)
    made, top = [leaf], [*roots, leaf]
    while group := _due(top):
        above = yield from _above(job, group)
        if above is None:
            break
        made.append(above)
        top = [above if one is group[0] else one for one in top if one not in group[1:]]
    whole = yield from compaction(_final(job, drafted, top))
    if not isinstance(whole, Accepted):
        return whole
    attempts = (*drafted.verdict.attempts, *whole.verdict.attempts) if job.writer else whole.verdict.attempts
    verdict = msgspec.structs.replace(whole.verdict, attempts=attempts)
    return msgspec.structs.replace(whole, verdict=verdict, nodes=tuple(made), model=drafted.model)


def prose(text: str) -> str:
    """The five sections of a brief without what rules keep below them."""
    return "\n\n".join(
        f"{heading}\n{chr(10).join(lines)}" for heading in HEADINGS if (lines := brief.body(text, heading))
    )


def merged(top: Sequence[Node]) -> str:
    """The sections of all nodes as one brief, each line once; what is open is taken from the newest alone."""
    found = []
    for heading in HEADINGS:
        sources = top[-1:] if heading in OPEN else top
        lines = list(dict.fromkeys(line for node in sources for line in brief.body(node.text, heading)))
        found.append(f"{heading}\n" + ("\n".join(lines) or brief.NONE))
    return "\n\n".join(found)


def _still_open(previous: Compaction | None) -> Compaction | None:
    """The brief before, as far as a leaf has to know it: what was open then."""
    if previous is None:
        return None
    lines = [f"{heading}\n" + "\n".join(brief.body(previous.summary, heading) or [brief.NONE]) for heading in OPEN]
    return msgspec.structs.replace(previous, summary="\n\n".join(lines))


def _leaf(cut: Cut, drafted: Accepted) -> Node:
    first, last = cut.dropped[0].id, cut.dropped[-1].id
    return Node(f"n0-{first}", 0, first, last, drafted.text, tokens=cut.dropped_tokens, writer=drafted.model)


def _due(top: Sequence[Node]) -> list[Node]:
    """The oldest nodes of the lowest depth of which there are enough side by side; the newest leaf stays apart."""
    for depth in sorted({node.depth for node in top}):
        side = [node for node in top[:-1] if node.depth == depth]
        if len(side) >= FAN:
            return side[:FAN]
    return []


def _above(job: Job, group: Sequence[Node]) -> Generator[Ask, Reply | Failure, Node | None]:
    """One node over several, written from their texts; None where that did not come to anything."""
    entries = tuple(Entry(node.id, None, 0, Said(user(prose(node.text) or node.text))) for node in group)
    cut = Cut(entries, (), (), sum(job.count(node.text) for node in group), 0)
    over = msgspec.structs.replace(
        job, cut=cut, previous=None, budget=job.budget // NODE_SHARE, given=None, rides=False, recent_turns=0
    )
    done = yield from compaction(over)
    if not isinstance(done, Accepted):
        return None
    first, last = group[0].first, group[-1].last
    children, tokens = tuple(node.id for node in group), sum(node.tokens for node in group)
    depth = group[0].depth + 1
    return Node(f"n{depth}-{first}", depth, first, last, done.text, children, tokens, done.model)


def _final(job: Job, drafted: Accepted, top: Sequence[Node]) -> Job:
    """The brief of the view: the top's sections held against all that is wound up; by rules where rules wrote."""
    if job.writer is None:
        return msgspec.structs.replace(job, given=None, rides=False)
    return msgspec.structs.replace(
        job, given=merged(top), given_by=drafted.model or "ledger", writer=None, rides=False, fallback="ledger"
    )
