"""The tools with which a model looks through its history: `history_search`, `history_describe`, `history_expand`."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from clew.clock import from_iso
from clew.engine.history import Card, Described, History, Hit, Hits, Outline
from clew.engine.opening import LIMIT, Next, Opened
from clew.errors import BadInput
from clew.tokens import estimate
from clew.workspace.port import Offer

MOST_HITS, MOST_CHARACTERS, LEAST_CHARACTERS = 20, 20_000, 200
"""What one call may ask for."""
PAGE_TOKENS, LEAST_TOKENS = 3_000, 300
"""Tokens of a page of opened messages: in scripts without blanks a character is a token. What results may take of a
small window is bounded by the runtime once more."""
NAMED_TOKENS = 200
"""Tokens of the names that are told with what a search found."""
CARDS = 40
"""Summaries listed at once, the newest ones."""
LINE = 160
"""Characters of a summary's first line that are shown."""
DAY_MS = 86_400_000

Role = Literal["user", "assistant", "tool"]


class HistoryTools:
    """The tools over one session. Their results are plain text, bounded, and say how to go on."""

    def __init__(self, history: History, *, tokens: int = PAGE_TOKENS) -> None:
        """`tokens` is what a page of opened messages may take, whatever number of characters is asked for."""
        self._history, self._tokens = history, max(LEAST_TOKENS, tokens)

    def offers(self) -> tuple[Offer, ...]:
        """The tools as a model is offered them. What is asked wrongly comes back as an error in words."""
        return Offer(self.history_search), Offer(self.history_describe), Offer(self.history_expand)

    def history_search(
        self,
        query: str = "",
        regex: str | None = None,
        roles: tuple[Role, ...] = (),
        since: str | None = None,
        until: str | None = None,
        limit: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10,
        cursor: str | None = None,
    ) -> str:
        """Search all of this conversation, also what was compacted away and is no longer in view. Names, paths, ids,
        error texts and words of any language are found as they were written. Each hit has a number (#12) to open it by.

        Args:
            query: Words; the more of them a message holds, the better. "In quotes": in a row. -word: must not be there.
            regex: A pattern a message has to fit as well. Without a query, the newest that fit come first.
            roles: Only messages of these.
            since: Only from this day or time on, such as 2026-11-30 or 2026-11-30T14:00 (UTC).
            until: Only up to this day or time, the day included.
            limit: How many hits at most.
            cursor: The cursor of the page before, with the same query, for more.
        """
        found = self._history.search(
            query, regex=regex, roles=roles, since=moment(since, "since"), until=moment(until, "until", end=True),
            limit=limit, cursor=cursor,
        )  # fmt: skip
        return "\n".join([*_hits(found), *self._named(query, found)])

    def _named(self, query: str, found: Hits) -> Iterator[str]:
        """A line of names that stand around what was found: with a path or a function's name the model can go on."""
        if not found.hits or not query.strip():
            return
        line = ""
        for name in self._history.named(query, "\n".join(hit.excerpt.text for hit in found.hits)):
            longer = f"{line}, {name}" if line else f"Named there too: {name}"
            if estimate.text(longer) > NAMED_TOKENS:
                break
            line = longer
        if line:
            yield line

    def history_describe(self, node: str | None = None, offset: Annotated[int, Field(ge=0)] = 0) -> str:
        """Describe the summaries that stand for compacted parts of this conversation: what they cover, when that was,
        what they say, and the summaries below them.

        Args:
            node: The id of a summary. Without it: the summaries at the top, oldest first.
            offset: The character of a long summary's text to start at.
        """
        if node is None:
            return "\n".join(_outline(self._history.outline()))
        return "\n".join(_described(self._history.describe(node, offset=offset)))

    def history_expand(
        self,
        name: str,
        to: str | None = None,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=LEAST_CHARACTERS, le=MOST_CHARACTERS)] = LIMIT,
    ) -> str:
        """Open messages of this conversation again, word for word as they were, tool calls and full results included.
        Long ones come in pages.

        Args:
            name: A message's number (#12) or id, or the id of a summary: then all messages it stands for.
            to: The last message, to open all from `name` to this one.
            offset: The character of the first message to start at.
            limit: How many characters at most.
        """
        while True:
            text = "\n".join(_opened(self._history.expand(name, to=to, offset=offset, limit=limit)))
            size = estimate.text(text)
            if size <= self._tokens or limit <= LEAST_CHARACTERS:
                return text
            limit = max(LEAST_CHARACTERS, int(0.9 * limit * self._tokens / size))


def offers(history: History, *, tokens: int = PAGE_TOKENS) -> tuple[Offer, ...]:
    """The tools over a session's history, as a model is offered them; a page takes at most so many tokens."""
    return HistoryTools(history, tokens=tokens).offers()


