"""The facts that must survive, read from entries by rules: no model, no clock, the same ledger for the same entries.

A ledger is merged by key from one compaction to the next: the newest value of a key wins, counts add up, and what an
earlier round knew is still there in a later one, within the caps of `ledger_shelf`.
"""

import hashlib
import re
from collections.abc import Sequence

from clew.compact import ledger_corrections, ledger_decisions, ledger_failures, ledger_words, rules, toolcalls
from clew.compact.identifiers import find, values
from clew.compact.ledger_asks import NOTICE, Asks
from clew.compact.ledger_layout import Rendered
from clew.compact.ledger_losses import unrendered
from clew.compact.ledger_paths import essential
from clew.compact.ledger_plain import ends, uncoloured
from clew.compact.ledger_render import render
from clew.compact.ledger_shelf import Shelf, stored
from clew.transcript import (
    Assistant,
    Call,
    Compaction,
    Entry,
    Ledger,
    Pin,
    Said,
    Shell,
    Text,
    ToolResult,
    User,
    text_of,
)

__all__ = ["Rendered", "gather", "render", "unrendered"]

READ = 400_000
"""Characters of one result, argument or answer that are read for names: half from its head, half from its tail."""
AIMED = 300
"""Characters up to which an argument is thought to be about the names in it."""
COMMAND = 300
"""Characters of a failed command that are kept."""

_CREATED = re.compile(r"#(\w+)")


def gather(entries: Sequence[Entry], previous: Ledger | None = None) -> Ledger:
    """The ledger of `entries`, oldest first, on top of what `previous` knew of the entries before them."""
    reader = _Reader(previous or Ledger())
    for entry in entries:
        reader.read(entry)
    return reader.ledger()


