"""Serving a grove over HTTP: serve."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from weft.cli.call import Call
from weft.cli.command import command

if TYPE_CHECKING:
    from weft.server.lifecycle import Address

__all__ = ["AnswersTo", "ListeningAt", "add_to"]

_PORT = 7370
ListeningAt: TypeAlias = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="The address to listen at: this machine's own.")
]
AnswersTo: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--host-name", metavar="NAME", help="A name that it also answers to; may be repeated."),
]


def serve(
    call: Call,
    *,
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65_535, help="Where; 0 for any that is free.")
    ] = _PORT,
    host: ListeningAt = "127.0.0.1",
    names: AnswersTo = None,
    origins: Annotated[
        list[str] | None,
        typer.Option(
            "--origin",
            metavar="ORIGIN",
            help="A page elsewhere that may call it, such as https://example.org; may be repeated.",
        ),
    ] = None,
) -> None:
    """Serve the grove over HTTP until it is stopped.

    Prints a link that opens it in a browser, once. Programs send the token instead, which --json shows;
    users have their own: weft users.
    """
    from weft.grove.grove import open_grove  # noqa: PLC0415 - help and completion do without
    from weft.server.lifecycle import serve as serve_grove  # noqa: PLC0415
    from weft.server.settings import ServerSettings  # noqa: PLC0415

    chosen = ServerSettings(origins=origins or ())

    def ready(address: "Address") -> None:
        if call.out.as_json:
            call.out.json(address)
        else:
            # A terminal shows it too: it is what the command is for.
            call.out.text(address.link)
        call.out.talk(f"serving at {address.url}; stop with Ctrl-C")
        call.out.flush()

    settings = call.settings
    with open_grove(
        settings.address if call.choices.grove is None else call.choices.grove,
        clock=settings.clock,
        entropy=settings.entropy,
        accept_clock=call.choices.accept_clock,
    ) as opened:
        grove = opened if call.choices.agent is None else opened.acting_as(call.choices.agent)
        serve_grove(grove, host=host, port=port, names=names or (), settings=chosen, ready=ready)
    call.out.talk("stopped")


def add_to(app: typer.Typer) -> None:
    command(app, "serve", serve, panel="Serving", creates=True)
