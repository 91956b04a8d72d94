"""A chain of models tried in order: what is worth waiting for is tried again, what is not goes to the next model.

Nothing is remembered from one call to the next: a session keeps the model it has.
"""

import asyncio
import random as chance
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from clew.errors import (
    AuthFailed,
    BadRequest,
    ClewError,
    ModelError,
    ProviderError,
    ProviderTimeout,
    Unreachable,
    WindowOverflow,
)
from clew.models.port import Model, Request
from clew.models.refusal import complaint_of, retry_after
from clew.transcript import Assistant

ATTEMPTS = 3
"""Requests to one model before the next one's turn."""

FIRST_S, LONGEST_S, JITTER = 0.5, 5.0, 0.2
"""Seconds of the first wait, doubled for each further one up to the longest, each ± this part of it."""

PATIENCE_S = 60.0
"""Seconds a provider may ask us to wait; for longer the next model is asked instead."""

LEAST_OUTPUT = 256
"""Tokens; with less room than this a shorter answer is no use."""

MAY_COST = (asyncio.CancelledError, ProviderTimeout)
"""What ends a request that was sent and not refused: whether it has to be paid, only the provider knows."""

AT_ONCE = (WindowOverflow, BadRequest)
"""Another model or another try changes nothing here: the request has to change."""

NEXT = (ProviderTimeout, Unreachable, AuthFailed)
"""The same model would fail in the same way."""


class Waiting(msgspec.Struct, frozen=True):
    """The same model is asked again after a wait."""

    model: str
    attempt: int
    """The attempt that failed, counted from 1."""
    delay_s: float
    error: ProviderError


class Shortened(msgspec.Struct, frozen=True):
    """The same model is asked again for a shorter answer: it refused the length asked for."""

    model: str
    max_output: int
    error: ProviderError


class Switched(msgspec.Struct, frozen=True):
    """The next model of the chain is asked."""

    model: str
    """The one that failed."""
    next: str
    error: ProviderError


class Lost(msgspec.Struct, frozen=True):
    """A request ended without an answer after its words began to come, or was given up: it may cost all the same."""

    model: str


Event = Waiting | Shortened | Switched | Lost
Sleep = Callable[[float], Awaitable[object]]


async def complete(
    models: Sequence[Model],
    request: Request,
    *,
    on_text: Callable[[str], None] | None = None,
    on_event: Callable[[Event], None] | None = None,
    sleep: Sleep = asyncio.sleep,
    random: Callable[[], float] = chance.random,
) -> Assistant:
    """The answer of the first model that gives one.

    Text that `on_text` was given before an event belongs to an answer that failed. `sleep` waits for seconds,
    `random` gives a number from 0 to 1. Raises the last model's error; the others' are notes on it.
    """
    if not models:
        raise ModelError("There is no model to ask; nothing was sent. Name one with --model provider/model-id.")
    tell = on_event or (lambda event: None)
    notes: list[str] = []
    for here, after in zip(models, (*models[1:], None), strict=True):
        try:
            return await _insist(here, request, on_text, tell, sleep, random)
        except ProviderError as error:
            if isinstance(error, AT_ONCE) or after is None:
                raise _noted(error, notes) from error.__cause__
            notes.append(f"{here.name}: {error}")
            tell(Switched(here.name, after.name, error))
    raise AssertionError("the last model of a chain answers or raises")


async def _insist(
    model: Model,
    request: Request,
    on_text: Callable[[str], None] | None,
    tell: Callable[[Event], None],
    sleep: Sleep,
    random: Callable[[], float],
) -> Assistant:
    """Up to ATTEMPTS requests to one model, with waits between them."""
    shortened = False
    attempt = 1
    while True:
        try:
            return await _ask(model, request, on_text, tell)
        except ProviderError as error:
            room = None if shortened else _room(error, request)
            if room is not None:
                shortened, request = True, msgspec.structs.replace(request, max_output=room)
                tell(Shortened(model.name, room, error))
                continue
            delay = delay_s(error, attempt, random())
            if delay is None or attempt == ATTEMPTS:
                raise
            tell(Waiting(model.name, attempt, delay, error))
            await sleep(delay)
            attempt += 1


async def _ask(
    model: Model, request: Request, on_text: Callable[[str], None] | None, tell: Callable[[Event], None]
) -> Assistant:
    """One request; one that gets no answer and may cost all the same is told of."""
    begun = False

    def heard(piece: str) -> None:
        nonlocal begun
        begun = True
        if on_text:
            on_text(piece)

    try:
        return await model.complete(request, on_text=heard if on_text else None)
    except (asyncio.CancelledError, ClewError) as error:
        if begun or isinstance(error, MAY_COST):
            tell(Lost(model.name))
        raise


def delay_s(error: ProviderError, attempt: int, draw: float) -> float | None:
    """Seconds to wait after the `attempt`-th failure, or None where the same model is not to be asked again.

    `draw` is a number from 0 to 1 that decides the jitter.
    """
    complaint = complaint_of(error)
    if isinstance(error, AT_ONCE + NEXT) or (complaint is not None and complaint.kind == "quota"):
        return None
    asked = retry_after(error)
    if asked is not None:
        return asked if asked <= PATIENCE_S else None
    doubled: float = min(FIRST_S * 2.0 ** (attempt - 1), LONGEST_S)
    return doubled * (1 - JITTER + 2 * JITTER * draw)


def _room(error: ProviderError, request: Request) -> int | None:
    """The output to ask for instead, where only the output asked for was too much."""
    complaint = complaint_of(error)
    if complaint is None or complaint.kind != "output_limit" or complaint.room is None:
        return None
    wanted = request.max_output
    usable = complaint.room >= LEAST_OUTPUT and (wanted is None or complaint.room < wanted)
    return complaint.room if usable else None


def _noted(error: ClewError, notes: Sequence[str]) -> ClewError:
    for note in notes:
        error.add_note(f"before it, {note}")
    return error
