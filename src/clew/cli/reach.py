"""Who is asked: the gateway that runs, or the store itself where none does, which is then said."""

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import msgspec
import typer

from clew.app import STORE_FILE, Clew
from clew.cli.options import err
from clew.client.gateway import PROBE_S, Gateway
from clew.client.place import TOKEN, Place, place
from clew.clock import now_ms
from clew.config import data_dir
from clew.errors import Conflict, NotAllowed
from clew.runtime.lane import LEASE_MS, is_dead, owner

UrlOption = Annotated[
    str | None, typer.Option("--url", help="The gateway. Default: CLEW_GATEWAY_URL, or gateway.host and port.")
]
TokenOption = Annotated[
    str | None, typer.Option("--token", help="Its token. Default: CLEW_GATEWAY_TOKEN, or gateway.auth.token.")
]
UNITS = {"": 0.001, "ms": 0.001, "s": 1.0, "m": 60.0}

Answer = TypeVar("Answer")


def seconds(text: str | None) -> float | None:
    """A time-out in seconds. Raises BadParameter."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9})(ms|s|m|)", text.strip())
    if found is None or not int(found[1]):
        raise typer.BadParameter(f"{text!r} is no time: write 30000, 30s or 5m.", param_hint="--timeout")
    return int(found[1]) * UNITS[found[2]]


def checked(text: str | None) -> str | None:
    """A time-out as it was written. Raises BadParameter."""
    seconds(text)
    return text


TimeoutOption = Annotated[
    str | None,
    typer.Option(
        "--timeout", metavar="MS", callback=checked,
        help="Milliseconds to wait (or 30s, 5m). Default: as long as it takes.",
    ),
]  # fmt: skip


class To(msgspec.Struct, frozen=True):
    """Who was meant, as it was given."""

    url: str | None = None
    token: str | None = None
    timeout: str | None = None
    store: Path | None = None

    @property
    def file(self) -> str:
        """The store that is read where no gateway is asked."""
        return str(self.store or data_dir(os.environ) / STORE_FILE)


def gateway(clew: Clew, to: To) -> Gateway:
    """The gateway that is meant, whether it answers or not."""
    where = place(clew.config, os.environ, url=to.url, token=to.token)
    return Gateway(where, timeout_s=seconds(to.timeout))


def read(clew: Clew, to: To, ask: Callable[[Gateway], Answer], own: Callable[[], Answer]) -> Answer:
    """Something to read: from the gateway, or from the store where none runs or lets nobody in."""
    where = place(clew.config, os.environ, url=to.url, token=to.token)
    if _store_meant(to) or not (where.named or runs(where)):
        if not _store_meant(to):
            _say(f"No gateway runs at {where.url}: read from {to.file}.")
        return own()
    try:
        with gateway(clew, to) as there:
            return ask(there)
    except NotAllowed:
        if where.named or to.token:
            raise
        _say(f"The gateway at {where.url} wants its token ({TOKEN}): read from {to.file}.")
    return own()


def change(clew: Clew, to: To, ask: Callable[[Gateway], Answer], own: Callable[[], Answer]) -> Answer:
    """Something to change: by the gateway, which owns the sessions, or in the store where none runs."""
    where = place(clew.config, os.environ, url=to.url, token=to.token)
    if _store_meant(to) or not (where.named or runs(where)):
        if not _store_meant(to):
            _say(f"No gateway runs at {where.url}: done in {to.file}.")
        return own()
    with gateway(clew, to) as there:
        return ask(there)


def runs(where: Place) -> bool:
    """Whether a gateway answers at a place that nobody named."""
    parts = urlsplit(where.url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=PROBE_S).close()
    except OSError:
        return False
    with Gateway(where) as there:
        return there.there()


def not_in_use(clew: Clew, key: str) -> None:
    """Raises Conflict where another process runs a turn on a session; where none does, none begins one for a while."""
    mine, now = owner("cli"), now_ms()
    holder = clew.store.claim(key, mine, now=now, until=now + LEASE_MS)
    if holder is not None and not is_dead(holder):
        raise Conflict(f"Session {key} is in use by another process; nothing was changed. Ask again when it is done.")


def _store_meant(to: To) -> bool:
    """Whether a store was named on the command line, and no gateway."""
    return to.store is not None and to.url is None and os.environ.get("CLEW_STORE") != str(to.store)


def _say(words: str) -> None:
    err.print(words, style="dim", soft_wrap=True)
