"""`clew gateway`: one process that owns the sessions of a store and serves many clients."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from clew.app import STORE_FILE
from clew.cli.options import ConfigOption, StoreOption, opened
from clew.config import data_dir
from clew.errors import BadInput


def gateway(
    host: Annotated[str | None, typer.Option("--host", help="Where to listen. Default: gateway.host.")] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65_535, help="Default: gateway.port.")] = None,
    new_token: Annotated[bool, typer.Option("--new-token", help="Make a new token; the old one is void.")] = False,
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", file_okay=False, exists=True, help="The folder agents work in. Default: this one."),
    ] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve the sessions of a store: HTTP, events, channels, an OpenAI-compatible endpoint, and a page at /."""
    with opened(store, config) as clew:
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        settings = clew.config.gateway.model_copy(update=given)
        clew.config = clew.config.model_copy(update={"gateway": settings})
        try:
            serving = import_module("clew.gateway.serve")
        except ModuleNotFoundError as missing:
            raise BadInput(
                f"The gateway needs packages that are not installed ({missing.name}); nothing was started. "
                "Install them with: pip install 'clew[gateway]'"
            ) from None
        folder = data_dir(os.environ)
        place = (workspace or Path.cwd()).resolve()
        serving.serve(clew, store or folder / STORE_FILE, folder, place, anew=new_token, say=_said)


def _said(url: str, token: str | None) -> None:
    """Where it listens; a token that was made is shown this once."""
    sys.stdout.write(f"Clew gateway at {url}\n")
    if token is not None:
        sys.stdout.write(f"Token: {token}\n  shown this once; its hash is kept. Clients read CLEW_GATEWAY_TOKEN.\n")
        sys.stdout.write(f"Page:  {url}/#token={token}\n")
    else:
        sys.stdout.write(f"Page:  {url}/  it asks for the token; --new-token makes another one.\n")
    sys.stdout.write("Ctrl-C ends it once the running turns are done.\n")
    sys.stdout.flush()
