"""Serve a grove over HTTP or MCP: serve, mcp."""

from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import flag, option
from weft.cli.session import CliSession
from weft.errors import InvalidInputError, NotFoundError
from weft.tree.agent import ANALYST, Permission, parse_permissions

if TYPE_CHECKING:
    from weft.grove.grove import Grove
    from weft.mcp_server.transports import HttpAddress
    from weft.server.lifecycle import ServerAddress

_PORT = 7370
_MCP_PORT = 7371
_MCP_MODEL = "mcp:client"

_Host = Annotated[str, option("--host ADDRESS", "The local address to listen at.")]
_HostNames = Annotated[
    list[str] | None, option("--host-name NAME", "A further host name to accept. Repeatable.")
]


def serve(
    session: CliSession,
    *,
    port: Annotated[int, option("--port -p", "The port; 0 for any free one.", min=0, max=65_535)] = _PORT,
    host: _Host = "127.0.0.1",
    names: _HostNames = None,
    origins: Annotated[
        list[str] | None,
        option(
            "--origin ORIGIN",
            "A further origin whose pages may call it, such as https://example.org. Repeatable.",
        ),
    ] = None,
    proxies: Annotated[
        list[str] | None,
        option(
            "--proxy ADDRESS",
            "A reverse proxy whose X-Forwarded-For and X-Forwarded-Proto are believed. Repeatable.",
        ),
    ] = None,
    rate: Annotated[
        float, option("--rate N", "Requests a second with one user's token; 0 for no limit.", min=0)
    ] = 100,
) -> None:
    """Serve the grove over HTTP until it is stopped.

    Prints a link that opens it in a browser, once. Programs send the token instead, which --json prints;
    users have tokens of their own: weft users.
    """
    from weft.server import ServerSettings  # noqa: PLC0415 - fastapi takes 400 ms
    from weft.server import serve as serve_grove  # noqa: PLC0415 - as above

    def ready(address: "ServerAddress") -> None:
        if session.out.as_json:
            session.out.json(address)
        else:
            # A terminal shows it too: it is the command's result.
            session.out.text(address.link)
        session.out.message(f"serving at {address.url}; stop with Ctrl-C")
        session.out.flush()

    serve_grove(
        session.open_grove(background=True),
        host=host,
        port=port,
        names=names or (),
        proxies=proxies or (),
        settings=ServerSettings(origins=origins or (), rate=rate),
        ready=ready,
    )
    session.out.message("stopped")


def mcp(
    session: CliSession,
    *,
    http: Annotated[
        bool, flag("--http", "Over HTTP, for several clients; default: over stdin and stdout.")
    ] = False,
    agent: Annotated[
        str | None,
        option(
            "--agent AGENT",
            "The agent that acts and is the author, for all clients. Added if it does not exist.",
        ),
    ] = None,
    tools: Annotated[
        str, option("--tools SET", "core: what an assistant needs; all: a tool for every command.")
    ] = "core",
    read_only: Annotated[bool, flag("--read-only", "Allow no changes of trees and documents.")] = False,
    allow: Annotated[
        str | None, option("--allow PERMISSIONS", "Allow only these, separated by commas.")
    ] = None,
    port: Annotated[
        int, option("--port -p", "The port for HTTP; 0 for any free one.", min=0, max=65_535)
    ] = _MCP_PORT,
    host: _Host = "127.0.0.1",
    names: _HostNames = None,
) -> None:
    """Serve the grove to Claude, editors and other MCP clients.

    Over stdin and stdout it serves the program that starts it; over HTTP clients with a token, which
    is printed. No client has more permissions than its user.
    """
    from weft.mcp_server.server import McpFace  # noqa: PLC0415 - the MCP library takes 500 ms
    from weft.mcp_server.tools import CORE_TOOLS, TOOLS  # noqa: PLC0415 - as above

    if tools not in {"core", "all"}:
        raise InvalidInputError(f"{tools!r} is not a set of tools", hint="use core or all", path="tools")
    offered = CORE_TOOLS if tools == "core" else TOOLS
    within = _within(allow, read_only=read_only)
    grove = session.open_grove(background=True)
    if agent is not None:
        agent = _connected_agent(grove, agent, within)
    if not http:
        from weft.mcp_server.transports import serve_stdio  # noqa: PLC0415 - as above

        serve_stdio(McpFace(grove, agent, within, offered))
        return
    from weft.mcp_server.transports import serve_http  # noqa: PLC0415 - as above

    def ready(address: "HttpAddress") -> None:
        if session.out.as_json:
            session.out.json(address)
        else:
            session.out.text(address.url)
            session.out.text(address.token)
        session.out.message("serving MCP; send the token as Authorization: Bearer; stop with Ctrl-C")
        session.out.flush()

    serve_http(
        grove, McpFace(None, agent, within, offered), host=host, port=port, names=names or (), ready=ready
    )
    session.out.message("stopped")


def _connected_agent(grove: "Grove", name: str, within: frozenset[Permission] | None) -> str:
    """The id of the agent of that name; a new one has the rights of the connection."""
    try:
        return grove.read.agent(name).id
    except NotFoundError:
        granted = within if within is not None else grove.me.permissions
        # The model is the client's own: it is a label, and never called.
        return grove.add_agent(name, model_ref=_MCP_MODEL, permissions=sorted(granted)).id


def _within(allow: str | None, *, read_only: bool) -> frozenset[Permission] | None:
    if allow is None:
        return ANALYST if read_only else None
    if read_only:
        raise InvalidInputError("--read-only and --allow exclude each other")
    return parse_permissions(name.strip() for name in allow.split(",") if name.strip())
