"""Conversations by what was said in them: each message as a digest, and a history as a chain of digests.

Equal chains are equal histories, whatever the client changed in writing them down again: blanks around a text, the
spelling of arguments, fields that say nothing. The system prompt and the names of tools are no part of it. Knows no
store and no HTTP.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from clew.store.archive.harness import is_synthetic
from clew.store.port import Record
from clew.transcript import (
    Assistant,
    Block,
    Body,
    Call,
    Compaction,
    Foreign,
    Media,
    Message,
    Reset,
    Said,
    Shell,
    Text,
    Thinking,
    ToolResult,
    Undo,
    User,
    clean,
)
from clew.transcript.codec import scrub

DIGITS = 32
"""Hexadecimal digits of a digest: 128 bits, which no two histories share by chance."""


class Link(msgspec.Struct, frozen=True):
    """One message of a history that a session holds."""

    whole: str
    """The digest of the history up to it."""
    alone: str
    """Its own digest."""
    entry: str
    parent: str | None
    seq: int
    message: Message


class Chain(msgspec.Struct):
    """The history that a session holds: its active branch from the first message on."""

    seed: str
    links: list[Link] = []
    leaf: str | None = None
    """The entry it was read up to."""
    boundary: int = 0
    """The `seq` of the newest compaction, reset or undo on the branch; 0 for none."""

    def follow(self, records: Iterable[Record]) -> None:
        """Take in what follows, in order."""
        for record in records:
            self.leaf, body = record.entry.id, record.entry.body
            if isinstance(body, Compaction | Reset | Undo):
                self.boundary = record.seq
            elif isinstance(body, Said) and is_told(body):
                alone = digest(body.message)
                entry, before = record.entry, self.links[-1].whole if self.links else self.seed
                self.links.append(Link(joined(before, alone), alone, entry.id, entry.parent, record.seq, body.message))


class Given(msgspec.Struct, frozen=True):
    """A history as a client sent it."""

    seed: str
    messages: tuple[Message, ...]
    alone: tuple[str, ...]
    whole: tuple[str, ...]

    @classmethod
    def of(cls, messages: Sequence[Message], seed: str) -> "Given":
        """The history with its digests."""
        alone, whole, here = tuple(map(digest, messages)), [], seed
        for one in alone:
            whole.append(here := joined(here, one))
        return cls(seed, tuple(messages), alone, tuple(whole))


class Place(msgspec.Struct, frozen=True):
    """Where a history goes on in a session that holds a part of it."""

    how: str
    """`new`, `extended`, `again` (another answer, or another last message) or `afresh` (the view begins anew)."""
    fresh: int
    """The first message that the session does not hold."""
    back_to: str | msgspec.UnsetType | None = msgspec.UNSET
    """The entry that it follows, where that is not the session's last."""


def common(chain: Chain, given: Given) -> int:
    """How many messages both begin with."""
    pairs = enumerate(zip(chain.links, given.whole, strict=False))
    return next((nth for nth, (link, whole) in pairs if link.whole != whole), min(len(chain.links), len(given.whole)))


def place(chain: Chain, given: Given) -> Place:
    """Where a history goes on in this session.

    It extends what is there; or it begins in the middle of it (a client that sends only its newest messages); or all of
    it is new and nothing in it was answered (one that sends only what is new); or it turns back to a point behind the
    newest compaction; else the view begins anew with all of it.
    """
    links, shared = chain.links, common(chain, given)
    if shared == len(links):
        return Place("extended" if links else "new", shared)
    if (overlap := _overlap(chain, given)) > shared:
        return Place("extended", overlap)
    if shared == 0 and not any(isinstance(one, Assistant) for one in given.messages):
        return Place("extended", 0)
    if links[shared].seq > chain.boundary:
        return Place("again", shared, links[shared].parent)
    return Place("afresh", 0)


def leaves_an_answer(chain: Chain, given: Given) -> bool:
    """Whether a history differs from the session's in no more than the last answer: it is asked for again, was not
    kept, or never arrived.

    A first message that was answered begins a new conversation, unless the answer was broken off.
    """
    shared = common(chain, given)
    if shared != len(chain.links) - 1 or chain.links[-1].seq <= chain.boundary:
        return False
    last = chain.links[-1].message
    return isinstance(last, Assistant) and (shared > 1 or (shared == 1 and last.stop == "aborted"))


def _overlap(chain: Chain, given: Given) -> int:
    """The most messages that end the one and begin the other."""
    known = [link.alone for link in chain.links]
    lengths = range(min(len(known), len(given.alone)), 0, -1)
    return next((n for n in lengths if known[-n] == given.alone[0] and known[-n:] == list(given.alone[:n])), 0)


def seed(agent: str, user: str = "") -> str:
    """What the chains of one agent begin with; those of a client that names its users, for each user."""
    return _hash(["clew", agent, user])


def joined(before: str, alone: str) -> str:
    """The digest of a history and one message more."""
    return _hash([before, alone])


def is_told(body: Body) -> bool:
    """Whether a client knows of an entry: no shell command, and nothing a context engine put there."""
    if not isinstance(body, Said) or isinstance(body.message, Shell):
        return False
    message = body.message
    return not (isinstance(message, User) and message.synthetic and not is_synthetic(message.blocks))


def digest(message: Message) -> str:
    """A message as a digest of what matters in it."""
    match message:
        case User():
            return _hash(["user", message.sender.id if message.sender else "", _parts(message.blocks)])
        case ToolResult():
            return _hash(["tool", message.call_id, _parts(message.blocks)])
        case Assistant():
            calls = [_call(one) for one in message.blocks if isinstance(one, Call)]
            return _hash(["assistant", _parts(message.blocks), calls])
    return _hash(["shell", message.command, message.output])


def _parts(blocks: Iterable[Block]) -> list[Any]:
    """Words in one piece, then what is no words; reasoning is not sent back by clients, so it does not count."""
    words = "".join(clean(block.text) for block in blocks if isinstance(block, Text)).strip()
    return [words, *(_other(block) for block in blocks if not isinstance(block, Text | Call | Thinking))]


def _other(block: Block) -> list[Any]:
    if isinstance(block, Media):
        return ["media", block.media_type, block.data or block.url]
    return ["foreign", block.kind, block.data] if isinstance(block, Foreign) else []


def _call(call: Call) -> list[Any]:
    return [call.id, call.name, call.arguments if call.raw is None else call.raw.strip()]


def _hash(value: list[Any]) -> str:
    try:
        data = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:
        data = msgspec.json.encode(scrub(value), order="sorted")
    return hashlib.sha256(data).hexdigest()[:DIGITS]
