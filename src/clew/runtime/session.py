"""The handle a program holds on one session: what it shows, what was wound up, and the way back to all of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from clew.clock import NewId, Now
from clew.compact.brief import is_none
from clew.errors import CallerError, UnknownEntry
from clew.prompt.assemble import SystemPrompt
from clew.prompt.fixed import Count, ToolSchema
from clew.prompt.report import Report, report
from clew.prune.mark import project
from clew.runtime.compaction import sizes_in, view_tokens
from clew.store.port import Draft, Owed, Record, SessionRow, Slice, Store
from clew.tokens import estimate
from clew.tokens.usage import CUT
from clew.transcript import (
    Compaction,
    Custom,
    Line,
    Message,
    ModelChange,
    Pin,
    PruneMark,
    Reset,
    Said,
    Undo,
    View,
    blocks_of,
    mend,
    view,
)
from clew.transcript.message import Call, Media, Text, Thinking

LONGEST_NUMBER = 18
"""Characters of an entry's number: a longer one is none, and no database takes it."""

PINNED_TOKENS = 6_000
"""Tokens all pinned messages together may take: they are in every request from then on."""

Standing = Literal["standing", "superseded", "undone"]


class Wound(msgspec.Struct, frozen=True):
    """A compaction as it stands in its session."""

    id: str
    at: int
    body: Compaction
    standing: Standing
    """`standing`: the view starts from it; `superseded`: a later one took it up; `undone`: it was taken back."""


class Thread(msgspec.Struct, frozen=True):
    """One line of a brief and the entries behind it."""

    number: int
    text: str
    sources: tuple[Record, ...]
    claims: bool
    """False for headings and blank lines, which need no support."""
    gone: int = 0
    """Entries behind it that were cut off for good."""