def moment(text: str | None, name: str, *, end: bool = False) -> int | None:
    """A day or a time as milliseconds, in UTC where it names no zone; `end` takes a day to its end.

    Raises BadInput for what is neither.
    """
    if text is None or not text.strip():
        return None
    given = text.strip()
    if (at := from_iso(given)) is None:
        raise BadInput(
            f"`{name}`: {given[:80]!r} is no day or time; nothing was searched. Write it as 2026-11-30 or "
            "2026-11-30T14:00."
        )
    return at + DAY_MS - 1 if end and len(given) <= len("2026-11-30") else at


# In words -------------------------------------------------------------------------------------------------------------


def _hits(found: Hits) -> Iterator[str]:
    for hit in found.hits:
        yield f"{_about(hit.seq, hit.at, hit.speaker)} · {_where(hit)}"
        yield f"  {hit.excerpt.text}"
    if found.hits:
        first = found.hits[0]
        start = f", offset={first.offset}" if first.offset else ""
        yield f'Open one with history_expand, such as name="#{first.seq}"{start}.'
    else:
        looked = f" in {found.looked:,} messages" if found.looked is not None else ""
        yield f"Nothing was found{looked}. Try fewer or other words, a part of a name, or no roles and times."
    if found.cursor:
        yield f'There may be more: ask again with cursor="{found.cursor}".'


def _where(hit: Hit) -> str:
    if hit.in_view:
        return "in view"
    return f"compacted into {hit.node}" if hit.node else "not in view"


def _about(seq: int, at: int, speaker: str) -> str:
    return f"#{seq} · {_time(at)} · {speaker}"


def _time(at: int | None) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M") if at else "unknown time"


def _outline(of: Outline) -> Iterator[str]:
    if not of.roots:
        yield f"Nothing of this conversation was compacted away: all of #{of.view} to #{of.entries} is in view."
    else:
        yield f"The conversation has entries #1 to #{of.entries}; from #{of.view} on they are in view as they were."
        yield from _cards(of.roots, "summary stands", "summaries stand", "for what came before, oldest first")
    if of.start > 1:
        yield f"#1 to #{of.start - 1} lie before a reset and have no summary; search and expand reach them."


def _described(of: Described) -> Iterator[str]:
    card = of.card
    yield _card(card)
    if of.children and of.own:
        yield f"Of these, #{of.own[0]} to #{of.own[1]} are summarised here first; the rest is that of what it took in:"
    elif of.children:
        yield "It stands for these summaries, oldest first:"
    yield from _listed(of.children)
    yield f"Its text{_part(of)}:"
    yield of.text
    rest = of.offset + len(of.text)
    if rest < of.whole:
        yield f'[{of.whole - rest:,} more characters: history_describe node="{card.id}", offset={rest}]'
    yield f'The messages themselves: history_expand name="{card.id}".'


def _part(of: Described) -> str:
    if not of.offset and len(of.text) == of.whole:
        return ""
    return f", characters {of.offset:,} to {of.offset + len(of.text):,} of {of.whole:,}"


def _cards(cards: Sequence[Card], one: str, many: str, what: str) -> Iterator[str]:
    yield f"{len(cards)} {one if len(cards) == 1 else many} {what}:"
    yield from _listed(cards)


def _listed(cards: Sequence[Card]) -> Iterator[str]:
    if len(cards) > CARDS:
        yield f"({len(cards) - CARDS} older ones are not listed; search finds what they hold)"
    for card in cards[-CARDS:]:
        yield f"- {_card(card)}"
        if card.opening:
            yield f"  {card.opening[:LINE]}{'…' if len(card.opening) > LINE else ''}"


def _card(card: Card) -> str:
    span = f"#{card.first} to #{card.last}, {card.entries:,} entries" if card.entries else "no entries"
    size = f", about {card.tokens:,} tokens" if card.tokens else ""
    times = f"{_time(card.since)} to {_time(card.until)}"
    return f"{card.id} (depth {card.depth}): {span}{size}, {times}; written by {card.writer or 'rules'}"


def _opened(page: Opened) -> Iterator[str]:
    for piece in page.pieces:
        whole = not piece.start and piece.end == piece.whole
        part = "" if whole else f" · characters {piece.start:,} to {piece.end:,} of {piece.whole:,}"
        yield f"--- {_about(piece.seq, piece.at, piece.speaker)} · {piece.id}{part}"
        yield piece.text
    if page.next:
        yield f"--- It goes on: history_expand {arguments(page.next)}"


def arguments(of: Next) -> str:
    """Where a page goes on, as the arguments of a call."""
    named: Iterable[tuple[str, object]] = (("name", of.name), ("to", of.to), ("offset", of.offset))
    return ", ".join(
        f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}" for name, value in named if value
    )
