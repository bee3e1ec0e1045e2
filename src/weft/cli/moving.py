"""A grove on the move: export, import, backup, migrate, doctor."""

import contextlib
import sys
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Annotated

import typer

from weft.cli.call import Call
from weft.cli.chats import export_chat, import_chat
from weft.cli.command import command, flag
from weft.cli.completing import complete_trees
from weft.cli.output import Piece
from weft.cli.progress import progress_bar
from weft.cli.texts import STDIN
from weft.cli.wording import quoted
from weft.errors import InvalidInputError, NotFoundError
from weft.interop.weft_json import open_file
from weft.tree.node_labels import counted

__all__ = ["add_to"]

_PANEL = "Moving"
_FILES = (".json", ".gz", ".md")
_LOOKS = {"good": ("✓", "green"), "note": ("!", "yellow"), "wrong": ("✗", "red")}


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
    chat: Annotated[
        bool, flag("--chat", help="As a Markdown chat: one path, to a NODE or to where you stand in a tree.")
    ] = False,
) -> None:
    """Write trees, or the whole grove, as one JSON file that can be imported again.

    Nothing is lost on the way but what belongs to this place: users, tokens and mounted
    folders are never written.
    """
    if chat:
        export_chat(call, names or (), out, force=force)
        return
    if out == STDIN and call.out.as_json:
        raise InvalidInputError(
            "the export itself is JSON: where should it go?", hint="name a file with --out"
        )
    chosen = list(names or ()) or ([call.choices.tree] if call.choices.tree is not None else None)
    with progress_bar("exporting") as progress, _pointing_to_out(chosen or ()):
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


@contextlib.contextmanager
def _pointing_to_out(names: Iterable[str]) -> Generator[None]:
    """Say how a file is named, where one was taken for a tree."""
    try:
        yield
    except NotFoundError as error:
        file = next((name for name in names if name.lower().endswith(_FILES)), None)
        if file is None:
            raise
        raise NotFoundError(error.message, hint=f"to write to a file: --out {file}") from error


def import_(
    call: Call,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What weft export wrote; - is stdin.")],
    *,
    chat: Annotated[
        bool, flag("--chat", help="It is a Markdown chat, as files that end in .md are.")
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="AGENT", help="The model that a chat's answers are put down to."),
    ] = None,
) -> None:
    """Take in a file that weft export wrote: all of it, or nothing.

    Every hash is checked first. Prints the ids of the trees that came.
    """
    if chat or file.lower().endswith((".md", ".markdown")):
        import_chat(call, file, agent)
        return
    if file != STDIN and not Path(file).is_fifo():
        # Before a grove is made for it.
        with open_file(Path(file)):
            pass
    with progress_bar("importing") as progress:
        done = call.grove.import_(sys.stdin.buffer if file == STDIN else Path(file), progress=progress)
    for note in done.notes:
        call.out.talk(f"note: {note}")
    titles = [call.grove.tree(tree).title for tree in done.trees[:3]]
    named = ", ".join(quoted(title) for title in titles) + (" …" if len(done.trees) > len(titles) else "")
    told = f"imported {counted(len(done.trees), 'tree')} with {counted(done.nodes, 'node')}"
    told += f": {named}" if titles else ""
    call.out.answer(done, "\n".join(done.trees) if done.trees else None, told)


def backup(
    call: Call,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The copy; its blobs go to FILE-blobs.")],
    *,
    force: Annotated[bool, flag("--force", "-f", help="Overwrite an older backup.")] = False,
    verify: Annotated[bool, flag("--verify", help="Recompute every hash in the copy, too.")] = False,
) -> None:
    """Copy the grove to a file while others go on writing.

    To restore it, open it: --grove FILE; or weft migrate FILE ELSEWHERE.
    """
    with progress_bar("backing up") as progress:
        done = call.grove.backup(file, overwrite=force, verify=verify, progress=progress)
    for note in done.notes:
        call.out.talk(f"note: {note}")
    checked = "every hash recomputed" if verify else "checked"
    told = f"backed up to {file}: {done.bytes:,} bytes, {counted(done.blobs, 'blob')}, {checked}"
    call.out.answer(done, file, told)


def migrate(
    call: Call,
    source: Annotated[str, typer.Argument(metavar="FROM", help="A file, or postgresql://…")],
    target: Annotated[str, typer.Argument(metavar="TO", help="A new file, or an empty database.")],
) -> None:
    """Copy a grove whole to another database, and compare every row.

    All or nothing; the grove it came from stays as it is. Prints how many rows were copied.
    """
    from weft.runtime.transfer.copy_backup import (  # noqa: PLC0415 - the runtime loads when it is used
        migrate_grove,
    )

    with progress_bar("copying") as progress:
        done = migrate_grove(source, target, progress=progress)
    for note in done.notes:
        call.out.talk(f"note: {note}")
    tables = [
        {"table": name, "rows": count, "sha256": digest} for name, (count, digest) in done.tables.items()
    ]
    value = {"rows": done.rows, "blobs": done.blobs, "tables": tables, "notes": done.notes}
    told = f"copied {counted(done.rows, 'row')} and {counted(done.blobs, 'blob')}; both sides are equal"
    call.out.answer(value, str(done.rows), told)


def doctor(
    call: Call,
    *,
    repair: Annotated[
        bool, flag("--repair", help="Sweep what nobody needs, and count anew; never anything else.")
    ] = False,
) -> None:
    """Look the grove over: the database, the files, the chains.

    Nothing is changed unless you say --repair. Ends with 1 if something is wrong.
    """
    from weft.runtime.transfer.doctor import examine  # noqa: PLC0415 - the runtime loads when it is used

    address = call.settings.address if call.choices.grove is None else call.choices.grove
    with progress_bar("looking") as progress:
        found = examine(address, repair=repair, clock=call.settings.clock, progress=progress)
    if call.out.as_json:
        call.out.json({**_wire(found), "sound": found.sound})
    else:
        for words in found.repaired:
            call.out.talk(words)
        for finding in found.findings:
            mark, style = _LOOKS[finding.level.value]
            call.out.pieces([Piece(mark, style), Piece(f" {finding.about}: {finding.words}")])
            if finding.hint is not None:
                call.out.pieces([Piece(f"  hint: {finding.hint}", "dim")])
        call.out.talk("all is well" if found.sound else "something is wrong")
    if not found.sound:
        call.out.flush()
        raise typer.Exit(1)


def _wire(done: object) -> dict[str, object]:
    from weft.tree.json_names import to_wire  # noqa: PLC0415 - the runtime loads when it is used

    wire = to_wire(done)
    return dict(wire) if isinstance(wire, dict) else {}


def add_to(app: typer.Typer) -> None:
    command(app, "export", export, panel=_PANEL)
    command(app, "import", import_, panel=_PANEL, creates=True)
    for function in (backup, migrate, doctor):
        command(app, function.__name__, function, panel=_PANEL)
