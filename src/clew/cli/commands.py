"""The commands over sessions and their compactions."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from clew.app import Clew
from clew.cli import (
    agent,
    chat,
    config_commands,
    cost,
    demo,
    doctor,
    logs,
    mcp,
    models_commands,
    outbox,
    recall,
    sessions_commands,
    status,
)
from clew.cli import gateway as gateway_command
from clew.cli.files import existing, new, write
from clew.cli.group import Commands, Numbers
from clew.cli.options import (
    ConfigOption,
    FormatOption,
    JsonOption,
    ModelOption,
    StoreOption,
    WindowOption,
    err,
    opened,
    out,
    ran,
    show,
    show_json,
)
from clew.cli.progress import shown
from clew.clock import now_ms
from clew.compact.outcome import Declined
from clew.errors import BadInput, UnknownEntry, UnknownSession
from clew.render import arrival as arrivals
from clew.render import as_json, listing
from clew.render import compaction as compaction_words
from clew.render.layout import sentence
from clew.render.text import number, one_line
from clew.render.treemap import Map
from clew.render.treemap_png import png as map_as_png
from clew.render.treemap_svg import svg as map_as_svg
from clew.runtime.arrival import Arrival
from clew.runtime.session import Session
from clew.store.port import Record

app = typer.Typer(
    name="clew",
    cls=Commands,
    help="Keep a long conversation with a language model inside its window, and the thread back to all of it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(config_commands.app, name="config")
app.add_typer(models_commands.app, name="models")
app.add_typer(sessions_commands.app, name="sessions")
app.command(name="chat")(chat.chat)
app.command(name="agent")(agent.agent)
app.command(name="status")(status.status)
app.command(name="cost")(cost.cost)
app.command(name="recall")(recall.recall)
app.command(name="gateway")(gateway_command.gateway)
app.command(name="outbox")(outbox.outbox)
app.command(name="mcp")(mcp.mcp)
app.command(name="logs")(logs.logs)
app.command(name="doctor")(doctor.doctor)
app.command(name="demo")(demo.demo)

QUOTED = 40
"""Lines of an entry that `clew trace KEY LINE` quotes."""


def _named(key: str) -> str:
    """A key that was given, and not an empty word."""
    if not key.strip():
        raise BadInput("The key is empty; nothing was changed. `clew sessions` lists the keys.")
    return key


def _new_key(key: str | None) -> str | None:
    """A key that people can read and type."""
    if key is not None and (not key.strip() or one_line(key, 10_000) != key):
        raise BadInput(
            "A key is one line of visible characters, with no blank at its ends; nothing was changed. "
            "Give another one with --as, or none: then it is made from the file."
        )
    return key


KeyArgument = Annotated[
    str, typer.Argument(metavar="KEY", help="The session's key; `clew sessions` lists them.", callback=_named)
]


@app.command(name="import")
def import_(
    file: Annotated[Path, typer.Argument(help="The file with the conversation.")],
    key: Annotated[str | None, typer.Option("--as", help="The key to store it under.", callback=_new_key)] = None,
    format: FormatOption = "auto",
    index: Annotated[int, typer.Option(min=0, help="Which session of a file that holds several, from 0.")] = 0,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Bring a conversation into the store: Claude Code, OpenClaw, Pi, Codex, OpenAI, Anthropic, or Clew's own."""
    with opened(store, config) as clew:
        came = clew.bring(existing(file), key=key, format=format, index=index)
        show_json(as_json.arrival(came)) if json else show(arrivals.arrival(came))


@app.command()
def context(
    key: KeyArgument,
    what: Annotated[str, typer.Argument(metavar="[list|detail|map|json]", help="How much to show.")] = "list",
    window: WindowOption = None,
    exact: Annotated[
        str | None,
        typer.Option(help="Count instead of estimating: o200k, cl100k, llama3, qwen3 (pip install 'clew[exact]')."),
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="With map: write it as a picture to a new file.")] = None,
    png: Annotated[Path | None, typer.Option(help="With map: the same in PNG.")] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show who takes how much of a session's window."""
    if what not in ("list", "detail", "map", "json"):
        raise typer.BadParameter(f"{what} is none of list, detail, map, json.", param_hint="[list|detail|map|json]")
    pictures = {new(path): draw for path, draw in ((svg, map_as_svg), (png, map_as_png)) if path}
    if pictures and what != "map":
        raise typer.BadParameter(f"{what} draws no picture; write `map`.", param_hint="--svg, --png")
    with opened(store, config) as clew:
        report = ran(clew, clew.context(key, window=window, exact=exact))
        if what == "json":
            show_json(as_json.context(report))
            return
        show([Map(report)] if what == "map" else listing.context(report, detail=what == "detail"))
        for path, draw in pictures.items():
            try:
                path.write_bytes(draw(report, key))
            except OSError as error:
                raise BadInput(f"{path} could not be written ({error.strerror}). Choose another place.") from error
            out.print(f"Wrote {path}.")


