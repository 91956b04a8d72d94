"""Where each value of a JSON5 text stands, so that one can be replaced and every comment stays.

It reads texts that a real parser has already accepted, and so checks nothing itself.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import json5
import msgspec

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)"""
    r"""|(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|(?P<mark>[{}\[\],:])"""
    r"""|(?P<word>(?:(?!//|/\*)[^\s{}\[\],:"'])+)""",
    re.DOTALL,
)


class Span(msgspec.Struct):
    """A value's place in the text, and the places of what it holds."""

    start: int
    end: int
    """Just after the value."""
    members: dict[str, "Span"] | None = None
    """What an object holds, by name; None for anything else."""
    last: int | None = None
    """Just after the last member's value or its comma; None for an empty object."""
    comma: bool = False
    """Whether a comma follows the last member."""


class _Token(msgspec.Struct):
    kind: str
    text: str
    start: int
    end: int


def spans(text: str) -> Span:
    """The outermost value of a valid JSON5 text."""
    return _value(_Reader(text))


class _Reader:
    """The tokens of a text that mean something, one ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self.ahead: _Token | None = next(self._tokens, None)

    def take(self) -> _Token:
        token = self.ahead
        if token is None:
            raise ValueError("the text ends too early")
        self.ahead = next(self._tokens, None)
        return token

    def sees(self, mark: str) -> bool:
        return self.ahead is not None and self.ahead.kind == "mark" and self.ahead.text == mark


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            yield _Token(str(match.lastgroup), match[0], match.start(), match.end())


def _value(reader: _Reader) -> Span:
    first = reader.take()
    if first.kind == "mark" and first.text == "{":
        return _object(reader, first.start)
    if first.kind == "mark" and first.text == "[":
        return _array(reader, first.start)
    return Span(first.start, first.end)


def _object(reader: _Reader, start: int) -> Span:
    members: dict[str, Span] = {}
    last, comma = None, False
    while not reader.sees("}"):
        name = reader.take()
        reader.take()  # the colon
        value = members[_name(name)] = _value(reader)
        last, comma = value.end, reader.sees(",")
        if comma:
            last = reader.take().end
    return Span(start, reader.take().end, members, last, comma)


def _array(reader: _Reader, start: int) -> Span:
    while not reader.sees("]"):
        if reader.sees(","):
            reader.take()
        else:
            _value(reader)
    return Span(start, reader.take().end)


def _name(token: _Token) -> str:
    return str(json5.loads(token.text)) if token.kind == "string" else token.text


def written(value: Any, indent: str = "") -> str:
    """A value as JSON5, its later lines indented by `indent`."""
    plain: str = json5.dumps(value, ensure_ascii=False, indent=2, quote_keys=False, trailing_commas=False)
    return plain.replace("\n", f"\n{indent}")


def quoted(name: str) -> str:
    """A name as it stands before a colon: bare where JSON5 allows it."""
    return name if re.fullmatch(r"[A-Za-z_$][\w$]*", name) else json.dumps(name, ensure_ascii=False)
