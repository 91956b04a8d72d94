"""What both wire formats need of a message: valid call ids, clean words, arguments, places for what cannot be sent."""

import hashlib
import json
import re
from typing import Any

import msgspec

from clew.transcript import Block, Call, Foreign, Media, Text, User, clean
from clew.transcript.codec import scrub

_NO_BRACKETS = str.maketrans("[]", "()")


class CallIds:
    """Ids a provider accepts, made from ours and the same for the same messages: valid, short, never used twice."""

    def __init__(self, *, longest: int) -> None:
        self._invalid = re.compile(rf"[^A-Za-z0-9_-]|\A\Z|.{{{longest + 1}}}", re.DOTALL)
        self._longest = longest
        self._used: set[str] = set()
        self._times: dict[str, int] = {}
        self._open: dict[str, list[str]] = {}

    def of_call(self, call: Call) -> str:
        """The id to send for a call; its result, which comes later, gets the same one."""
        again = self._times[call.id] = self._times.get(call.id, 0) + 1
        sent = self._valid(call.id if again == 1 else f"{call.id}#{again}")
        while sent in self._used:
            sent = self._valid(f"{sent}#")
        self._used.add(sent)
        self._open.setdefault(call.id, []).append(sent)
        return sent

    def of_result(self, call_id: str) -> str:
        """The id that was sent for the call a result answers."""
        waiting = self._open.get(call_id)
        return waiting.pop(0) if waiting else self._valid(call_id)

    def _valid(self, name: str) -> str:
        if not self._invalid.search(name):
            return name
        return f"call_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:24]}"


def words(text: str) -> str:
    """`text` as it can be sent: no lone surrogates, which no provider takes."""
    return text if text.isascii() else clean(text)


def texts(blocks: tuple[Block, ...]) -> str:
    """The blocks as words, with a note in the place of each thing that is not words."""
    parts = [words(block.text) if isinstance(block, Text) else note(block) for block in blocks]
    return "\n".join(part for part in parts if part)


def spoken(message: User) -> tuple[Block, ...]:
    """What a person said, with the name before it where several people share the session."""
    name = " ".join((message.sender.name or "").translate(_NO_BRACKETS).split()) if message.sender else ""
    if not name:
        return message.blocks
    first, *others = message.blocks or (Text(""),)
    if isinstance(first, Text):
        return (msgspec.structs.replace(first, text=f"[{name}] {first.text}"), *others)
    return (Text(f"[{name}]"), first, *others)


def note(block: Block) -> str:
    """What stands for a block that cannot be sent; nothing for reasoning and calls, which have their own places."""
    if isinstance(block, Media):
        return f"[{block.media_type} {block.name or 'attachment'} not shown]"
    return f"[{block.kind} not shown]" if isinstance(block, Foreign) else ""


def arguments(call: Call) -> dict[str, Any]:
    """A call's arguments as an object: what came malformed is quoted in one, so that every provider takes it."""
    given = call.arguments if call.raw is None else {"unparsed": call.raw}
    cleaned: dict[str, Any] = scrub(given)
    return cleaned


def read_arguments(raw: str) -> tuple[dict[str, Any], str | None]:
    """Arguments as a provider sent them: the object, or an empty one and the words where they are no object."""
    try:
        parsed = json.loads(raw) if raw.strip() else {}
    except ValueError:
        return {}, raw
    return (parsed, None) if isinstance(parsed, dict) else ({}, raw)


def image_url(block: Media) -> str | None:
    """An image as a URL, a data URL where we hold its bytes; None for what is no image or nowhere to be found."""
    if not block.media_type.startswith("image/"):
        return None
    return f"data:{block.media_type};base64,{block.data}" if block.data is not None else block.url
