"""`clew cost`: what a session used and cost, and what its compactions and prunes saved."""

from typing import Annotated

import typer

from clew.cli.options import ConfigOption, JsonOption, StoreOption, opened, show, show_json
from clew.render.cost import account, plain
from clew.runtime.books import account_in


def cost(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The session's key; `clew sessions` lists them.")],
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show what a session cost by model and purpose, where its prefix broke, and what each compaction saved."""
    with opened(store, config) as clew:
        found = account_in(clew.store.session(key).meta)
        show_json(plain(found, key)) if json else show(account(found, key))
