"""The numbers in a provider's refusal: the limit, the request, and its input apart from the output asked for."""

import re

_N = r"(\d[\d,]*)"
_ASKED = rf"(?:requested|requested about|requested a total of) {_N}(?: tokens)?"

WORDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    # Sums first: they tell the input from the output.
    (rf"input length and `?max_tokens`? exceed context (?:limit|window):? (?:\(i\.?e\.? )?{_N} \+ {_N} > {_N}",
     ("input", "output", "limit")),
    (rf"context length (?:is|of) {_N} tokens\..*?{_ASKED}:? \(?{_N} (?:tokens )?(?:of text input|in the messages"
     rf"|from the input messages|in your prompt)\D*?{_N} (?:tokens )?(?:in the output|in the completion"
     rf"|for the completion)", ("limit", "requested", "input", "output")),
    (rf"context length is {_N} tokens.*?requested {_N} output tokens and your prompt contains (?:at least )?{_N}",
     ("limit", "output", "input")),
    (rf"is too large: {_N}\. .*?context length is {_N} tokens and your request has {_N} input tokens",
     ("output", "limit", "input")),
    (rf"passed {_N} input tokens and requested {_N} output tokens.*?context length is only {_N}",
     ("input", "output", "limit")),
    (rf"must be <= {_N}\. given: {_N} `?inputs`? tokens and {_N}", ("limit", "input", "output")),
    # Request and limit.
    (rf"prompt is too long: {_N}(?: tokens)?(?: >|, model maximum context length:) {_N}", ("requested", "limit")),
    (rf"prompt length is {_N} but the request contains {_N}", ("limit", "requested")),
    (rf"context length (?:is|of) {_N} tokens\..*?(?:{_ASKED}|(?:resulted in|contains|has) {_N})",
     ("limit", "requested", "requested")),
    (rf"token limit: {_N} \(requested: {_N}\)", ("limit", "requested")),
    (rf"first {_N} tokens when .*?context length of only {_N}", ("requested", "limit")),
    (rf"cannot exceed {_N} - received {_N}", ("limit", "requested")),
    (rf"prompt has {_N} tokens, but the configured context size is {_N}", ("requested", "limit")),
    (rf"prompt contains {_N} tokens.*?(?:with|length is|length of) {_N}", ("requested", "limit")),
    (rf"token count of {_N} exceeds the limit of {_N}", ("requested", "limit")),
    (rf"max(?:_completion)?_tokens:? {_N} > {_N}", ("requested", "limit")),
    (rf"max(?:_completion)?_tokens is too large: {_N}.*?at most {_N}", ("requested", "limit")),
    (rf"(?:request|prompt|input|input token count|input length|decoder prompt) \(?(?:length )?{_N}(?: tokens?)?\)?"
     rf"[^.\d]*(?:context size|context length|maximum|model limit|model length)[^.\d]*{_N}", ("requested", "limit")),
    # One of them.
    (rf"supports at most {_N} (?:completion|output) tokens", ("limit",)),
    (rf"(?:maximum context length (?:is|of)|context length (?:is|of) only|prompt length is|model'?s max(?:imum)? of"
     rf"|model token limit:?|allowed input length of) {_N}", ("limit",)),
    (rf"(?:requested|resulted in) {_N} tokens", ("requested",)),
)  # fmt: skip
"""Wordings and what their numbers mean, in order; the first that matches is believed."""

_COMPILED = tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), names) for pattern, names in WORDINGS)

_CEILING = re.compile(
    rf"(?:\btpm\b|tokens per minute)[^.\n]{{0,80}}?\blimit\D{{0,3}}{_N}[^.\n]{{0,80}}?\brequested\D{{0,3}}{_N}",
    re.IGNORECASE,
)


def numbers(text: str) -> dict[str, int]:
    """The numbers a refusal names: `limit`, `requested`, `input`, `output`, each only where it is there. In tokens."""
    for pattern, names in _COMPILED:
        if found := pattern.search(text):
            read = {name: _number(digits) for name, digits in zip(names, found.groups(), strict=True) if digits}
            if "input" in read and "output" in read:
                read.setdefault("requested", read["input"] + read["output"])
            return read
    return {}


def ceiling(text: str) -> dict[str, int] | None:
    """`limit` and `requested` of a limit on tokens per minute, or None if the refusal is about something else."""
    found = _CEILING.search(text)
    return {"limit": _number(found[1]), "requested": _number(found[2])} if found else None


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))
