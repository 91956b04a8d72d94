"""`clew sessions tail`: what happened in sessions, and what happens; nobody's words."""

import time
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec
import typer

from clew.app import Clew
from clew.cli.options import ConfigOption, StoreOption, err, opened, out
from clew.cli.reach import To, TokenOption, UrlOption, read
from clew.client.gateway import Gateway
from clew.client.stream import Back, Lost, Open, Sent, follow
from clew.gateway.answers import entry
from clew.render.happenings import Happening, line, of_entry, of_event
from clew.store.port import SessionRow

POLL_S = 1.0
"""Seconds between two looks at a store that is followed without a gateway."""

PAGE = 1_000
"""Entries a gateway gives at once."""


def tail(
    session_key: Annotated[
        str | None,
        typer.Option("--session-key", "-k", metavar="KEY", help="One session. Default: those that run, or the newest."),
    ] = None,
    last: Annotated[int, typer.Option("--tail", "-n", min=0, max=100_000, help="How many lines of the past.")] = 80,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens (in all sessions, or in KEY), until Ctrl-C.")
    ] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """Print what happened in sessions: time, what, which session, sizes. No words, arguments or results are shown."""
    with opened(store, config) as clew:
        read(
            clew, To(url, token, store=store),
            lambda there: _by_gateway(there, session_key, last, on=follow),
            lambda: _by_store(clew, session_key, last, on=follow),
        )  # fmt: skip


def _print(happenings: Iterable[Happening | None]) -> None:
    for one in happenings:
        if one is not None:
            out.print(line(one))


# By a gateway ---------------------------------------------------------------------------------------------------------


def _by_gateway(there: Gateway, key: str | None, last: int, *, on: bool) -> None:
    if not on:
        _past(_told_past(there, key, last))
        return
    if key is not None:
        there.get("/api/session", key=key)
    for one in follow(there, "/api/events", key=key):
        match one:
            case Open():
                _past(_told_past(there, key, last))
            case Lost():
                err.print(f"The connection to {there.place.url} is lost; trying again …", style="yellow")
            case Back():
                err.print("It is back.", style="green")
            case Sent():
                _print([of_event(msgspec.json.decode(one.data))])


def _told_past(there: Gateway, key: str | None, last: int) -> list[Happening]:
    """The last lines of one session; of those that run; of the newest."""
    if key is not None:
        rows = [there.get("/api/session", key=key)]
    else:
        listed = there.get("/api/sessions", limit=1_000)["sessions"]
        rows = [row for row in listed if row["running"]] or listed[:1]
    return _newest(
        (of_entry(told, row["key"]) for row in rows for told in _entries(there, row["key"], row["entries"], last)), last
    )


def _entries(there: Gateway, key: str, entries: int, last: int) -> Iterator[dict[str, Any]]:
    after: int | None = max(0, entries - last)
    while after is not None and last:
        page = there.get("/api/session/entries", key=key, after=after, limit=min(PAGE, last))
        yield from page["entries"]
        after = page["next"]


# From the store -------------------------------------------------------------------------------------------------------


def _by_store(clew: Clew, key: str | None, last: int, *, on: bool) -> None:
    rows = [clew.store.session(key)] if key is not None else clew.sessions(limit=1)
    _past(_newest((one for row in rows for one in _stored(clew, row, max(0, row.entries - last))), last))
    if not on:
        return
    seen = {row.key: row.entries for row in ([clew.store.session(key)] if key is not None else clew.sessions())}
    while True:
        time.sleep(POLL_S)
        for row in [clew.store.session(key)] if key is not None else clew.sessions():
            known = seen.get(row.key, 0)
            if row.entries != known:
                _print(_stored(clew, row, known if row.entries > known else row.entries))
                seen[row.key] = row.entries


def _stored(clew: Clew, row: SessionRow, after: int) -> Iterator[Happening]:
    for record in clew.store.entries(row.key, after=after, limit=row.entries - after):
        yield of_entry(entry(record), row.key)


# ----------------------------------------------------------------------------------------------------------------------


def _newest(happenings: Iterable[Happening], last: int) -> list[Happening]:
    return sorted(happenings, key=lambda one: one.at)[-last:] if last else []


def _past(happenings: list[Happening]) -> None:
    _print(happenings)
    if not happenings and out.is_terminal:
        err.print("Nothing has happened yet.", style="dim")
