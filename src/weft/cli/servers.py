"""Serve a grove over HTTP or MCP, and tell collectors about its model calls: serve, mcp, telemetry."""

import os
import threading
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import flag, option
from weft.cli.session import CliSession
from weft.errors import InvalidInputError, NotFoundError, UnavailableError
from weft.tree.agent import ANALYST, Permission, parse_permissions

if TYPE_CHECKING:
    from weft.grove.grove import Grove
    from weft.mcp_server.transports import HttpAddress
    from weft.server.lifecycle import ServerAddress

_PORT = 7370
_MCP_PORT = 7371
_MCP_MODEL = "mcp:client"
_POLL = 5.0
"""Seconds between two looks for calls that have ended."""

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


def start(session: CliSession) -> None:
    """Serve the grove and open it in a browser: what `weft` alone does."""
    from weft.errors import UnavailableError  # noqa: PLC0415 - only here
    from weft.server import serve as serve_grove  # noqa: PLC0415 - fastapi takes 400 ms

    grove = session.open_grove(background=True)

    def ready(address: "ServerAddress") -> None:
        session.out.text(address.link)
        session.out.message(f"serving at {address.url}; the link works once; stop with Ctrl-C")
        session.out.flush()

    try:
        serve_grove(grove, port=_PORT, ready=ready, open_browser=_open_browser)
    except UnavailableError:
        # Another program has the port, such as a grove that is open already.
        serve_grove(grove, port=0, ready=ready, open_browser=_open_browser)
    session.out.message("stopped")


def _open_browser(link: str) -> None:
    """In a thread: a browser that is not running yet may take its time to start."""
    if os.environ.get("WEFT_BROWSER") == "off":
        return
    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


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


def telemetry(
    session: CliSession,
    *,
    endpoint: Annotated[
        str | None,
        option(
            "--endpoint URL",
            "Where traces are sent by OTLP over HTTP; default: as the OTEL_EXPORTER_OTLP variables say.",
        ),
    ] = None,
    headers: Annotated[
        list[str] | None, option("--header NAME=VALUE", "A header of each request. Repeatable.")
    ] = None,
    content: Annotated[bool, flag("--content", "Send what was said, too.")] = False,
    after: Annotated[
        str | None,
        option("--after CURSOR", "Begin after this event, or `now`; default: where the last run ended."),
    ] = None,
    follow: Annotated[bool, flag("--follow", "Go on until it is stopped.")] = False,
    state: Annotated[Path | None, option("--state FILE", "Where it is remembered how much was sent.")] = None,
) -> None:
    """Send finished model calls to an OpenTelemetry collector as spans.

    They are read from the grove, so that no generation waits for it. What was sent is remembered: each call
    is sent once, also after an interruption. Needs the extra otel. Prints how many were sent.
    """
    from weft.runtime.events.log import EventLog, grove_id  # noqa: PLC0415 - loads with the grove
    from weft.runtime.evidence.span_export import AttemptExporter, otlp_exporter  # noqa: PLC0415 - as above

    named: dict[str, str] = {}
    for each in headers or ():
        name, equals, value = each.partition("=")
        if not name.strip() or not equals:
            raise InvalidInputError("a header is written NAME=VALUE", path="header")
        named[name.strip()] = value.strip()
    exporter = otlp_exporter(endpoint, named)
    caller = session.grove.caller
    with caller.store.read() as reading:
        kept = state or _state_folder() / f"telemetry-{grove_id(reading)}"
    begin = after or (kept.read_text().strip() if kept.is_file() else None)
    sender = AttemptExporter(EventLog(caller.store, caller.actor), exporter, begin, contents=content)
    total = 0
    while True:
        try:
            sent, complete = sender.send_batch()
        except UnavailableError as error:
            if not follow:
                raise
            session.out.message(f"{error.message}; trying again")
            time.sleep(_POLL)
            continue
        total += sent
        if sender.cursor is not None:
            _remember(kept, sender.cursor)
        if complete and not follow:
            break
        if complete:
            time.sleep(_POLL)
    session.out.result({"sent": total, "cursor": sender.cursor}, str(total), f"sent {total:,} spans")


def _remember(file: Path, cursor: str) -> None:
    """Whole or not at all: half a cursor would be none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.new")
    beside.write_text(cursor)
    beside.replace(file)


def _state_folder() -> Path:
    from platformdirs import user_state_path  # noqa: PLC0415 - 18 ms

    return user_state_path("weft", appauthor=False)
