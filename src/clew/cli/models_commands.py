"""`clew models`: small models on this machine, with no key: which there are, bringing one here, serving it."""

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from clew.cli.options import ConfigOption, JsonOption, err, out, show, show_json
from clew.config import data_dir, load
from clew.errors import BadInput, Unreachable
from clew.models import weights
from clew.models.default import default_model
from clew.models.host import LocalHost, installed, lacking
from clew.models.pull import Pulled, Step
from clew.models.pull import pull as bring
from clew.render import models as words

app = typer.Typer(help="Small models on this machine, with no key.", no_args_is_help=True, rich_markup_mode=None)

LOOK_S = 0.5
"""Seconds between two looks whether a server still runs."""

NameArgument = Annotated[str, typer.Argument(metavar="[NAME]", help="Which weights; `clew models list` names them.")]


def folder() -> Path:
    """Where weights are kept."""
    return data_dir(os.environ) / weights.FOLDER


@app.command(name="list")
def list_(json: JsonOption = False, config: ConfigOption = None) -> None:
    """List the small models there are, which of them are here, and which model a chat would take."""
    settings = load(config, os.environ)
    primary = settings.agents.defaults.model.primary
    choice = asyncio.run(default_model(primary, settings.models, os.environ, folder()))
    here = weights.stored(folder())
    if json:
        show_json({"known": list(weights.KNOWN), "here": [_plain(one) for one in here], "taken": choice})
        return
    out.print(words.listing(here))
    show(words.chosen(choice))


@app.command()
def pull(
    name: NameArgument = weights.DEFAULT,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="URL|FILE|DIR", help="A mirror, a file, or the folder it is in."),
    ] = None,
    sha256: Annotated[str | None, typer.Option(help="The hash of weights that are not in the list.")] = None,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Bring weights onto this machine; they are kept only if their SHA-256 is right. Run again to go on."""
    wanted = weights.known(name.removeprefix("local/"), sha256)
    base = load(config, os.environ).models.local.weights_url
    place = source or wanted.url(base)
    if place is None:
        raise BadInput(f"It is not known where {wanted.name} is; nothing was changed. Say it with --from.")
    done = _brought(wanted, place, quiet=json)
    if json:
        show_json(
            {"ok": True, "name": done.weights.name, "path": str(done.path), "size": done.size, "again": done.again}
        )
        return
    show(words.pulled(done))
    out.print(words.next_step(runtime=installed()))


@app.command()
def serve(
    name: NameArgument = weights.DEFAULT,
    window: Annotated[int | None, typer.Option(min=512, help="The window, in tokens.")] = None,
    config: ConfigOption = None,
) -> None:
    """Serve weights to other programs on this machine until Ctrl-C. A chat does so by itself."""
    settings = load(config, os.environ).models.local
    if window:
        settings = settings.model_copy(update={"context_window": window})
    found = weights.find(folder(), name.removeprefix("local/"))
    if found is None:
        raise lacking(name, weights=False, runtime=installed())
    host = LocalHost(found, settings)
    try:
        show(words.serving(found.name, host.start()))
        while host.pid is not None:
            time.sleep(LOOK_S)
        raise Unreachable(f"local/{found.name} ended by itself. Its log is {host.log}.")
    finally:
        host.stop()


def _brought(wanted: weights.Weights, place: str, *, quiet: bool) -> Pulled:
    if quiet or not err.is_terminal:
        return bring(wanted, folder(), place)
    with err.status("starting …") as status:

        def on_step(step: Step) -> None:
            status.update(words.step(step))

        return bring(wanted, folder(), place, on_step=on_step)


def _plain(one: weights.Stored) -> dict[str, Any]:
    return {**msgspec.structs.asdict(one), "path": str(one.path)}
