"""Trees: new, ls, archive, delete."""

from typing import Annotated

from weft.cli.arguments import Archived, Restore, TreeName, Yes, argument, option
from weft.cli.output import Column, quoted, wire_object
from weft.cli.session import CliSession
from weft.cli.text_input import STDIN, confirm, read_stdin
from weft.errors import InvalidInputError
from weft.tree.node import counted
from weft.tree.reference import TargetKind
from weft.tree.tree import Mode


def new(
    session: CliSession,
    title: Annotated[list[str] | None, argument("TITLE", "Default: the first words of the text.")] = None,
    *,
    mode: Annotated[
        Mode, option("--mode -m", "A conversation, or one text; it never changes.")
    ] = Mode.DIALOGUE,
    text: Annotated[str, option("--text -t", "The root's text; - reads stdin.")] = "",
    system: Annotated[str, option("--system -s TEXT", "The tree's system context; - reads stdin.")] = "",
    description: Annotated[str, option("--description TEXT")] = "",
) -> None:
    """Create a tree.

    Creates the grove too, if it does not exist. Prints the tree's id.
    """
    if text == system == STDIN:
        raise InvalidInputError("stdin can be the text or the system context, not both")
    piped = read_stdin().removesuffix("\n") if STDIN in {text, system} else ""
    tree = session.grove.plant(
        " ".join(title) if title else None,
        piped if text == STDIN else text,
        mode=mode,
        system_context=piped if system == STDIN else system,
        description=description,
    )
    message = f"created {quoted(tree.title)} ({mode}); the current node is its root [{tree.root.local_id}]"
    session.out.result(tree.value, tree.id, message)


def ls(
    session: CliSession,
    *,
    archived: Archived = False,
    limit: Annotated[int | None, option("--limit -n", "The first N.", min=1)] = None,
) -> None:
    """List the trees, the last changed first.

    In a pipe: id, title, mode, nodes, branches, depth, last change and tags, separated by tabs.
    """
    read = session.grove.read
    trees = read.trees(archived=archived, limit=limit)
    labels: dict[str, list[str]] = {}
    for tag in read.tags():
        if tag.target.kind is TargetKind.TREE:
            labels.setdefault(tag.target.id, []).append(tag.label)
    empty = None
    if not trees:
        empty = (
            "all trees are archived; weft ls --archived lists them"
            if read.trees(archived=True, limit=1)
            else 'the grove has no trees; create one: weft new "A title"'
        )
    any_open = any(tree.archived_at is None for tree in trees)
    current = session.tree.id if trees and (session.options.tree or any_open) else ""

    session.out.listing(
        trees,
        Column(None, lambda tree: tree.id),
        Column("", lambda tree: "*" if tree.id == current else "", piped=False),
        Column("title", lambda tree: tree.title, shrinks=True),
        Column("mode", lambda tree: tree.mode),
        Column("nodes", lambda tree: tree.counters.nodes, number=True),
        Column("branches", lambda tree: tree.counters.branches, number=True),
        Column("depth", lambda tree: tree.counters.depth, number=True),
        Column(
            "when",
            lambda tree: tree.updated_at if tree.archived_at is None else "archived",
            field=lambda tree: tree.updated_at,
        ),
        Column("tags", lambda tree: labels.get(tree.id, [])),
        empty=empty,
        wire=lambda tree: wire_object(tree, tags=labels.get(tree.id, [])),
    )


def archive(session: CliSession, name: TreeName = None, *, undo: Restore = False) -> None:
    """Archive a tree; nothing is lost."""
    tree = session.named_tree(name)
    (tree.unarchive if undo else tree.archive)()
    done = "restored" if undo else "archived"
    session.out.result(tree.refresh().value, tree.id, f"{done} {quoted(tree.title)}")


def delete(session: CliSession, name: TreeName = None, *, yes: Yes = False) -> None:
    """Delete a tree and everything in it, permanently."""
    tree = session.named_tree(name)
    title = quoted(tree.title)
    confirm(f"delete {title} with {counted(tree.counters.nodes, 'node')} permanently?", yes=yes)
    nodes = tree.delete(confirm=tree.id)
    session.out.result(
        {"treeId": tree.id, "title": tree.title, "nodes": nodes},
        tree.id,
        f"deleted {title} with {counted(nodes, 'node')}",
    )