@app.command()
def compact(
    target: Annotated[
        str, typer.Argument(metavar="KEY|FILE", help="A session's key, or a file to import first.", callback=_named)
    ],
    focus: Annotated[str | None, typer.Argument(help="What the brief should cover well; up to 800 characters.")] = None,
    model: ModelOption = None,
    by_rules: Annotated[bool, typer.Option("--by-rules", help="Ask no model: rules write the brief.")] = False,
    window: WindowOption = None,
    keep: Annotated[int | None, typer.Option(min=0, help="Tokens of the newest messages to keep as they are.")] = None,
    budget: Annotated[int | None, typer.Option(min=200, help="Tokens the brief may take.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen; ask no model, write nothing.")
    ] = False,
    format: FormatOption = "auto",
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Wind the old part of a conversation up into an audited brief."""
    with opened(store, config) as clew:
        key = _key_of(clew, target, format, quiet=json)
        provided = clew.config.agents.defaults.compaction.provider
        no_model = not (by_rules or dry_run or provided or clew.writers(model))
        with shown(err, quiet=json) as on_progress:
            result = ran(
                clew,
                clew.compact(
                    key,
                    focus=focus,
                    model=model,
                    by_rules=by_rules,
                    window=window,
                    keep=keep,
                    budget=budget,
                    preview=dry_run,
                    on_progress=on_progress,
                ),
            )
        show_json(as_json.outcome(result, key)) if json else show(
            compaction_words.outcome(result, key, no_model=no_model, focus=focus, budget=budget)
        )
        if isinstance(result, Declined):
            raise typer.Exit(1)


@app.command(name="compactions")
def compactions_(
    words: Annotated[list[str], typer.Argument(metavar="KEY | show ID", help="A session's key; or `show` and an id.")],
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """List a session's compactions, or show one in full: `clew compactions show ID`."""
    with opened(store, config) as clew:
        match words:
            case ["show"]:
                raise typer.BadParameter("`show` wants a compaction's id.", param_hint="show ID")
            case ["show", name]:
                key, wound = clew.find_compaction(name)
                source = _source(clew.session(key))
                show_json(as_json.wound(key, wound)) if json else show(compaction_words.shown(key, wound, source))
            case [key]:
                session = clew.session(_named(key))
                wounds = session.compactions()
                if json:
                    show_json([as_json.wound(key, wound) for wound in wounds])
                elif wounds:
                    out.print(listing.compactions(wounds, now_ms(), _source(session)))
                else:
                    none = f"Session {key} has no compaction yet. `clew compact {shlex.quote(key)}` makes one."
                    show([sentence(none)])
            case _:
                raise typer.BadParameter(
                    "Give a session's key, or `show` and a compaction's id.", param_hint="KEY | show ID"
                )


@app.command()
def undo(key: KeyArgument, json: JsonOption = False, store: StoreOption = None, config: ConfigOption = None) -> None:
    """Take the newest compaction back: the view is again what it was."""
    with opened(store, config) as clew:
        name, before, after = clew.undo(key)
        if json:
            show_json({"ok": True, "key": key, "undone": name, "tokensBefore": before, "tokensAfter": after})
        else:
            words = f"Took compaction {name} back: the view has {number(after)} tokens again (it had {number(before)})."
            show([sentence(words)])


@app.command()
def pin(
    key: KeyArgument,
    entry: Annotated[
        str | None, typer.Argument(help="The entry's number (#12) or id. Without it: list the pins.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Take the pin off.")] = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Keep a message for good: no compaction takes it out of the view."""
    with opened(store, config) as clew:
        session = clew.session(key)
        if off and not entry:
            raise typer.BadParameter("--off wants the entry whose pin comes off.", param_hint="ENTRY")
        target = _entry(session, entry) if entry else None
        if target:
            session.unpin(target.entry.id) if off else session.pin(target.entry.id)
        pinned = session.pinned()
        records = clew.store.entry_many(key, list(pinned))
        if json:
            listed = [
                {"id": name, "number": records[name].seq if name in records else None, "text": text}
                for name, text in pinned.items()
            ]
            show_json({"ok": True, "key": key, "pinned": listed})
        elif target:
            show(listing.pinned(target, off=off, left=len(pinned)))
        else:
            show(listing.pins(pinned, records))


@app.command(cls=Numbers)
def trace(
    key: KeyArgument,
    line: Annotated[int | None, typer.Argument(help="A line of the brief, from 1. Without it: all lines.")] = None,
    compaction: Annotated[str | None, typer.Option(help="An older compaction, by the start of its id.")] = None,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Follow the lines of a brief back to the entries they came from."""
    with opened(store, config) as clew:
        wound, found = clew.session(key).trace(line, compaction=compaction)
        if json:
            show_json(as_json.threads(key, wound, found))
        else:
            show(listing.threads(found, quote=QUOTED if line is not None else 0))


@app.command()
def export(
    key: KeyArgument,
    format: Annotated[str, typer.Option(help="clew, claude-code, openclaw, pi, openai, anthropic.")] = "clew",
    view: Annotated[bool, typer.Option("--view", help="Only what the model is shown (openai, anthropic).")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A new file. Default: standard output.")] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Write a session in a format that Clew or another program reads."""
    with opened(store, config) as clew:
        chunks = clew.export(key, format, shown=view)
        if output is None:
            for chunk in chunks:
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            return
        write(new(output), chunks)


def _key_of(clew: Clew, target: str, format: str, *, quiet: bool) -> str:
    """The session a word stands for: a key that is there, or a file, which is imported first."""
    try:
        return clew.store.session(target).key
    except UnknownSession:
        if not Path(target).exists():
            raise UnknownSession(
                f"There is no session and no file {target}; nothing was changed. `clew sessions` lists the sessions."
            ) from None
    came: Arrival = clew.bring(existing(Path(target)), format=format)
    if not quiet:
        show(arrivals.arrival(came))
    return came.key


def _source(session: Session) -> str | None:
    """The program a session came from; None for one of Clew's own, and for its export, which does not say."""
    source = str(session.row().meta.get("format", ""))
    return source if source not in ("", "clew") else None


def _entry(session: Session, name: str) -> Record:
    """An entry by its number, its id or the start of it; a number is held against what there is."""
    if name.startswith("#"):
        last = session.row().entries
        if not (name[1:].isdecimal() and 1 <= int(name[1:]) <= last):
            raise UnknownEntry(
                f"Session {session.key} has entries 1 to {last}; there is no {name}. Nothing was changed."
            )
    return session.find(name)
