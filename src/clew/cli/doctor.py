"""`clew doctor`: is everything there that a conversation needs, and what to do where it is not."""

import os
from typing import Annotated

import typer

from clew.app import STORE_FILE, Clew
from clew.cli import checks
from clew.cli.engine_checks import engine
from clew.cli.options import ConfigOption, JsonOption, StoreOption, ran, show, show_json
from clew.config import data_dir
from clew.render.checkup import Check, checkup
from clew.store.inmemory import InMemoryStore


def doctor(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="A session whose entries are looked through as well.")
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="With KEY: make its search index anew. Entries are never changed.")
    ] = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Check settings, providers, windows, engine and store; exit 1 where something fails."""
    if repair and key is None:
        raise typer.BadParameter("--repair wants the key of a session.", param_hint="--repair")
    loaded, found = checks.settings(config, os.environ)
    file, more = checks.store_file(store or data_dir(os.environ) / STORE_FILE)
    found += [*more, *engine(loaded, file), *(checks.facts(file, but=key) if file else ())]
    with Clew(file or InMemoryStore(), loaded, env=os.environ) as clew:
        found += ran(clew, _asked(clew))
        if key is not None:
            found += checks.repaired(clew.store, key) if repair else []
            found += checks.session(clew.store, key)
    show_json(checks.as_data(found)) if json else show(checkup(found))
    if any(check.state == "fail" for check in found):
        raise typer.Exit(1)


async def _asked(clew: Clew) -> list[Check]:
    return [*await checks.models(clew), *await checks.providers(clew.config, clew.env)]
