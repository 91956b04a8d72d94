"""Answers that look well and are an overflow: the window cut them off, and no error said so."""

from clew.models.port import Request
from clew.transcript import Assistant, calls_of, text_of

FULL = 0.99
"""The share of the window from which an answer of no token at all had no room."""


def silent_overflow(answer: Assistant, request: Request, window: int | None) -> bool:
    """Whether `answer` was cut off, or its request cut down, by a window of so many tokens (None: not known).

    Four marks, each by the provider's own count: more input than the window and nothing said to it (an answer to it
    shows that the window was told too small); ended by `length` with request and answer filling it; ended by `length`
    after one token where more were asked for; nothing at all in a window that is full. Without a count there is no
    mark.
    """
    usage = answer.usage
    if usage is None or answer.stop not in ("stop", "length", "tools"):
        return False
    total, output = usage.context or 0, usage.output or 0
    said = text_of(answer).strip() or next(calls_of(answer), None)
    if window and total - output > window and not said:
        return True
    if answer.stop != "length" or output >= (request.max_output or output + 1):
        return False
    if output == 1:
        return True
    return window is not None and (total >= window or (output == 0 and total >= FULL * window))