class _Reader:
    """Reads one entry after the other into the shelves of a ledger."""

    def __init__(self, known: Ledger) -> None:
        self.at = known.position
        self.source = ""
        self.shelves = {section: Shelf(getattr(known, section)) for section in SECTIONS}
        self.asks = Asks(self.shelves["asks"])
        self.calls: dict[str, Call] = {}

    def ledger(self) -> Ledger:
        self.asks.close()
        kept = {name: stored(name, shelf.items.values(), self.at) for name, shelf in self.shelves.items()}
        return Ledger(**kept, position=self.at)

    def read(self, entry: Entry) -> None:
        self.source = entry.id
        match entry.body:
            case Said(User() as message):
                self._user(message)
            case Said(Assistant() as message):
                self._assistant(message)
            case Said(ToolResult() as message):
                self._result(message)
            case Said(Shell() as message):
                self._shell(message)
            case Pin() as pin:
                self._pin(pin)
            case Compaction() as brief if not brief.ledger.position:
                self._names(brief.summary, "said")
        self.at += 1

    def _put(self, section: str, key: str, text: str, state: str = "") -> None:
        self.shelves[section].put(key, uncoloured(text), self.at, self.source, state)

    def _user(self, message: User) -> None:
        words = uncoloured(ledger_words.asked(text_of(message)))
        self._names(words, "seen" if message.synthetic or words.startswith(NOTICE) else "asked")
        if message.synthetic or not words:
            return
        if words.startswith(NOTICE):
            self.asks.noticed(_digest(words), words, self.at, self.source)
            return
        self.asks.said(_digest(words), words, self.at, self.source)
        for rule in rules.stated(words):
            self._put("rules", _digest(rule), rule)
        for sentence in rules.lifting(words):
            self._lift(sentence)
        self._corrected(words)

    def _corrected(self, words: str) -> None:
        """A value that another took the place of stays in the ledger, so that it is known to be old."""
        for old, new in ledger_corrections.corrections(words):
            self.shelves["identifiers"].replace(old, new, self.at, self.source)

    def _lift(self, sentence: str) -> None:
        """A rule the user took back stays in the ledger, so that it is known to be gone."""
        standing = [item for item in self.shelves["rules"].items.values() if item.state != "lifted"]
        for at in rules.lifted(sentence, [item.text for item in standing]):
            self._put("rules", standing[at].key, standing[at].text, "lifted")

    def _assistant(self, message: Assistant) -> None:
        words, called = text_of(message), False
        for block in message.blocks:
            if isinstance(block, Call):
                called = True
                self._call(block)
            elif isinstance(block, Text):
                self._names(block.text, "said")
        for decision in ledger_decisions.decisions(ends(words, READ)):
            self._decision(decision)
        self._corrected(words)
        if boxed := toolcalls.boxes(words):
            self._list(boxed, written=True)
        if called:
            self.asks.works()
        elif words.strip() and message.stop in (None, "stop"):
            self.asks.answers()

    def _decision(self, decision: ledger_decisions.Decision) -> None:
        """The newest one on a topic holds; a cause found is about what was asked last."""
        topic = decision.topic
        if topic in ledger_decisions.ABOUT_THE_ASK:
            topic += self.asks.newest()
        self._put("decisions", _digest(topic or decision.text), decision.text)

    def _call(self, call: Call) -> None:
        self.calls[call.id] = call
        self._arguments(call)
        for effect in toolcalls.effects(call):
            self._file(effect)
        if (listed := toolcalls.tasks(call)) is not None:
            self._list(listed)
        elif one := toolcalls.task(call):
            self._task(one)

    def _file(self, effect: toolcalls.Effect) -> None:
        path = effect.path.removeprefix("./")
        known = self.shelves["files"].items.get(path)
        state = effect.kind
        if known and state == "read":
            state = known.state
        elif known and state == "created" and known.state in ("read", "edited"):
            state = "edited"
        elif known and state == "edited" and known.state == "created":
            state = "created"
        self._put("files", path, path, state)

    def _list(self, listed: list[toolcalls.Task], *, written: bool = False) -> None:
        """A new list takes the place of the one before: what it does not name any more is gone.

        One that is `written` in an answer does so only where it repeats half of what is open: else it is another list.
        """
        shelf, keys = self.shelves["todos"], {_digest(one.text) for one in listed}
        live = [
            key
            for key, item in shelf.items.items()
            if not key.startswith("#") and item.state in ("open", "active")
        ]  # fmt: skip
        for key in live if not written or 2 * len(keys.intersection(live)) >= len(live) else ():
            if key not in keys:
                shelf.mark(key, "gone")
        for one in listed:
            self._put("todos", _digest(one.text), one.text, one.state)

    def _task(self, one: toolcalls.Task) -> None:
        key = f"#{one.key}" if one.key else _digest(one.text)
        known = self.shelves["todos"].items.get(key)
        text = one.text or (known.text if known else key)
        self._put("todos", key, text, one.state or (known.state if known else "open"))

    def _result(self, message: ToolResult) -> None:
        text = text_of(message)
        self._names(text, "seen")
        self.asks.works()
        if (call := self.calls.pop(message.call_id, None)) is None:
            return
        self._outcome(call, message, text)
        if (one := toolcalls.task(call)) and not one.key and (given := _CREATED.search(text)):
            self.shelves["todos"].items.pop(_digest(one.text), None)
            self._put("todos", f"#{given[1]}", one.text, one.state)
        for decision in ledger_decisions.choices(call, text):
            self._decision(decision)

    def _outcome(self, call: Call, message: ToolResult, text: str) -> None:
        tried = toolcalls.command(call) or " ".join([call.name, *toolcalls.paths(call), toolcalls.pattern(call) or ""])
        failed = ledger_failures.failed(message)
        self._tried(tried, text, failed, stopped=ledger_failures.refused(message))
        for decision in () if failed else ledger_decisions.commits(toolcalls.command(call) or ""):
            self._decision(decision)

    def _tried(self, tried: str, text: str, failed: bool, *, stopped: bool = False) -> None:
        short = ledger_words.ends(" ".join(tried.split()), COMMAND)
        key = _digest(short)
        if failed:
            why = "stopped by the user" if stopped else ledger_failures.error_line(text)
            self._put("failures", key, f"{short} → {why}", "refused" if stopped else "failed")
        else:
            self.shelves["failures"].mark(key, "fixed")

    def _shell(self, message: Shell) -> None:
        self._names(message.command, "asked")
        self._names(message.output, "seen")
        self._tried(message.command, message.output, bool(message.exit_code))

    def _pin(self, pin: Pin) -> None:
        if pin.on:
            self._put("pins", pin.target, pin.text, pin.role)
        else:
            self.shelves["pins"].items.pop(pin.target, None)

    def _arguments(self, call: Call) -> None:
        """Names in a short argument were aimed at; in a long one, a file's new content say, they came along."""
        texts = [call.raw] if call.raw is not None else list(values(call.arguments))
        for text in texts:
            self._names(text, "aimed" if len(text) <= AIMED else "used")

    def _names(self, text: str, state: str) -> None:
        shelf = self.shelves["identifiers"]
        for name in dict.fromkeys(part for found in find(ends(text, READ)) for part in essential(found)):
            shelf.count(name, self.at, self.source, state)


SECTIONS = ("asks", "rules", "pins", "identifiers", "files", "todos", "failures", "decisions")


def _digest(text: str) -> str:
    """The key of a fact that has no name: equal words have equal keys, whatever their blanks and their case."""
    return hashlib.blake2b(" ".join(text.lower().split()).encode(errors="replace"), digest_size=6).hexdigest()
