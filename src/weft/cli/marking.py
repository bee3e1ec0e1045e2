"""Changing what is not content: bookmark, exclude, include, prune, restore."""

from typing import Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.wording import typable, where
from weft.cli.writing import NodeName
from weft.errors import InvalidInputError
from weft.tree.node_labels import counted

__all__ = ["add_to"]

_PANEL = "Marks"


def bookmark(
    call: Call,
    reference: NodeName,
    label: Annotated[list[str] | None, typer.Argument(metavar="LABEL")] = None,
    *,
    remove: Annotated[bool, flag("--remove", help="Take the mark off.")] = False,
) -> None:
    """Mark a node, with a label if you like."""
    if remove and label:
        raise InvalidInputError("--remove takes no label")
    node = call.node(reference)
    after = node.unbookmark() if remove else node.bookmark(" ".join(label) if label else None)
    done = "took the bookmark off" if remove else "bookmarked"
    call.out.answer(after.value, node.local_id, f"{done} [{node.local_id}] {where(node.tree.title)}")


def exclude(call: Call, reference: NodeName) -> None:
    """Leave a node out of what models see; it stays in sight."""
    node = call.node(reference)
    after = node.exclude()
    call.out.answer(after.value, node.local_id, f"excluded [{node.local_id}] {where(node.tree.title)}")


def include(call: Call, reference: NodeName) -> None:
    """Let models see a node again."""
    node = call.node(reference)
    after = node.include()
    call.out.answer(after.value, node.local_id, f"included [{node.local_id}] {where(node.tree.title)}")


def prune(call: Call, reference: NodeName) -> None:
    """Hide a node and all below it.

    Of several versions, only that one. Prints how many nodes went.
    """
    node = call.node(reference)
    hidden = node.prune()
    below = "" if hidden == 1 else f" and {hidden - 1:,} below it"
    told = f"pruned [{node.local_id}]{below} {where(node.tree.title)}"
    told += f"; weft restore {typable(node.local_id)} undoes it"
    call.out.answer({"node": node.refresh().value, "nodes": hidden}, str(hidden), told)


def restore(call: Call, reference: NodeName) -> None:
    """Bring back exactly what one prune hid.

    Prints how many nodes came.
    """
    node = call.node(reference)
    shown = node.restore()
    told = f"restored {counted(shown, 'node')} {where(node.tree.title)}"
    call.out.answer({"node": node.refresh().value, "nodes": shown}, str(shown), told)


def add_to(app: typer.Typer) -> None:
    for function in (bookmark, exclude, include, prune, restore):
        command(app, function.__name__, function, panel=_PANEL)
