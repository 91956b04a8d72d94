"""Server-sent events, also beyond a lost connection: a gateway that comes back is listened to again.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from clew.client.gateway import Gateway
from clew.errors import GatewayError, NotAllowed

QUIET_S = 45.0
"""Seconds without a line, of which a gateway sends one at least every 15 s, after which a connection counts as lost."""

WAITS_S = (0.5, 1.0, 2.0, 3.0, 5.0)
"""Seconds before each new try; the last one from then on."""


class Sent(msgspec.Struct, frozen=True):
    """One event."""

    id: str
    event: str
    data: str


class Open(msgspec.Struct, frozen=True):
    """The connection stands."""


class Lost(msgspec.Struct, frozen=True):
    """The connection is lost."""


class Back(msgspec.Struct, frozen=True):
    """The connection stands again, to the same gateway or the one after it."""


def read(lines: Iterable[str]) -> Iterator[Sent]:
    """The events in a stream of lines."""
    id, event, data = "", "message", list[str]()
    for line in lines:
        if not line:
            if data:
                yield Sent(id, event, "\n".join(data))
            event, data = "message", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "id":
                id = value
            case "event":
                event = value
            case "data":
                data.append(value)


def follow(
    gateway: Gateway, path: str, *, sleep: Callable[[float], None] = time.sleep, **query: Any
) -> Iterator[Sent | Open | Lost | Back]:
    """Events as they come, for good. A lost connection is told, tried again, and told once it is back.

    The first connection has to stand: what goes wrong then is raised. So is what a gateway that is there refuses.
    """
    last, opened, lost, tries = "", False, False, 0
    while True:
        try:
            heads = {"last-event-id": last} if last else {}
            with gateway.lines(path, heads=heads, quiet_s=QUIET_S, **query) as lines:
                yield Back() if opened else Open()
                opened, lost, tries = True, False, 0
                for sent in read(lines):
                    last = sent.id or last
                    yield sent
        except NotAllowed:
            raise
        except GatewayError:
            if not opened:
                raise
        if not lost:
            yield Lost()
        lost = True
        sleep(WAITS_S[min(tries, len(WAITS_S) - 1)])
        tries += 1
