"""Node flags: bookmark, exclude, include, prune, restore."""

from typing import Annotated

import typer

from weft.cli.arguments import NodeName, flag
from weft.cli.command import command
from weft.cli.formatting import typable, where
from weft.cli.session import CliSession
from weft.errors import InvalidInputError
from weft.tree.node import counted

_PANEL = "Flags"


def bookmark(
    session: CliSession,
    reference: NodeName,
    label: Annotated[list[str] | None, typer.Argument(metavar="LABEL", help="A label for it.")] = None,
    *,
    remove: Annotated[bool, flag("--remove", help="Remove the bookmark.")] = False,
) -> None:
    """Bookmark a node."""
    if remove and label:
        raise InvalidInputError("--remove takes no label")
    node = session.node(reference)
    after = node.unbookmark() if remove else node.bookmark(" ".join(label) if label else None)
    done = "removed the bookmark of" if remove else "bookmarked"
    session.out.result(after.value, node.local_id, f"{done} [{node.local_id}] {where(node.tree.title)}")


def exclude(session: CliSession, reference: NodeName) -> None:
    """Exclude a node from what models see; people still see it."""
    node = session.node(reference)
    after = node.exclude()
    session.out.result(after.value, node.local_id, f"excluded [{node.local_id}] {where(node.tree.title)}")


def include(session: CliSession, reference: NodeName) -> None:
    """Include an excluded node again."""
    node = session.node(reference)
    after = node.include()
    session.out.result(after.value, node.local_id, f"included [{node.local_id}] {where(node.tree.title)}")


def prune(session: CliSession, reference: NodeName) -> None:
    """Hide a node and everything below it.

    Of several versions, only that one. Prints the number of nodes hidden.
    """
    node = session.node(reference)
    hidden = node.prune()
    below = "" if hidden == 1 else f" and {hidden - 1:,} below it"
    message = f"pruned [{node.local_id}]{below} {where(node.tree.title)}"
    message += f"; weft restore {typable(node.local_id)} undoes it"
    session.out.result({"node": node.refresh().value, "nodes": hidden}, str(hidden), message)


def restore(session: CliSession, reference: NodeName) -> None:
    """Restore exactly what one prune hid.

    Prints the number of nodes restored.
    """
    node = session.node(reference)
    shown = node.restore()
    message = f"restored {counted(shown, 'node')} {where(node.tree.title)}"
    session.out.result({"node": node.refresh().value, "nodes": shown}, str(shown), message)


def add_to(app: typer.Typer) -> None:
    for function in (bookmark, exclude, include, prune, restore):
        command(app, function.__name__, function, panel=_PANEL)
