"""Speaking with the one program that started us, over its pipes."""

import logging
import sys

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from weft.mcp_server.face import Face

__all__ = ["serve_stdio"]


def serve_stdio(face: Face) -> None:
    """Answer until the other side goes away. Only the protocol is on stdout; talk is on stderr."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="weft mcp: %(message)s")
    try:
        anyio.run(_serve, face.server())
    except* BrokenPipeError:
        # Nobody reads any more: as good an end as any.
        pass


async def _serve(server: Server[object]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
