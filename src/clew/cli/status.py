"""`clew status`: the store, the sessions, the models with their windows, the last compactions."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from clew.app import STORE_FILE, Clew
from clew.cli import checks
from clew.cli.options import ConfigOption, JsonOption, StoreOption, opened, ran, show, show_json
from clew.clock import now_ms
from clew.config import config_path, data_dir
from clew.errors import ClewError, DamagedStore, NewerSchema
from clew.logs import FILE
from clew.models.default import Found, Missing
from clew.models.port import Limits
from clew.render.status import Overview, overview, plain
from clew.runtime.books import account_in
from clew.runtime.session import Wound
from clew.tokens.billing import Billing

SESSIONS, COMPACTIONS = 5, 5
"""How many of each are named, the newest ones."""

LOOKED_AT = 50
"""Sessions whose compactions are looked at, the most recently used first."""

PATIENCE_S = 5.0
"""Seconds a local server has to say its window."""


def status(json: JsonOption = False, store: StoreOption = None, config: ConfigOption = None) -> None:
    """Show what there is: store, sessions, models with their windows, the last compactions."""
    with opened(store, config) as clew:
        of = ran(clew, _gathered(clew, store, config))
        show_json(plain(of)) if json else show(overview(of, now_ms()))


async def _gathered(clew: Clew, store: Path | None, config: Path | None) -> Overview:
    home = data_dir(os.environ)
    choice = await clew.default_model()
    rows = clew.sessions()
    return Overview(
        store=str(store or home / STORE_FILE),
        settings=str(config_path(config, os.environ)),
        log=str(home / FILE),
        sessions=tuple(rows[:SESSIONS]),
        total=len(rows),
        spent=Billing.of(account_in(row.meta).total() for row in rows),
        choice=choice,
        models=tuple(await asyncio.gather(*(_limits(clew, name, choice) for name in _names(clew, choice)))),
        compactions=tuple(_newest(clew)),
    )


def _names(clew: Clew, choice: Found | Missing) -> list[str]:
    found = [choice.name] if isinstance(choice, Found) else []
    return list(dict.fromkeys([*found, *checks.named(clew.config)]))


async def _limits(clew: Clew, name: str, choice: Found | Missing) -> tuple[str, Limits, str]:
    """What one model can take, or why that cannot be said."""
    if isinstance(choice, Found) and choice.name == name and choice.source != "settings":
        return name, Limits(choice.window, source="server" if choice.window else "unknown"), ""
    try:
        return name, await asyncio.wait_for(clew.limits(name), PATIENCE_S), ""
    except TimeoutError:
        return name, Limits(), "its server does not answer"
    except ClewError as error:
        return name, Limits(), str(error)


def _newest(clew: Clew) -> list[tuple[str, Wound]]:
    found: list[tuple[str, Wound]] = []
    for row in clew.sessions(limit=LOOKED_AT):
        with suppress(DamagedStore, NewerSchema):  # one damaged session hides no other; `clew doctor KEY` tells of it
            found += [(row.key, wound) for wound in (clew.session(row.key).compactions() if row.compactions else ())]
    return sorted(found, key=lambda one: one[1].at, reverse=True)[:COMPACTIONS]
