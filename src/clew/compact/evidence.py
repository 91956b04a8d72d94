"""What a brief will be held against, gathered once: the asks and their state, the identifiers, the language."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from clew.compact import identifiers
from clew.compact.audit import Evidence
from clew.compact.binding import Voices
from clew.compact.cut import Cut
from clew.compact.ledger import gather
from clew.compact.ledger_corrections import REPLACED, replaced
from clew.compact.ledger_losses import unrendered
from clew.compact.source import Source, plain
from clew.transcript import Compaction, Entry, Ledger, Message, Said, User, text_of

TOKENS_PER_IDENTIFIER = 60
"""A brief must carry over one identifier for this many tokens of its budget…"""

FEWEST, MOST = 8, 48
"""…within these bounds."""

ASK_CHARS = 2_000
"""Characters of an ask that are compared: what is longer is a paste."""

RECENT_ASKS = 40
"""Asks that a pending line is compared with."""


def settle(kept: Ledger, tail: Sequence[Entry]) -> Ledger:
    """The ledger of what is wound up, each ask in the state it has once the tail is read too."""
    states = {item.key: item.state for item in gather(tail, kept).asks}
    asks = tuple(msgspec.structs.replace(item, state=states.get(item.key, item.state)) for item in kept.asks)
    return msgspec.structs.replace(kept, asks=asks)


def collect(
    cut: Cut, previous: Compaction | None, kept: Ledger, *, strict: bool, focus: str | None, budget: int
) -> Evidence:
    """The evidence for the compaction of `cut`. `kept` is the settled ledger of what is wound up."""
    asks = sorted((item for item in kept.asks if item.state in ("open", "answered")), key=lambda item: item.at)
    newest = asks[-1] if asks else None
    answered = [item.text for item in asks if item.state == "answered"]
    verbatim = [words(entry) for entry in asked(cut.tail)]
    tail = [plain(entry) for entry in cut.tail]
    return Evidence(
        source=Source(cut.dropped, previous, extra="\n".join([*tail, focus or ""])),
        identifiers=required(kept, budget, "\n".join(tail)) if strict else (),
        ask=newest.text[:ASK_CHARS] if newest else None,
        ask_open=newest is not None and newest.state == "open",
        settled=tuple(text[:ASK_CHARS] for text in (answered[-RECENT_ASKS:] + verbatim)),
        speech="\n".join(item.text[:ASK_CHARS] for item in asks[-RECENT_ASKS:]),
        replaced=replaced(kept.identifiers),
        voices=Voices((*cut.dropped, *cut.tail), previous, kept, focus or ""),
    )


def required(kept: Ledger, budget: int, tail: str) -> tuple[str, ...]:
    """The identifiers that may not be missing: the highest ranked ones whose loss cannot be made up for.

    What the kept tail shows is not lost, wherever the brief stands.
    """
    most = max(FEWEST, min(MOST, budget // TOKENS_PER_IDENTIFIER))
    standing = [item for item in kept.identifiers if item.state != REPLACED]
    ranked = [item.key for item in standing if identifiers.strong(item.key)][: 2 * most]
    return tuple(identifiers.missing(ranked, tail)[:most])


def asked(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries in which the user asked for something: real messages with words in them."""
    for entry in entries:
        message = _message(entry)
        if isinstance(message, User) and not message.synthetic and text_of(message).strip():
            yield entry


def words(entry: Entry) -> str:
    """What an ask says, bounded."""
    message = _message(entry)
    return text_of(message).strip()[:ASK_CHARS] if message else ""


def _message(entry: Entry) -> Message | None:
    return entry.body.message if isinstance(entry.body, Said) else None


MOST_LEFT_OUT, LEFT_OUT_CHARS = 20, 160
"""Facts of a section that are named as left out, and characters of each."""


def left_out(kept: Ledger, brief: str, tail: Iterable[Entry]) -> dict[str, tuple[str, ...]]:
    """The facts of a ledger that neither brief nor tail shows, by section, the newest ones named."""
    shown = "\n".join([brief, *map(plain, tail)])
    return {
        section: tuple(" ".join(item.text.split())[:LEFT_OUT_CHARS] for item in items[-MOST_LEFT_OUT:])
        for section, items in unrendered(kept, shown).items()
    }


def losses(source: Source, brief: str, tail: Iterable[Entry], *, most: int) -> tuple[tuple[str, ...], int]:
    """The identifiers of the old view that are in neither brief nor tail: the first `most` of them, and how many."""
    shown = "\n".join([brief, *map(plain, tail)])
    present = set(identifiers.find(shown))
    strong = [one for one in source.identifiers if one not in present and identifiers.strong(one)]
    gone = identifiers.missing(strong, shown)
    return tuple(gone[:most]), len(gone)
