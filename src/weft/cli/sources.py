"""The options that name further sources of what is said or generated."""

from typing import Annotated

import typer

from weft.cli.completing import complete_nodes

__all__ = ["ContextNodes", "InstructionNodes"]

ContextNodes = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="NODE",
        help="Another source, as context. Repeat it for more.",
        autocompletion=complete_nodes,
    ),
]
InstructionNodes = Annotated[
    list[str] | None,
    typer.Option(
        "--instruction",
        metavar="NODE",
        help="Another source, as instruction. Repeat it for more.",
        autocompletion=complete_nodes,
    ),
]
