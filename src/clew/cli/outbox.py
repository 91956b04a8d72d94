"""`clew outbox`: finished turns that a context engine has still to take over."""

from typing import Annotated

import typer

from clew.cli.options import ConfigOption, JsonOption, StoreOption, opened, show, show_json
from clew.clock import now_ms
from clew.errors import BadInput
from clew.render.outbox import owed, plain


def outbox(
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="Of one session; all where none is named.")] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Have the blocked turns of KEY tried again before its next turn.")
    ] = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """List the turns that a context engine has not taken over yet, with the reason; a blocked one is tried no more."""
    if retry and key is None:
        raise BadInput("Which session? `clew outbox KEY --retry`. Nothing was changed.")
    with opened(store, config) as clew:
        if key is not None:
            clew.store.session(key)
        opened_again = clew.store.reopen(key) if retry and key is not None else 0
        found = clew.store.owed(key)
        show_json(plain(found, opened_again)) if json else show(owed(found, now_ms(), opened_again))
