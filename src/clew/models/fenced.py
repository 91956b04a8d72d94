"""Tool calls that a small model wrote into its words: in a fence of JSON, between `<tool_call>` marks, or bare.

They count only where the name is a known tool's: an example in a fence is no call. What is cut off or no JSON stays
words. Servers read such calls themselves where a model marks them as its template says; small ones often do not.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import msgspec

from clew.clock import NewId
from clew.transcript import Assistant, Block, Call, Text

_OPENING = re.compile(r"<tool_call>\s*|```(?:json|tool_call|tool_code|tool)?[ \t]*\r?\n?\s*(?=[{\[])", re.IGNORECASE)
_CLOSING = re.compile(r"\s*(?:</tool_call>|```)?")
_BETWEEN = re.compile(r"[\s,]*")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")

_MAY_OPEN = re.compile(r"(?:\s|<(?:t(?:o(?:o(?:l(?:_(?:c(?:a(?:ll?)?)?)?)?)?)?)?)?|`{1,2}|```\w*\s*)\Z", re.IGNORECASE)
"""The end of a text that may become an opening, or be trimmed before one."""

NAMES = ("name", "tool", "tool_name")
ARGUMENTS = ("arguments", "parameters", "args", "input")
"""What models call the two parts, the usual word first."""

LONGEST = 1_000_000
"""Characters of an answer in which calls are looked for."""


class Found(NamedTuple):
    """Calls in a text, and the place they take there."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    start: int
    end: int


def fenced_calls(answer: Assistant, tools: Collection[str], fresh_id: NewId) -> Assistant:
    """`answer` with the calls in its words as calls, and its words without them.

    `tools` are the names that may be called. An answer that has calls already, or none in its words, is left as it is.
    """
    if not tools or any(isinstance(block, Call) for block in answer.blocks):
        return answer
    words: list[Block] = []
    calls: list[Block] = []
    for block in answer.blocks:
        found = list(_found(block.text, tools)) if isinstance(block, Text) else []
        calls += [Call(f"call_{fresh_id()}", name, given) for one in found for name, given in one.calls]
        rest = _without(block.text, found) if isinstance(block, Text) and found else None
        words += [block] if rest is None else [Text(rest)] if rest else []
    if not calls:
        return answer
    stop = "tools" if answer.stop in (None, "stop") else answer.stop
    return msgspec.structs.replace(answer, blocks=(*words, *calls), stop=stop)


def _found(text: str, tools: Collection[str]) -> Iterator[Found]:
    """The calls of a text, in order. One that is all of it needs no mark."""
    if text.lstrip()[:1] in ("{", "["):
        start = len(text) - len(text.lstrip())
        value, end = _json(text, start)
        if not text[end:].strip() and (calls := _calls(value, tools)):
            yield Found(calls, 0, len(text))
            return
    at = 0
    while (opening := _OPENING.search(text, at, LONGEST)) is not None:
        values, end = _values(text, opening.end())
        at = max(end, opening.end())
        calls = tuple(call for value in values for call in _calls(value, tools))
        if calls:
            closing = _CLOSING.match(text, end)
            at = closing.end() if closing else end
            yield Found(calls, opening.start(), at)


def _values(text: str, at: int) -> tuple[list[Any], int]:
    """The JSON values that stand one after another from `at`, and where they end."""
    values: list[Any] = []
    end = at
    while text[at : at + 1] in ("{", "["):
        value, after = _json(text, at)
        if after == at:
            break
        values.append(value)
        end = after
        between = _BETWEEN.match(text, after)
        at = between.end() if between else after
    return values, end


def _json(text: str, at: int) -> tuple[Any, int]:
    """The JSON value at a place and where it ends; None and the place itself where there is none.

    Line breaks in strings, commas at the end and doubled braces are forgiven: models are shown such examples.
    """
    decoder = json.JSONDecoder(strict=False)
    try:
        return decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        pass
    rest = text[at:LONGEST]
    if rest.startswith("{{"):
        inner, after = _json(text, at + 1)
        return inner, after + (text[after : after + 1] == "}") if after > at + 1 else at
    mended = _TRAILING_COMMA.sub(r"\1", rest)
    try:
        value, length = decoder.raw_decode(mended)
    except (ValueError, RecursionError):
        return None, at
    # What stands behind the value in both texts is the same, counted from the end.
    behind = mended[length:]
    return value, (at + len(rest) - len(behind)) if rest.endswith(behind) else at


def _calls(value: Any, tools: Collection[str]) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The calls a JSON value stands for; none where one thing in it is no call of a known tool."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    if isinstance(value, list):
        read = [_call(one, tools) for one in value]
        return tuple(one for one in read if one) if all(read) else ()
    one = _call(value, tools)
    return (one,) if one else ()


def _call(value: Any, tools: Collection[str]) -> tuple[str, dict[str, Any]] | None:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        return None
    name = next((value[word] for word in NAMES if isinstance(value.get(word), str)), None)
    given = next((value[word] for word in ARGUMENTS if word in value), None)
    if isinstance(given, str):
        try:
            given = json.loads(given, strict=False)
        except ValueError:
            return None
    return (name, given) if isinstance(name, str) and name in tools and isinstance(given, dict) else None


def _without(text: str, found: list[Found]) -> str:
    at, kept = 0, []
    for one in found:
        kept.append(text[at : one.start])
        at = one.end
    return "".join([*kept, text[at:]]).rstrip()


class Curtain:
    """Streamed words, held back from where a call may begin until it is known whether it is one.

    What is passed on is always the beginning of the answer's words, whatever becomes of the rest.
    """

    def __init__(self) -> None:
        self._text = ""
        self._passed = 0
        self._held = False

    def take(self, piece: str) -> str:
        """Take a piece in; gives the words that can be shown now."""
        self._text += piece
        if self._held:
            return ""
        if not self._passed and self._text.lstrip()[:1] in ("", "{", "["):
            return ""
        opening = _OPENING.search(self._text, self._passed)
        self._held = opening is not None
        upto = opening.start() if opening else len(self._text)
        while upto > self._passed and (may := _MAY_OPEN.search(self._text, self._passed, upto)):
            upto = may.start()
        return self._pass(self._text, upto)

    def rest(self, words: str) -> str:
        """What has not been shown of the answer's words, as they turned out."""
        return self._pass(words, len(words))

    def _pass(self, text: str, upto: int) -> str:
        shown, self._passed = text[self._passed : upto], max(self._passed, upto)
        return shown
