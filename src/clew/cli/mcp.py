"""`clew mcp`: the tools that look through a session's history, for any program that speaks the Model Context Protocol.

Over standard input and output, on which nothing but the protocol stands. Needs the extra `mcp`, which is loaded here
alone. It reads the store and changes nothing but the index that search derives.
"""

import asyncio
import signal
from typing import Annotated, Any

import typer

from clew.app import Clew
from clew.cli.options import ConfigOption, StoreOption, opened
from clew.clock import iso
from clew.engine.history import History
from clew.engine.history_tools import offers
from clew.errors import BadSettings
from clew.models.port import Tool
from clew.runtime.tools import Toolbox
from clew.transcript import Call, Text, ToolResult, text_of

SESSION = "session"
"""The argument that says whose history is meant."""

SESSIONS = 50
"""Sessions listed at once, the most recently used ones."""

ABOUT = (
    "Conversations kept by Clew, also what was compacted away. history_sessions lists them; history_search finds "
    "messages, history_expand opens them word for word, history_describe tells of the summaries."
)


def mcp(
    key: Annotated[str | None, typer.Option("--key", help="The session that is meant where a call names none.")] = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve history_search, history_describe and history_expand over MCP on standard input and output."""
    with opened(store, config) as clew:
        if key is not None:
            clew.store.session(key)
        # The library waits for a line in a thread that nothing interrupts; what is stored is whole at any moment.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        asyncio.run(_serve(Desk(clew, key)))


class Desk:
    """The tools over all sessions of a store: those of one history, with an argument for the session."""

    def __init__(self, clew: Clew, key: str | None) -> None:
        """`key` is the session that is meant where none is named; None wants one named."""
        self._clew, self._key = clew, key
        self._boxes: dict[str, Toolbox] = {}
        self._own = Toolbox([self.history_sessions])

    def history_sessions(self, prefix: str = "") -> str:
        """List the sessions of the store, the most recently used first: key, entries, compactions, last use.

        Args:
            prefix: Only those whose key starts with this.
        """
        rows = self._clew.store.sessions(prefix=prefix, limit=SESSIONS + 1)
        lines = [
            f"{row.key} · {row.entries:,} entries · {row.compactions} compactions · used {iso(row.updated)[:16]}Z"
            for row in rows[:SESSIONS]
        ]
        more = [f"There are more than {SESSIONS}: give a prefix."] if len(rows) > SESSIONS else []
        return "\n".join([*lines, *more]) or "There are no sessions."

    def tools(self) -> tuple[Tool, ...]:
        """What a client is told."""
        return (*(self._with_session(tool) for tool in self._box("").tools), *self._own.tools)

    async def run(self, name: str, given: dict[str, Any]) -> ToolResult:
        """A call carried out; what goes wrong is a result in words."""
        if name == self._own.tools[0].name:
            return await self._own.run(Call("call", name, given))
        arguments = {one: value for one, value in given.items() if one != SESSION}
        key = given.get(SESSION, self._key)
        if not isinstance(key, str) or not key:
            words = f"`{name}` was not run: `{SESSION}` is missing, the key of a session. history_sessions lists them."
            return ToolResult("call", name, (Text(words),), error=True)
        return await self._box(key).run(Call("call", name, arguments))

    def _box(self, key: str) -> Toolbox:
        if key not in self._boxes:
            self._boxes[key] = Toolbox(offers(History(self._clew.store, key)))
        return self._boxes[key]

    def _with_session(self, tool: Tool) -> Tool:
        default = f" Left out: {self._key}." if self._key else ""
        session = {"type": "string", "description": f"The session's key; history_sessions lists them.{default}"}
        schema = {**tool.schema, "properties": {SESSION: session, **tool.schema["properties"]}}
        if not self._key:
            schema["required"] = [SESSION, *tool.schema.get("required", [])]
        return Tool(tool.name, tool.description, schema)


async def _serve(desk: Desk) -> None:
    """Answer a client until it goes away. Raises BadSettings where the extra is missing."""
    try:
        from mcp import stdio_server, types  # noqa: PLC0415 - an extra, and half a second to load
        from mcp.server.lowlevel import Server  # noqa: PLC0415
    except ImportError as error:
        raise BadSettings(
            "Serving over MCP needs a package that is not installed; nothing was started. Run: pip install 'clew[mcp]'"
        ) from error
    reads = types.ToolAnnotations(read_only_hint=True)

    async def listed(_: Any, __: Any) -> Any:
        told = [
            types.Tool(name=one.name, description=one.description, input_schema=one.schema, annotations=reads)
            for one in desk.tools()
        ]
        return types.ListToolsResult(tools=told)

    async def called(_: Any, asked: Any) -> Any:
        result = await desk.run(asked.name, asked.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=text_of(result))], is_error=result.error)

    server: Any = Server("clew", instructions=ABOUT, on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())
