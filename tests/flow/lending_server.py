"""A server for the tests of the Model Context Protocol: started as a child process, it lends what it is told to."""

import os
import sys
import time

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ImageContent, TextContent

server = MCPServer("lending")


@server.tool()
def shout(words: str, times: int = 1) -> str:
    """Say it loudly."""
    return f"{words.upper()} " * times


@server.tool()
def where() -> str:
    """Where it runs and what it was given."""
    return f"{os.getcwd()} {os.environ.get('GIVEN')} {os.environ.get('OPENAI_API_KEY')}"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("broken inside")


@server.tool()
def die() -> str:
    """End the server."""
    os._exit(3)


@server.tool()
def sleep(seconds: float) -> str:
    """Take a while."""
    time.sleep(seconds)
    return "slept"


@server.tool(structured_output=False)
def picture() -> list[TextContent | ImageContent]:
    """Show something."""
    return [TextContent(text="a dot"), ImageContent(data="aGk=", mime_type="image/png")]


if __name__ == "__main__":
    if "--broken" in sys.argv:
        sys.exit("no licence found")
    if "--mute" in sys.argv:
        time.sleep(60)
    if "--port" in sys.argv:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[-1]))
    server.run()
