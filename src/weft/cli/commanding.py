"""Commands as models say them: do."""

from typing import Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command
from weft.cli.completing import complete_agents
from weft.cli.results import result_to_wire
from weft.cli.texts import text_given
from weft.commands.scanner import ARROW
from weft.commands.lexer import quote

__all__ = ["add_to"]

_PANEL = "Models"


def do(
    call: Call,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND", help="As a model would say it; - or a pipe for several, each on a line."
        ),
    ] = None,
    *,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            "-a",
            metavar="AGENT",
            help="Let this agent do it, with its rights as far as you have them.",
            autocompletion=complete_agents,
        ),
    ] = None,
) -> None:
    """Carry out commands: → view a7x2, → respond a7x2 "…", → help.

    A failure does not stop the rest; the exit code is that of the first one.
    """
    with text_given(_lines(words)) as text:
        done = call.tree.do(text, agent=agent)
    if call.out.as_json:
        call.out.json([result_to_wire(result) for result in done])
    else:
        for number, result in enumerate(done):
            if number:
                call.out.text("")
            call.out.text(result.text)
    if done.error is not None:
        raise typer.Exit(done.error.row.exit)


def _lines(words: list[str] | None) -> list[str] | None:
    """Several commands, each in an argument; or one, in which the shell has taken quotation marks off."""
    if words is None or len(words) < 2:
        return words
    if all(word.lstrip().startswith(ARROW) for word in words[1:]):
        return ["\n".join(words)]
    plain = [word if not any(map(str.isspace, word)) or '"' in word else quote(word) for word in words]
    return [" ".join(plain)]


def add_to(app: typer.Typer) -> None:
    command(app, "do", do, panel=_PANEL)
