"""The one place where a compaction's requests meet a model: each request is sent, each failure becomes a code."""

from collections.abc import Callable, Sequence

import msgspec

from clew.compact.brief import Ask
from clew.compact.flow import Requests
from clew.compact.job import Accepted, Failure, Refused, Reply
from clew.errors import (
    AuthFailed,
    BadRequest,
    ModelError,
    ProviderError,
    ProviderTimeout,
    RateLimited,
    Unreachable,
    WindowOverflow,
)
from clew.models.failover import Event, Lost, Switched, complete
from clew.models.port import Model, Request
from clew.transcript import Assistant, text_of, user

CODES: tuple[tuple[type[ProviderError] | type[ModelError], str], ...] = (
    (WindowOverflow, "overflow"),
    (ProviderTimeout, "timeout"),
    (AuthFailed, "auth"),
    (RateLimited, "rate_limit"),
    (Unreachable, "unreachable"),
    (BadRequest, "bad_request"),
    (ProviderError, "provider"),
    (ModelError, "empty"),
)
"""The code a compaction knows each error by; the first that fits counts."""


class Progress(msgspec.Struct, frozen=True):
    """How far a compaction is."""

    ask: Ask
    """The request under way: its stage, part of parts, attempt of attempts."""
    chars: int = 0
    """Characters of the answer that have arrived."""
    model: str = ""


OnAnswer = Callable[[Assistant], None]


async def drive(
    requests: Requests,
    chain: Sequence[Model],
    *,
    timeout_s: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    base: Request | None = None,
    on_answer: OnAnswer | None = None,
) -> Accepted | Refused:
    """Run a compaction against the first model of `chain` that answers each request, and return its verdict.

    `base` is the conversation's own request, which those requests extend that ride on it. `timeout_s` bounds each
    single request, in seconds. `on_answer` is given each answer as it came, for the account; one without words and
    report for a request that was cut off or cancelled. Cancelling the task cancels the compaction: nothing was written.
    """
    try:
        ask = next(requests)
        while True:
            ask = requests.send(await _answer(ask, chain, timeout_s, on_progress, base, on_answer))
    except StopIteration as finished:
        verdict: Accepted | Refused = finished.value
        return verdict
    finally:
        requests.close()


async def _answer(
    ask: Ask,
    chain: Sequence[Model],
    timeout_s: float | None,
    on_progress: Callable[[Progress], None] | None,
    base: Request | None,
    on_answer: OnAnswer | None,
) -> Reply | Failure:
    """One request's answer, or why there is none."""
    now = Progress(ask, 0, chain[0].name if chain else "")

    def show(step: Progress) -> None:
        nonlocal now
        now = step
        if on_progress:
            on_progress(step)

    def on_text(piece: str) -> None:
        show(msgspec.structs.replace(now, chars=now.chars + len(piece)))

    def on_event(event: Event) -> None:
        if isinstance(event, Lost):
            if on_answer:
                on_answer(Assistant((), model=event.model))
            return
        show(Progress(ask, 0, event.next if isinstance(event, Switched) else event.model))

    show(now)
    request = _request(ask, base, timeout_s)
    try:
        answer = await complete(chain, request, on_text=on_text if on_progress else None, on_event=on_event)
    except (ProviderError, ModelError) as error:
        return Failure(next(code for kind, code in CODES if isinstance(error, kind)), str(error))
    if on_answer:
        on_answer(answer)
    return Reply(text_of(answer), cut_off=answer.stop == "length")


def _request(ask: Ask, base: Request | None, timeout_s: float | None) -> Request:
    """What is sent: the prompt alone, or behind the conversation's own messages, prompt and tools."""
    if ask.rides and base is not None:
        messages = (*base.messages, user(ask.prompt, synthetic=True))
        own = msgspec.structs.replace(base, messages=messages, max_output=ask.max_output)
        return msgspec.structs.replace(own, timeout_s=timeout_s, purpose="compaction")
    return Request(
        (user(ask.prompt),),
        ask.system,
        max_output=ask.max_output,
        temperature=0.0,
        timeout_s=timeout_s,
        purpose="compaction",
    )
