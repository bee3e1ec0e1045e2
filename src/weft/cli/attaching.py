"""What a turn brings along: attach, detach, and what may be attached."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.completing import complete_nodes
from weft.cli.progress import progress_bar
from weft.cli.texts import STDIN, read_stdin
from weft.cli.wording import where
from weft.errors import InvalidInputError
from weft.tree.node_labels import counted

if TYPE_CHECKING:
    from weft.tree.item import Item

__all__ = ["add_to", "read_attachments"]

_PANEL = "Writing"
_NodeName = Annotated[
    str,
    typer.Argument(
        metavar="NODE", help="a7x2, TREE/a7x2, a ULID, or . for here.", autocompletion=complete_nodes
    ),
]


def read_attachments(call: Call, references: Iterable[str], tree: str) -> "list[Item]":
    """Items for what was named, read now; what could not be read of a tag or folder is told."""
    named = list(references)
    if not named:
        return []
    from weft.runtime.contexts.items import read_items  # noqa: PLC0415 - the runtime loads when it is used

    with progress_bar("reading notes") as progress:
        found = read_items(call.grove.caller, named, tree=tree, progress=progress)
    for warning in found.warnings:
        call.out.talk(f"note: {warning}")
    return list(found.items)


def attach(
    call: Call,
    reference: _NodeName,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT...", help="PATH, PATH#L3-L9, active:PATH, #tag, folder:…, doc:…, [node]."
        ),
    ],
    *,
    text: Annotated[
        str | None,
        typer.Option("--text", "-t", metavar="TEXT", help="The text of one page or note; - for stdin."),
    ] = None,
    pin: Annotated[bool, flag("--pin", help="Keep it in the library from this turn on, whole.")] = False,
) -> None:
    """Hang notes, pages, documents or nodes on a turn that no model has answered yet.

    Notes are read now. Prints the ids of what hangs there afterwards.
    """
    from dataclasses import replace  # noqa: PLC0415

    from weft.runtime.contexts.items import given_item  # noqa: PLC0415 - the runtime loads when it is used

    node = call.node(reference)
    there = {item.id for item in node.value.attachments}
    if text is None:
        items = read_attachments(call, names, node.value.tree_id)
        named = {name.strip() for name in names}
        # What a tag or folder stands for may hang there already; what was named itself may not.
        items = [item for item in items if item.id not in there or item.id in named]
    elif len(names) != 1:
        raise InvalidInputError("one text belongs to one name", hint="attach them one by one")
    else:
        items = [given_item(names[0], read_stdin() if text == STDIN else text)]
    node = node.attach(*(replace(item, pinned=True) if pin else item for item in items))
    told = f"attached {counted(len(items), 'item')} to [{node.local_id}] {where(node.tree.title)}"
    call.out.answer(node.value, "\n".join(each.id for each in node.value.attachments), told)


def detach(
    call: Call,
    reference: _NodeName,
    names: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of what hangs there.")],
) -> None:
    """Take items off a turn that no model has answered yet."""
    node = call.node(reference)
    for name in names:
        node = node.detach(name)
    left = "\n".join(each.id for each in node.value.attachments)
    call.out.answer(
        node.value, left or None, f"detached {counted(len(names), 'item')} from [{node.local_id}]"
    )


def add_to(app: typer.Typer) -> None:
    command(app, "attach", attach, panel=_PANEL)
    command(app, "detach", detach, panel=_PANEL)
