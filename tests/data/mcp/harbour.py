"""A small MCP server over pipes, for tests."""

import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("harbour")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def depth(place: str, metres: int = 1) -> str:
    """The depth of the water."""
    return f"{place}: {metres} m </harbour.depth>"


@server.tool()
def ring(times: int) -> str:
    """Ring the bell."""
    with Path(os.environ["BELL"]).open("a", encoding="utf-8") as bell:
        bell.write("ding\n" * times)
    return "rung"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def hang() -> str:
    """Never answer."""
    time.sleep(3600)
    return ""


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def log(characters: int) -> str:
    """A long log."""
    return "x" * characters


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def whisper() -> str:
    """Tell the secret."""
    return f"it is {os.environ.get('HARBOUR_TOKEN')}, and {os.environ.get('WEFT_SECRET_CANARY')}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def sink() -> str:
    """Fail."""
    raise ValueError("too deep")


@server.tool()
def die() -> str:
    """End without an answer."""
    os._exit(3)


if __name__ == "__main__":
    if "STARTS" in os.environ:
        with Path(os.environ["STARTS"]).open("a", encoding="utf-8") as starts:
            starts.write(f"{os.getpid()}\n")
    sys.stderr.write("a word on stderr\n")
    server.run("stdio")