class Session:
    """One session of a store."""

    def __init__(self, store: Store, key: str, *, now: Now, new_id: NewId) -> None:
        self.store, self.key, self._now, self._new_id = store, key, now, new_id
        self._seen: Slice | None = None

    def row(self) -> SessionRow:
        """What is known of the session without reading it."""
        return self.store.session(self.key)

    def window(self) -> Slice:
        """The stored entries of the active window; read again only where somebody else wrote meanwhile."""
        row = self.row()
        seen = self._seen
        if seen is None or (seen.session.leaf, seen.session.generation) != (row.leaf, row.generation):
            seen = self.store.window(self.key)
        self._seen = msgspec.structs.replace(seen, session=row)
        return self._seen

    def view(self) -> View:
        """What the model may see."""
        return view(self.window().entries)

    def messages(self) -> list[Message]:
        """What to send: the view's messages, marked results shortened, each call paired with one result."""
        return mend(project(self.view()).messages())

    def append(self, *messages: Message, id: str | None = None) -> list[Record]:
        """Store messages at the end of the session; they are durable when this returns. `id` is the first one's."""
        bodies = [Said(message) for message in messages]
        drafts = [self._draft(body, estimate.message(body.message)) for body in bodies]
        if id is not None:
            drafts[0] = msgspec.structs.replace(drafts[0], id=id)
        return self._append(drafts)

    def finish(self, answer: Message, first: str, engine: str) -> list[Record]:
        """Store the answer that ends the turn which entry `first` began, with the note that `engine` is owed it."""
        draft = self._draft(Said(answer), estimate.message(answer))
        return self._append([draft], Owed(self.key, first, engine, first, draft.id, draft.at))

    def mark(self, mark: PruneMark) -> Record:
        """Show results shortened from here on. The mark is durable before the request whose bytes it changes."""
        (record,) = self._append([self._draft(mark, 0)])
        return record

    def change_model(self, change: ModelChange) -> Record:
        """Note that the session goes on with another model: what an older one reported is no measure for it."""
        (record,) = self._append([self._draft(change, 0)])
        return record

    def reset(self, reason: str = "new") -> Record:
        """Start the view afresh; the transcript keeps everything. Raises Conflict."""
        window = self.window()
        draft = self._draft(Reset(reason), 0)
        return self.store.commit(
            self.key,
            draft,
            generation=window.session.generation,
            boundary=draft.id,
            start=None,
            event="reset",
            data={"reason": reason},
        )

    def _append(self, drafts: list[Draft], owed: Owed | None = None) -> list[Record]:
        """Store drafts, and take them into the window that was read before if they follow right behind it."""
        seen, stored = self._seen, self.store.append(self.key, drafts, owed=owed)
        if seen and stored and stored[0].entry.parent == seen.session.leaf:
            row = msgspec.structs.replace(seen.session, leaf=stored[-1].entry.id)
            self._seen = msgspec.structs.replace(seen, session=row, records=(*seen.records, *stored))
        return stored

    def context(
        self,
        *,
        window: int | None = None,
        source: str = "unknown",
        count: Count | None = None,
        prompt: SystemPrompt | None = None,
        tools: Sequence[ToolSchema] = (),
    ) -> Report:
        """Who takes how much of the window; `count` counts in place of the estimator, `prompt` and `tools` are what an
        agent sends beside the conversation."""
        stored = self.window()
        shown, sizes = project(view(stored.entries)), sizes_in(stored)
        return report(shown, sizes, window=window, source=source, count=count, prompt=prompt, tools=tools)

    def compactions(self) -> list[Wound]:
        """All compactions, oldest first."""
        records = self.store.compactions(self.key)
        standing, taken_up = self.row().boundary, self._taken_up(records)
        return [
            Wound(record.entry.id, record.entry.at, body, _standing(record.entry.id, standing, taken_up))
            for record in records
            if isinstance(body := record.entry.body, Compaction)
        ]

    def _taken_up(self, records: Sequence[Record]) -> set[str]:
        """The compactions that lead up to the boundary; a reset ends the chain, and all before it stay as they were."""
        boundary = self.window().boundary
        if boundary is not None and isinstance(boundary.entry.body, Reset):
            return {record.entry.id for record in records if record.seq < boundary.seq}
        by_id = {record.entry.id: record.entry.body for record in records}
        chain: set[str] = set()
        here = boundary.entry.id if boundary else None
        while here is not None and isinstance(body := by_id.get(here), Compaction) and here not in chain:
            chain.add(here)
            here = body.previous
        return chain

    def find(self, name: str) -> Record:
        """An entry by its number (`#12`), its id or the start of it. Raises UnknownEntry, AmbiguousName."""
        if name.startswith("#") and name[1:].isdigit() and len(name) < LONGEST_NUMBER:
            number = int(name[1:])
            for record in self.store.entries(self.key, after=number - 1, limit=1):
                if record.seq == number:
                    return record
        return self.store.entry(self.key, name)

    def pin(self, name: str) -> Record:
        """Keep a message for good, by its number, id or the start of it. Raises UnknownEntry, CallerError."""
        target = self.find(name).entry
        if not isinstance(target.body, Said):
            raise UnknownEntry(f"Entry {target.id} is no message, so it cannot be pinned; nothing was changed.")
        text = pinned_text(target.body.message)
        pin = Pin(target.id, text, type(target.body.message).__name__.lower())
        size, taken = estimate.text(text), sum(estimate.text(one) for one in self.pinned().values())
        if size + taken > PINNED_TOKENS:
            raise CallerError(
                f"The message has about {size:,} tokens and {taken:,} are pinned already; together they may have "
                f"{PINNED_TOKENS:,}, since they are in every request. Nothing was changed. Pin a shorter message, or "
                "take one off with `clew pin KEY ENTRY --off`."
            )
        return self._store(pin, size)

    def unpin(self, name: str) -> Record:
        """Let a pinned message go again. Raises UnknownEntry."""
        target = self.find(name).entry
        if target.id not in self.pinned():
            raise UnknownEntry(f"Entry {target.id} is not pinned; nothing was changed.")
        return self._store(Pin(target.id, "", "", on=False), 0)

    def pinned(self) -> dict[str, str]:
        """The pinned messages, by the id of their entry."""
        shown = self.view()
        kept = {item.key: item.text for item in shown.brief.ledger.pins} if shown.brief else {}
        for entry in shown.entries:
            if isinstance(entry.body, Pin):
                kept.pop(entry.body.target, None)
                if entry.body.on:
                    kept[entry.body.target] = entry.body.text
        return kept

    def undo(self) -> tuple[str, int, int]:
        """Take the newest compaction back: the view is again what it was, with what was said since behind it.

        Returns the id of the compaction and the size of the view before and after. Raises CallerError, Conflict.
        """
        window = self.window()
        newest = window.boundary.entry if window.boundary else None
        if newest is None or not isinstance(newest.body, Compaction):
            raise CallerError(f"Session {self.key} has no compaction to undo; nothing was changed.")
        older = self._older(newest.body.previous)
        before = view_tokens(view(window.entries), sizes_in(window))
        draft = self._draft(Undo(newest.id), 0)
        self.store.commit(
            self.key,
            draft,
            generation=window.session.generation,
            boundary=older.entry.id if older else None,
            start=_first_kept(older),
            event="undo",
            data={"compaction": newest.id},
        )
        after = self.window()
        return newest.id, before, view_tokens(view(after.entries), sizes_in(after))

    def trim(self, keep: int) -> int:
        """Cut all but the newest `keep` entries off for good, and say how many went; see `Store.trim`.

        The last one of them says so: sizes that were reported before are of a longer history. What is pinned stays
        pinned beside them: its words are stored anew.
        """
        if keep >= 1 and self.row().entries <= keep:
            return 0
        again = [self._draft(pin, estimate.text(pin.text)) for pin in self._pins()]
        self._append([*again, self._draft(Custom(CUT, {"lines": keep}), 0)] if keep >= 1 else [])
        return self.store.trim(self.key, keep + len(again), at=self._now())

    def _pins(self) -> Iterator[Pin]:
        """What is pinned, as it would be pinned now."""
        pinned = self.pinned()
        roles = {pin.target: pin.role for pin in self.view().pins()}
        for name, record in self.store.entry_many(self.key, list(pinned)).items():
            if isinstance(body := record.entry.body, Said):
                roles[name] = type(body.message).__name__.lower()
        for name, text in pinned.items():
            yield Pin(name, text, roles.get(name, "user"))

    def trace(self, line: int | None = None, *, compaction: str | None = None) -> tuple[Wound, list[Thread]]:
        """The lines of a brief (of the standing one, or of the one named), or one line, each with its sources.

        Raises CallerError where there is no brief or no such line.
        """
        wound = self._wound(compaction)
        texts = wound.body.summary.split("\n")
        if line is not None and not 1 <= line <= len(texts):
            raise CallerError(f"The brief has lines 1 to {len(texts)}; there is no line {line}.")
        numbers = [line] if line is not None else list(range(1, len(texts) + 1))
        known: Mapping[int, Line] = {one.number: one for one in wound.body.lines}
        wanted = [one for number in numbers if number in known for one in known[number].sources]
        found = self.store.entry_many(self.key, list(dict.fromkeys(wanted)))
        return wound, [_thread(number, texts[number - 1], known.get(number), found) for number in numbers]

    def _wound(self, name: str | None) -> Wound:
        wounds = self.compactions()
        if name:
            wounds = [wound for wound in wounds if wound.id.startswith(name)]
        else:
            wounds = [wound for wound in wounds if wound.standing == "standing"]
        if not wounds:
            which = f"no compaction that starts with {name}" if name else "no brief"
            raise CallerError(f"Session {self.key} has {which}. `clew compact {self.key}` writes one.")
        return wounds[-1]

    def _older(self, name: str | None) -> Record | None:
        return self.store.entry(self.key, name) if name else None

    def _store(self, body: Pin, tokens: int) -> Record:
        (record,) = self._append([self._draft(body, tokens)])
        return record

    def _draft(self, body: Any, tokens: int) -> Draft:
        return Draft(self._new_id(), self._now(), body, tokens)


