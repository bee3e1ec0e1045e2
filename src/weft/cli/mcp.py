"""Offering a grove to models outside: mcp."""

from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.completing import complete_agents
from weft.cli.serving import AnswersTo, ListeningAt
from weft.errors import InvalidInputError
from weft.tree.agent import ANALYST, Permission, parse_permissions

if TYPE_CHECKING:
    from weft.mcp_server.http import HttpAddress

__all__ = ["add_to"]

_PORT = 7371


def mcp(
    call: Call,
    *,
    http: Annotated[
        bool, flag("--http", help="Over HTTP, for several clients; else over stdin and stdout.")
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="Who acts and is the author: an agent, for whoever calls it.",
            autocompletion=complete_agents,
        ),
    ] = None,
    read_only: Annotated[bool, flag("--read-only", help="Let no tree or document be changed.")] = False,
    allow: Annotated[
        str | None,
        typer.Option("--allow", metavar="PERMISSIONS", help="Allow at most these, with commas between."),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65_535, help="Where, over HTTP; 0 for any that is free.")
    ] = _PORT,
    host: ListeningAt = "127.0.0.1",
    names: AnswersTo = None,
) -> None:
    """Offer the grove to Claude, editors and other programs that speak MCP.

    Over stdin and stdout it serves the program that starts it; over HTTP whoever brings a token, which
    is printed. Nobody may do more through it than they may by themselves.
    """
    from weft.grove.grove import open_grove  # noqa: PLC0415
    from weft.mcp_server.server import McpFace  # noqa: PLC0415 - help and completion do without

    within = _within(allow, read_only=read_only)
    settings = call.settings
    with open_grove(
        settings.address if call.choices.grove is None else call.choices.grove,
        clock=settings.clock,
        entropy=settings.entropy,
        accept_clock=call.choices.accept_clock,
        providers=settings.providers,
    ) as opened:
        grove = opened if call.choices.agent is None else opened.acting_as(call.choices.agent)
        if agent is not None:
            # A name that nobody has is told now, not to every call.
            grove.read.agent(agent)
        if not http:
            from weft.mcp_server.stdio import serve_stdio  # noqa: PLC0415

            serve_stdio(McpFace(grove, agent, within))
            return
        from weft.mcp_server.http import serve_http  # noqa: PLC0415

        def ready(address: "HttpAddress") -> None:
            if call.out.as_json:
                call.out.json(address)
            else:
                call.out.text(address.url)
                call.out.text(address.token)
            call.out.talk("serving MCP; send the token as Authorization: Bearer; stop with Ctrl-C")
            call.out.flush()

        serve_http(grove, McpFace(None, agent, within), host=host, port=port, names=names or (), ready=ready)
    call.out.talk("stopped")


def _within(allow: str | None, *, read_only: bool) -> frozenset[Permission] | None:
    if allow is None:
        return ANALYST if read_only else None
    if read_only:
        raise InvalidInputError("--read-only and --allow say two things", hint="give one of them")
    return parse_permissions(name.strip() for name in allow.split(",") if name.strip())


def add_to(app: typer.Typer) -> None:
    command(app, "mcp", mcp, panel="Serving", creates=True)
