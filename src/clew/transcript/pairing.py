"""Which result answers which call: groups that may not be parted, and the mending of a list about to be sent."""

from collections.abc import Iterable, Iterator, Sequence

from clew.transcript.message import Assistant, Call, Message, Text, ToolResult, calls_of

UNANSWERED = "No result was recorded for this call."
"""What stands in for a result that never came."""


def groups(messages: Sequence[Message]) -> list[range]:
    """The messages as runs that stay together: one message, or an assistant's calls through their last result.

    Messages between a call and its result belong to the run. A call that is never answered holds nothing together,
    and a result whose call is not there stands alone. Linear in the number of messages.
    """
    last_answer: dict[int, int] = {}
    open_calls: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        for call in calls_of(message):
            open_calls.setdefault(call.id, []).append(index)
        if isinstance(message, ToolResult) and open_calls.get(message.call_id):
            last_answer[open_calls[message.call_id].pop(0)] = index
    runs, start, end = [], 0, 0
    for index in range(len(messages)):
        if index > end:
            runs.append(range(start, end + 1))
            start = end = index
        end = max(end, last_answer.get(index, index))
    if messages:
        runs.append(range(start, end + 1))
    return runs


def mend(messages: Iterable[Message]) -> list[Message]:
    """A list that every provider accepts as to pairs: each call answered once, right after it, and nothing else.

    A call without a result gets an error result, a result without its call is dropped, a second result for the same
    call is dropped, and results move up to their calls. Mending twice is mending once.
    """
    listed = list(messages)
    answers = _answers(listed)
    mended: list[Message] = []
    for index, message in enumerate(listed):
        if isinstance(message, ToolResult):
            continue
        mended.append(message)
        mended.extend(answers.get((index, nth)) or _missing(call) for nth, call in enumerate(calls_of(message)))
    return mended


def _answers(messages: Sequence[Message]) -> dict[tuple[int, int], ToolResult]:
    """The first result for each call, by the call's message and its place in it; ids may be used again later."""
    waiting: dict[str, list[tuple[int, int]]] = {}
    found: dict[tuple[int, int], ToolResult] = {}
    for index, message in enumerate(messages):
        for nth, call in enumerate(calls_of(message)):
            waiting.setdefault(call.id, []).append((index, nth))
        if isinstance(message, ToolResult) and waiting.get(message.call_id):
            found[waiting[message.call_id].pop(0)] = message
    return found


def _missing(call: Call) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(UNANSWERED),), error=True)


def dangling(messages: Iterable[Message]) -> Iterator[Call]:
    """The calls that have no result."""
    listed = list(messages)
    answers = _answers(listed)
    for index, message in enumerate(listed):
        if isinstance(message, Assistant):
            yield from (call for nth, call in enumerate(calls_of(message)) if (index, nth) not in answers)
