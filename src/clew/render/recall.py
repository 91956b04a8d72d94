"""What a search of a session's history found, and entries opened again, for a terminal and as data."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from clew.clock import iso
from clew.engine.history import Card, Described, Hit, Outline
from clew.engine.opening import Piece
from clew.recall.excerpt import Excerpt
from clew.render.layout import NARROW, Row, fact, sentence
from clew.render.text import columns, moment, number, one_line, plural, visible

MARK = "bold yellow"
"""How what was looked for looks."""
SPEAKER = 18
"""Columns for who said it, where lines stand below each other."""


class Found:
    """A hit: number, time, who said it and an excerpt on a line; on a narrow terminal the excerpt below the rest."""

    def __init__(self, hit: Hit, *, seqs: int, speakers: int) -> None:
        """`seqs` and `speakers` are the columns these take in the widest of the hits."""
        who = one_line(hit.speaker, SPEAKER)
        at = moment(hit.at)
        number = f"#{hit.seq}"
        self.words = marked(hit.excerpt)
        if hit.node:
            self.words.append(f"  ← {visible(hit.node)}", style="dim")
        self.label = Text.assemble(
            (f"{number:<{seqs + 1}}  ", "cyan"), (f"{at}  ", "dim"), f"{who}{' ' * (speakers - columns(who))}  "
        )
        self.title = Text.assemble((number, "cyan"), (f" · {at}", "dim"), f" · {who}")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One line that wraps behind its label, or two blocks where there is no room beside it."""
        if console.is_terminal and options.max_width < NARROW:
            yield self.title
            yield Row(Text("  "), self.words)
        else:
            yield Row(self.label, self.words, only_terminal=True)


def marked(of: Excerpt) -> Text:
    """An excerpt with what was looked for marked; nothing in it moves a cursor."""
    made, here = Text(), 0
    for start, end in of.marks:
        made.append(visible(of.text[here:start]))
        made.append(visible(of.text[start:end]), style=MARK)
        here = end
    return made.append(visible(of.text[here:]))


def hits(found: Sequence[Hit], key: str, *, more: bool, asked: str = "") -> Iterator[RenderableType]:
    """Hits line by line, and how to open one; where there are none, what to try."""
    if not found:
        what = f" of “{one_line(asked, 60)}”" if asked.strip() else ""
        yield sentence(
            f"Nothing{what} was found in {key}. Try fewer or other words, a part of a name, or leave out roles and "
            "times; --regex looks for a pattern."
        )
        return
    seqs = max(len(str(hit.seq)) for hit in found)
    speakers = max(columns(one_line(hit.speaker, SPEAKER)) for hit in found)
    for hit in found:
        yield Found(hit, seqs=seqs, speakers=speakers)
    more_words = " There are more: raise --limit." if more else ""
    words = f"Open one: clew recall {shlex.quote(visible(key))} --open '#{found[0].seq}'.{more_words}"
    yield Row(Text(), Text(words, style="dim"), only_terminal=True)


def heading(piece: Piece) -> Row:
    """The line above an entry that is opened."""
    about = f"--- #{piece.seq} · {moment(piece.at)} · {visible(piece.speaker)} · {piece.id}"
    return Row(Text(), Text(about, style="cyan"), only_terminal=True)


def outline(of: Outline) -> Iterator[RenderableType]:
    """The summaries at the top of a session's history."""
    yield fact("session", f"{of.key}, {plural(of.entries, 'entry', 'entries')}")
    yield fact("in view", f"#{of.view} to #{of.entries}" if of.entries >= of.view else "nothing")
    if of.start > 1:
        yield fact("reset", f"#1 to #{of.start - 1} lie before it, without a summary")
    if not of.roots:
        yield sentence("Nothing was compacted away. `clew recall KEY WORDS` searches all of it.")
    yield from cards(of.roots)


def described(of: Described) -> Iterator[RenderableType]:
    """A summary, what is below it, and its text."""
    yield from cards([of.card])
    if of.children:
        yield fact("below it", plural(len(of.children), "summary", "summaries"))
        yield from cards(of.children)
    for line in visible(of.text).split("\n"):
        yield Row(Text("     │ ", style="dim"), Text(line), again="     │ ", only_terminal=True)
    if of.offset + len(of.text) < of.whole:
        yield Text(f"     └ … {number(of.whole - of.offset - len(of.text))} more characters", style="dim")


def cards(of: Iterable[Card]) -> Iterator[RenderableType]:
    """Summaries, each with its span on one line and its first words below."""
    for card in of:
        span = f"#{card.first} to #{card.last}" if card.entries else "no entries"
        size = f" · {number(card.tokens)} tokens" if card.tokens else ""
        times = f"{moment(card.since or 0)} to {moment(card.until or 0)}"
        about = f"  {span} · {plural(card.entries, 'entry', 'entries')}{size} · {times} · by {card.writer or 'rules'}"
        yield Row(Text(), Text.assemble((visible(card.id), "cyan"), visible(about)), again="  ", only_terminal=True)
        if card.opening:
            yield Row(Text("    "), Text(one_line(card.opening, 200), style="dim"), only_terminal=True)


# As data --------------------------------------------------------------------------------------------------------------


def hits_as_data(found: Sequence[Hit], key: str, *, more: bool) -> dict[str, Any]:
    """The hits for a script: marks are pairs of characters in the excerpt."""
    listed = [
        {**msgspec.to_builtins(hit), "at": iso(hit.at), "excerpt": hit.excerpt.text, "marks": list(hit.excerpt.marks)}
        for hit in found
    ]
    return {"ok": True, "key": key, "hits": listed, "more": more}


def pieces_as_data(pieces: Iterable[Piece], key: str) -> dict[str, Any]:
    """Entries that were opened, whole."""
    entries: dict[int, dict[str, Any]] = {}
    for piece in pieces:
        new = {"id": piece.id, "seq": piece.seq, "at": iso(piece.at), "speaker": piece.speaker, "text": ""}
        entries.setdefault(piece.seq, new)["text"] += piece.text
    return {"ok": True, "key": key, "entries": list(entries.values())}


def outline_as_data(of: Outline) -> dict[str, Any]:
    """The top of a history, with the summaries there."""
    return {"ok": True, **msgspec.to_builtins(of)}


def described_as_data(of: Described, key: str) -> dict[str, Any]:
    """A summary and those below it."""
    told: dict[str, Any] = msgspec.to_builtins(of)
    return {"ok": True, "key": key, **told.pop("card"), **told}
