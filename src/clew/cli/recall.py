"""`clew recall`: what was said long ago, found by its words and opened as it was."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from clew.cli.options import ConfigOption, JsonOption, StoreOption, err, opened, out, show, show_json
from clew.engine.history import History, Hit
from clew.engine.history_tools import moment
from clew.engine.opening import Opened
from clew.errors import StoreBusy, StoreError
from clew.recall.message import ROLES
from clew.render import recall as render
from clew.render.text import visible

INDEXED = 5_000
"""Entries not indexed yet from which on the wait is announced: about a second."""


PAGE = 100_000
"""Characters printed at once."""


def recall(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The session's key; `clew sessions` lists them.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORDS]", help="What to look for: words, '\"a phrase\"'. Without it: the summaries."),
    ] = None,
    regex: Annotated[str | None, typer.Option(metavar="PATTERN", help="A pattern the message has to fit.")] = None,
    role: Annotated[
        list[str] | None, typer.Option(metavar="user|assistant|tool", help="Only these; may be given again.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only from then on: 2026-11-30, 2026-11-30T14:00 (UTC).")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only up to then, the day or moment included.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many hits.")] = 10,
    open_: Annotated[
        str | None,
        typer.Option("--open", metavar="ENTRY", help="Print an entry (#12 or an id), or all a summary stands for."),
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="ENTRY", help="With --open: up to this entry.")] = None,
    describe: Annotated[str | None, typer.Option(metavar="ID", help="Show a summary, and those below it.")] = None,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Search all of a session, also what was compacted away, and open it again word for word."""
    asked = " ".join(words or ())
    times = moment(since, "--since"), moment(until, "--until", end=True)
    _one_of(asked=bool(asked or regex or role or since or until), open_=open_, describe=describe, to=to)
    with opened(store, config) as clew:
        clew.store.session(key)
        history = History(clew.store, key)
        if open_ is not None:
            _open(history, open_, to, json=json)
        elif describe is not None:
            found = history.describe(describe)
            show_json(render.described_as_data(found, key)) if json else show(render.described(found))
        elif asked or regex or role or since or until:
            _announce(history, quiet=json)
            roles = tuple(_role(one) for one in role or ())
            hits, more = _found(history, asked, limit, regex=regex, roles=roles, since=times[0], until=times[1])
            if json:
                show_json(render.hits_as_data(hits, key, more=more))
            else:
                show(render.hits(hits, key, more=more, asked=asked))
        else:
            top = history.outline()
            show_json(render.outline_as_data(top)) if json else show(render.outline(top))


def _one_of(*, asked: bool, open_: str | None, describe: str | None, to: str | None) -> None:
    """Whether one thing is asked for. Raises BadParameter."""
    if to is not None and open_ is None:
        raise typer.BadParameter("--to wants --open with the first entry.", param_hint="--to")
    if asked + (open_ is not None) + (describe is not None) > 1:
        raise typer.BadParameter("Search, --open or --describe: one at a time.", param_hint="KEY")


def _role(name: str) -> str:
    if name not in ROLES:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(ROLES)}.", param_hint="--role")
    return name


def _announce(history: History, *, quiet: bool) -> None:
    """Say that the first search of a long session takes a while."""
    upto, last = history.store.indexed(history.key)
    if last - upto >= INDEXED and not quiet:
        err.print(f"Making {last - upto:,} entries ready for search; this is done once …")


def _found(
    history: History, asked: str, limit: int, *, regex: str | None, roles: tuple[str, ...], since: int | None,
    until: int | None,
) -> tuple[list[Hit], bool]:  # fmt: skip
    """As many hits as were asked for, and whether there may be more; here nobody has to be spared a long look."""
    found: list[Hit] = []
    cursor = None
    while True:
        try:
            page = history.search(
                asked, regex=regex, roles=roles, since=since, until=until, limit=limit - len(found), cursor=cursor
            )
        except StoreBusy:
            raise
        except StoreError as error:
            also = f"Where it is the search index alone, `clew doctor {history.key} --repair` makes it anew."
            raise type(error)(f"{error} {also}") from error
        found += page.hits
        if (cursor := page.cursor) is None or len(found) >= limit:
            return found, cursor is not None


def _open(history: History, name: str, to: str | None, *, json: bool) -> None:
    """Print entries as they were: one alone in a pipe without anything else, on a terminal below a heading."""
    pages = _pages(history, name, to)
    if json:
        show_json(render.pieces_as_data((piece for page in pages for piece in page.pieces), history.key))
        return
    several: bool | None = None
    for page in pages:
        several = page.last > page.first if several is None else several
        for piece in page.pieces:
            headed = several or out.is_terminal
            if not piece.start and headed:
                show([render.heading(piece)])
            _write(piece.text)
            if piece.end == piece.whole and headed and not piece.text.endswith("\n"):
                _write("\n")


def _write(text: str) -> None:
    """Words as they are; on a terminal without what would act on it."""
    if out.is_terminal:
        out.print(Text(visible(text)), end="")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()


def _pages(history: History, name: str, to: str | None) -> Iterator[Opened]:
    offset = 0
    while True:
        page = history.expand(name, to=to, offset=offset, limit=PAGE)
        yield page
        if page.next is None:
            return
        name, to, offset = page.next.name, page.next.to, page.next.offset
