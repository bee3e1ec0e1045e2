"""Folders of notes: vault add, ls, show, rm; and what the user wants remembered."""

from typing import Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, group
from weft.cli.output import Column
from weft.cli.texts import text_given
from weft.cli.wording import ago, quoted
from weft.cli.writing import Words
from weft.tree.node_labels import counted

__all__ = ["add_to"]

_VaultName = Annotated[str, typer.Argument(metavar="VAULT", help="Its name or id.")]


def ls(call: Call) -> None:
    """Folders of notes that may be attached; they are read and never written. Alone: list them.

    In a pipe: id, name and folder, with tabs between.
    """
    vaults = [each.value for each in call.grove.vaults]
    if call.out.as_json:
        call.out.json(vaults)
        return
    if not vaults:
        call.out.talk("no folder is mounted yet: weft vault add FOLDER")
        return
    call.out.table(
        (Column("name"), Column("folder", gives=True), Column("since")),
        ((each.name, each.path, ago(each.created_at, call.now)) for each in vaults),
        ((each.id, each.name, each.path) for each in vaults),
    )


def add(
    call: Call,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder of notes.")],
    *,
    name: Annotated[
        str | None, typer.Option("--name", "-n", metavar="NAME", help="Else the folder's own.")
    ] = None,
) -> None:
    """Mount a folder read-only.

    Links are resolved now; nothing outside of the folder is ever read. Prints its id.
    """
    made = call.grove.vaults.mount(folder, name)
    there = len(made.notes().paths)
    call.out.answer(made.value, made.id, f"mounted {quoted(made.name)}, with {counted(there, 'note')}")


def show(
    call: Call,
    vault: _VaultName,
    folder: Annotated[str, typer.Argument(metavar="[FOLDER]", help="One of its folders.")] = "",
) -> None:
    """List the notes of a vault by the paths that attach them."""
    found = call.grove.vaults[vault]
    listing = found.notes(folder)
    if call.out.as_json:
        call.out.json({"vault": found.value, "notes": list(listing.paths), "leftOut": listing.left_out})
        return
    for path in listing.paths:
        call.out.text(path)
    if listing.left_out:
        call.out.talk(f"{counted(listing.left_out, 'link')} left out: what they lead to is not in the folder")
    if not listing.paths:
        call.out.talk("there are no notes in it")


def rm(call: Call, vault: _VaultName) -> None:
    """Let a folder go; what was attached from it stays as it was attached."""
    found = call.grove.vaults[vault]
    found.unmount()
    call.out.answer(found.value, found.id, f"unmounted {quoted(found.name)}")


def remember(call: Call, text: Words = None) -> None:
    """Add a line to the user's memory, which stands at the beginning of every request.

    The first one begins a document “Memory”; weft prefer userMemory=TITLE chooses another.
    """
    with text_given(text) as words:
        saved = call.grove.remember(words)
    call.out.answer(saved.value, saved.id, f"remembered in {quoted(saved.title)}, revision {saved.revision}")


def add_to(app: typer.Typer) -> None:
    family = group(app, "vault", ls, panel="References")
    command(family, "ls", ls)
    command(family, "add", add, creates=True)
    command(family, "show", show)
    command(family, "rm", rm)
    command(app, "remember", remember, panel="References", creates=True)
