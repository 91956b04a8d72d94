"""Tools that servers lend over the Model Context Protocol: started together, kept for the session, ended with it.

The list of tools is taken once, at the start, so that it keeps its bytes; a server that changes its list is asked again
in the next session. Needs the extra `mcp`, which is loaded only where a server is set.
"""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import IO, Any

import msgspec

from clew.errors import ClewError, Unreachable
from clew.models.settings import expand
from clew.workspace.mcp_content import output_of, tool_name
from clew.workspace.permission import name_gate
from clew.workspace.place import Workspace
from clew.workspace.port import Offer, Output
from clew.workspace.settings import McpSettings, ServerSettings

CLOSED = -32_000
"""The protocol's code for a connection that has ended."""
STOP_S = 10.0
"""Seconds that all servers together have to end; each is asked first, and killed if it stays."""
MOST_PAGES = 50
"""Pages of a list of tools that are asked for."""

logging.getLogger("mcp").addHandler(logging.NullHandler())
# Without a handler the library's complaints about a server would be printed over the terminal's chat.


class Lent(msgspec.Struct, frozen=True):
    """What the servers that were set have to lend."""

    offers: tuple[Offer, ...] = ()
    """By server, then by tool."""
    warnings: tuple[str, ...] = ()
    """A sentence for each server or tool that is left out."""


@asynccontextmanager
async def lent(settings: McpSettings, workspace: Workspace, env: Mapping[str, str]) -> AsyncIterator[Lent]:
    """Start every server that is set, and end them all at the end. One that fails is a warning, and the others work."""
    wanted = {name: one for name, one in sorted(settings.servers.items()) if one.enabled}
    servers = [_Server(name, one, workspace, env) for name, one in wanted.items()]
    try:
        yield _gathered([(server, await starting) for server, starting in zip(servers, _together(servers), strict=True)])
    finally:
        await asyncio.wait_for(asyncio.gather(*(server.stop() for server in servers)), STOP_S)