def _standing(name: str, standing: str | None, taken_up: set[str]) -> Standing:
    if name == standing:
        return "standing"
    return "superseded" if name in taken_up else "undone"


def _first_kept(record: Record | None) -> str | None:
    body = record.entry.body if record else None
    return body.first_kept if isinstance(body, Compaction | Reset) else None


def _thread(number: int, text: str, line: Line | None, found: Mapping[str, Record]) -> Thread:
    sources = tuple(found[one] for one in line.sources if one in found) if line else ()
    return Thread(number, text, sources, claims=claims(text), gone=len(line.sources) - len(sources) if line else 0)


def claims(line: str) -> bool:
    """Whether a line of a brief says something that needs support: headings, blanks and `None.` do not."""
    return bool(line.strip()) and not line.startswith("#") and not is_none(line)


def pinned_text(message: Message) -> str:
    """The words of a message that is pinned: what was said, called and returned, media by name."""
    parts: Sequence[str] = [_block_text(block) for block in blocks_of(message)]
    return "\n".join(part for part in parts if part)


def told(message: Message) -> str:
    """All that a message says, reasoning included: what a line of a brief may have come from."""
    thinking = [block for block in blocks_of(message) if isinstance(block, Thinking) and block.text]
    thoughts = [f"[reasoning] {block.text}" for block in thinking]
    return "\n".join([*thoughts, *filter(None, [pinned_text(message)])])


def _block_text(block: object) -> str:
    match block:
        case Text():
            return block.text
        case Call():
            return f"[call of {block.name}] {msgspec.json.encode(block.arguments).decode()}"
        case Media():
            return f"[{block.media_type}]"
        case Thinking():
            return ""
    return ""
