"""A grove on the move: export, import, backup, migrate, doctor."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.completing import complete_trees
from weft.cli.progress import progress_bar
from weft.cli.texts import STDIN
from weft.cli.wording import quoted
from weft.errors import InvalidInputError
from weft.tree.marks import counted

__all__ = ["add_to"]

_PANEL = "Moving"


def export(
    call: Call,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TREE]...", help="Titles or ids; none: the whole grove.", autocompletion=complete_trees
        ),
    ] = None,
    *,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The file; .gz compresses it; - is stdout.")
    ] = STDIN,
    force: Annotated[bool, flag("--force", "-f", help="Overwrite the file.")] = False,
) -> None:
    """Write trees, or the whole grove, as one JSON file that can be imported again.

    Nothing is lost on the way but who may enter: users and tokens are never written.
    """
    if out == STDIN and call.out.as_json:
        raise InvalidInputError("the export itself is JSON: where should it go?", hint="name a file with --out")
    chosen = list(names or ()) or ([call.choices.tree] if call.choices.tree is not None else None)
    with progress_bar("exporting") as progress:
        target = sys.stdout.buffer if out == STDIN else Path(out)
        done = call.grove.export(target, chosen, overwrite=force, progress=progress)
    for note in done.notes:
        call.out.talk(f"note: {note}")
    where = "" if out == STDIN else f" to {out}"
    told = f"exported {counted(done.trees, 'tree')} with {counted(done.nodes, 'node')}{where}"
    if out == STDIN:
        call.out.talk(told)
    else:
        call.out.answer({"file": out, **_wire(done)}, out, told)


def import_(
    call: Call,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What weft export wrote; - is stdin.")],
) -> None:
    """Take in a file that weft export wrote: all of it, or nothing.

    Every hash is checked first. Prints the ids of the trees that came.
    """
    with progress_bar("importing") as progress:
        done = call.grove.import_(sys.stdin.buffer if file == STDIN else Path(file), progress=progress)
    for note in done.notes:
        call.out.talk(f"note: {note}")
    titles = [call.grove.tree(tree).title for tree in done.trees[:3]]
    named = ", ".join(quoted(title) for title in titles) + (" …" if len(done.trees) > len(titles) else "")
    told = f"imported {counted(len(done.trees), 'tree')} with {counted(done.nodes, 'node')}"
    told += f": {named}" if titles else ""
    call.out.answer(done, "\n".join(done.trees) if done.trees else None, told)


def _wire(done: object) -> dict[str, object]:
    from weft.tree.wire import to_wire  # noqa: PLC0415 - the runtime loads when it is used

    wire = to_wire(done)
    return dict(wire) if isinstance(wire, dict) else {}


def add_to(app: typer.Typer) -> None:
    command(app, "export", export, panel=_PANEL)
    command(app, "import", import_, panel=_PANEL, creates=True)
