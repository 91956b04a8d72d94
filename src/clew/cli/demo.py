"""`clew demo`: the shipped session compacted before one's eyes, without a key, a network or a trace left behind."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from clew.app import Clew
from clew.cli.options import out, ran, show
from clew.config import Config
from clew.demo import session_path
from clew.demo.drafts import DRAFTS, PREFIX
from clew.models.scripted import ScriptedModel
from clew.render import arrival as arrivals
from clew.render import compaction as compaction_words
from clew.render import listing
from clew.render.layout import Row
from clew.render.text import number
from clew.store.sqlite import SqliteStore

WRITER = "scripted/demo"
"""The model that plays the summariser."""

SHOWN = 40
"""Lines of the brief that are printed."""

FOLLOWED = "The webhook timeout"
"""How the line begins that is followed back: a value that was corrected on the way."""


def demo(
    store: Annotated[
        Path | None, typer.Option(help="Keep the demo's session in this store. Default: throw it away.")
    ] = None,
) -> None:
    """Compact a shipped long session: an audited brief, the ledger, what was lost, the thread back, and undo."""
    with tempfile.TemporaryDirectory(prefix="clew-demo-") as folder:
        where = store or Path(folder) / "demo.sqlite"
        model = ScriptedModel((PREFIX, *DRAFTS), name=WRITER, window=200_000)
        with Clew(SqliteStore(where), Config(), models={WRITER: model}) as clew:
            _play(clew)
        _farewell(store)


def _play(clew: Clew) -> None:
    _step("1", "A long coding session, recorded by Claude Code, comes in")
    came = clew.bring(session_path(), key=_key(clew))
    show(arrivals.arrival(came))
    show(listing.context(ran(clew, clew.context(came.key, window=200_000))))
    _step("2", "The old part is wound up; a scripted model plays the summariser, its first draft bad on purpose")
    result = ran(clew, clew.compact(came.key, model=WRITER, window=200_000))
    show(compaction_words.outcome(result, came.key))
    session = clew.session(came.key)
    _step("3", "The brief, as the model will read it")
    _, threads = session.trace()
    show(listing.threads(threads[:SHOWN]))
    more = len(threads) - SHOWN
    show(
        [
            Row(
                Text("       "),
                Text(f"… {more} more lines: asks, rules, to-dos, files, failures, identifiers, kept by rules"),
            )
        ]
    )
    _step("4", "One line followed back to where it came from")
    line = next(thread for thread in threads if thread.text.removeprefix("- ").startswith(FOLLOWED))
    show(listing.threads(session.trace(line.number)[1], quote=6))
    _step("5", "And back again: undo, then the same without any model")
    name, before, after = clew.undo(came.key)
    back = f"took {name} back: {number(before)} → {number(after)} tokens, the view is what it was"
    show([Row(Text("  "), Text(back))])
    show(compaction_words.outcome(ran(clew, clew.compact(came.key, by_rules=True, window=200_000)), came.key))


def _key(clew: Clew) -> str:
    """A key that no session has: what was done with an earlier demo stays."""
    taken, nth = {row.key for row in clew.sessions()}, 2
    if "demo" not in taken:
        return "demo"
    while f"demo-{nth}" in taken:
        nth += 1
    return f"demo-{nth}"


def _step(nth: str, words: str) -> None:
    out.print()
    show([Row(Text.assemble((f" {nth} ", "reverse"), " "), Text(words, style="bold"))])


def _farewell(store: Path | None) -> None:
    out.print()
    kept = f" (this one is kept in {store})" if store else ""
    out.print(Text.assemble(("Try it on a session of your own", "bold"), f"{kept}:"))
    out.print(
        "  .venv/bin/clew compact ~/.claude/projects/…/SESSION.jsonl\n  or any OpenAI, Anthropic, Pi, OpenClaw file"
    )
    if not store:
        out.print("Or look into this one in a browser:\n  .venv/bin/clew demo --store demo.sqlite")
    where = f"--store {store} " if store else "--store demo.sqlite "
    out.print(f"  .venv/bin/clew gateway {where}     # prints the page's address")
