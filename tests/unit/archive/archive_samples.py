"""What the tests of import and export share: lines to read, entries to write, and any transcript at all."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from clew.store.archive import Imported, read
from clew.store.port import Record
from clew.transcript import (
    Assistant,
    Call,
    Compaction,
    Custom,
    Entry,
    Foreign,
    Ledger,
    LedgerItem,
    Media,
    Message,
    ModelChange,
    Pin,
    PruneMark,
    Reset,
    Said,
    Shell,
    Text,
    Thinking,
    ToolResult,
    Undo,
    Usage,
    User,
    Verdict,
    path,
)


def lines(*values: Any) -> bytes:
    """JSON lines."""
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def entries(done: Imported) -> list[Entry]:
    """The entries of an import."""
    return [Entry(draft.id, draft.parent, draft.at, draft.body) for draft in done.drafts]  # type: ignore[arg-type]


def main(done: Imported) -> list[Entry]:
    """The active branch of an import."""
    leaves = [draft.id for draft in done.drafts if draft.leaf]
    return path(entries(done), leaves[-1] if leaves else None)


def messages(done: Imported) -> list[Message]:
    """What was said on the active branch."""
    return [entry.body.message for entry in main(done) if isinstance(entry.body, Said)]


def bodies(data: Any, format: str = "auto") -> list[Any]:
    """The bodies of everything that was read."""
    return [entry.body for entry in entries(read(data, format))]


def records(branch: list[Entry]) -> list[Record]:
    """Entries as a store hands them out."""
    return [Record(seq, entry, seq * 3, 0) for seq, entry in enumerate(branch, 1)]


def chain(*said: Any) -> list[Entry]:
    """Bodies or messages, each the parent of the next."""
    made: list[Entry] = []
    for place, body in enumerate(said):
        parent = made[-1].id if made else None
        wrapped = Said(body) if isinstance(body, User | Assistant | ToolResult | Shell) else body
        made.append(Entry(f"e{place:04d}", parent, 1_700_000_000_000 + place, wrapped))
    return made


def brief(summary: str, first_kept: str | None = None) -> Compaction:
    """A compaction with a ledger in it."""
    ledger = Ledger(asks=(LedgerItem("a", "fix it", 3),), position=4)
    return Compaction(summary, first_kept, 100, 20, "budget", Verdict("accepted"), ledger, "anthropic/claude")


words = st.text(max_size=12)
names = st.text("abcdefgh_", min_size=1, max_size=6)
values = st.dictionaries(names, st.one_of(words, st.integers(-(2**40), 2**40), st.booleans(), st.none()), max_size=2)
text_blocks = st.builds(Text, st.text(min_size=1, max_size=12))
media_blocks = st.builds(Media, st.just("image/png"), st.just("aGk="))
calls = st.builds(Call, names, names, values)
blocks = st.one_of(text_blocks, media_blocks, st.builds(Foreign, names, values), st.builds(Thinking, words, words))
some_blocks = st.lists(blocks, max_size=3).map(tuple)
usages = st.none() | st.builds(Usage, st.integers(0, 9), st.integers(0, 9))
any_message = st.one_of(
    st.builds(User, some_blocks, synthetic=st.booleans()),
    st.builds(Assistant, st.lists(blocks | calls, max_size=3).map(tuple), st.none() | names, usages),
    st.builds(ToolResult, names, names, some_blocks, st.booleans()),
    st.builds(Shell, words, words, st.none() | st.integers(0, 3)),
)
any_body = st.one_of(
    st.builds(Said, any_message),
    st.builds(brief, words, st.none() | names),
    st.builds(PruneMark, names, st.dictionaries(names, st.just("clear"), max_size=2)),
    st.builds(Reset, names),
    st.builds(Pin, names, words, names, st.booleans()),
    st.builds(Undo, names),
    st.builds(ModelChange, names),
    st.builds(Custom, names, values),
)


@st.composite
def transcripts(draw: st.DrawFn) -> list[Entry]:
    """A tree of entries: each has any earlier one as its parent, or none."""
    made: list[Entry] = []
    for place, body in enumerate(draw(st.lists(any_body, max_size=8))):
        parent = draw(st.none() | st.sampled_from([entry.id for entry in made])) if made else None
        made.append(Entry(f"e{place}", parent, draw(st.integers(0, 2**41)), body))
    return made
