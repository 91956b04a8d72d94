"""What a brief will be held against, gathered once: the asks and their state, the identifiers, the language."""

from collections.abc import Iterable, Iterator, Sequence

from clew.compact import identifiers
from clew.compact.audit import Evidence
from clew.compact.cut import Cut
from clew.compact.source import Source, plain
from clew.transcript import Assistant, Call, Compaction, Entry, Ledger, Message, Said, User, text_of

TOKENS_PER_IDENTIFIER = 60
"""A brief must carry over one identifier for this many tokens of its budget…"""

FEWEST, MOST = 8, 48
"""…within these bounds."""

ASK_CHARS = 2_000
"""Characters of an ask that are compared: what is longer is a paste."""

RECENT_ASKS = 40
"""Asks that a pending line is compared with."""


def collect(
    cut: Cut, previous: Compaction | None, kept: Ledger, *, strict: bool, focus: str | None, budget: int
) -> Evidence:
    """The evidence for the compaction of `cut`. `kept` is the ledger gathered from what is wound up."""
    asks = list(asked(cut.dropped))
    tail = [plain(entry) for entry in cut.tail]
    newest = asks[-1] if asks else None
    still_open = newest is not None and not answered(newest, (*cut.dropped, *cut.tail))
    settled = asks[-RECENT_ASKS : -1 if still_open else None] + list(asked(cut.tail))
    return Evidence(
        source=Source(cut.dropped, previous, extra="\n".join([*tail, focus or ""])),
        identifiers=required(kept, budget) if strict else (),
        ask=words(newest) if newest else None,
        ask_open=still_open,
        settled=tuple(words(entry) for entry in settled),
        speech="\n".join(words(entry) for entry in asks[-RECENT_ASKS:]),
    )


def required(kept: Ledger, budget: int) -> tuple[str, ...]:
    """The identifiers that may not be missing: the highest ranked ones whose loss cannot be made up for."""
    most = max(FEWEST, min(MOST, budget // TOKENS_PER_IDENTIFIER))
    return tuple([item.text for item in kept.identifiers if identifiers.strong(item.text)][:most])


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


def answered(ask: Entry, entries: Sequence[Entry]) -> bool:
    """Whether a turn ended behind an ask: the agent spoke without calling a tool, or the user went on."""
    behind = False
    for entry in entries:
        message = _message(entry)
        if behind and ((isinstance(message, User) and not message.synthetic) or _ends_turn(message)):
            return True
        behind = behind or entry.id == ask.id
    return False


def _ends_turn(message: Message | None) -> bool:
    if not isinstance(message, Assistant) or message.stop in ("aborted", "error", "length"):
        return False
    return bool(text_of(message).strip()) and not any(isinstance(block, Call) for block in message.blocks)


def _message(entry: Entry) -> Message | None:
    return entry.body.message if isinstance(entry.body, Said) else None


def losses(source: Source, brief: str, tail: Iterable[Entry], *, most: int) -> tuple[tuple[str, ...], int]:
    """The identifiers of the old view that are in neither brief nor tail: the first `most` of them, and how many."""
    shown = "\n".join([brief, *map(plain, tail)])
    present = set(identifiers.find(shown))
    strong = [one for one in source.identifiers if one not in present and identifiers.strong(one)]
    gone = identifiers.missing(strong, shown)
    return tuple(gone[:most]), len(gone)
