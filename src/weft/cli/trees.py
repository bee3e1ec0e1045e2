"""Trees as wholes: new, ls, tree, archive, delete."""

import sys
from typing import Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.completing import complete_nodes, complete_trees
from weft.cli.drawing import draw_tree
from weft.cli.output import Column
from weft.cli.texts import STDIN, is_answered, person_is_there, read_stdin
from weft.cli.wording import ago, quoted
from weft.errors import InvalidInputError
from weft.tree.json_names import iso, to_wire
from weft.tree.node_labels import counted
from weft.tree.reference import TargetKind
from weft.tree.tree import Mode, Tree

__all__ = ["add_to", "confirm"]

_PANEL = "Trees"
_COLUMNS = (
    Column(""),
    Column("title", gives=True),
    Column("mode"),
    Column("nodes", number=True),
    Column("branches", number=True),
    Column("depth", number=True),
    Column("when"),
    Column("tags"),
)

TreeName = Annotated[
    str | None, typer.Argument(metavar="TREE", help="A title or id.", autocompletion=complete_trees)
]


def confirm(question: str, *, yes: bool) -> None:
    """Let a person say yes to what cannot be undone; a script says it with --yes."""
    if yes:
        return
    if not person_is_there():
        raise InvalidInputError("this cannot be undone: confirm it", hint="pass --yes")
    if not is_answered(question):
        sys.stderr.write("nothing was deleted\n")
        raise typer.Exit(1)


def new(
    call: Call,
    title: Annotated[
        str | None, typer.Argument(metavar="TITLE", help="Else the first words of the text.")
    ] = None,
    *,
    mode: Annotated[
        Mode, typer.Option("--mode", "-m", help="A conversation, or one text; it never changes.")
    ] = Mode.DIALOGUE,
    text: Annotated[str, typer.Option("--text", "-t", help="The root's text; - reads stdin.")] = "",
    system: Annotated[
        str, typer.Option("--system", "-s", metavar="TEXT", help="The tree's system context; - reads stdin.")
    ] = "",
    description: Annotated[str, typer.Option("--description", metavar="TEXT")] = "",
) -> None:
    """Plant a tree.

    The grove is made too, if there is none yet. Prints the tree's id.
    """
    if text == system == STDIN:
        raise InvalidInputError("stdin can be the text or the system context, not both")
    piped = read_stdin().removesuffix("\n") if STDIN in {text, system} else ""
    tree = call.grove.plant(
        title,
        piped if text == STDIN else text,
        mode=mode,
        system_context=piped if system == STDIN else system,
        description=description,
    )
    root = tree.root
    told = f"planted {quoted(tree.title)} ({mode}); you stand at its root [{root.local_id}]"
    call.out.answer(tree.value, tree.id, told)


def ls(
    call: Call,
    *,
    archived: Annotated[bool, flag("--archived", "-a", help="Also trees put away.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Only so many.")] = None,
) -> None:
    """List the trees, the last changed first.

    In a pipe: id, title, mode, nodes, branches, depth, last change and tags, with tabs between.
    """
    trees = call.grove.read.trees(archived=archived, limit=limit)
    labels: dict[str, list[str]] = {}
    for tag in call.grove.read.tags():
        if tag.target.kind is TargetKind.TREE:
            labels.setdefault(tag.target.id, []).append(tag.label)
    if call.out.as_json:
        call.out.json([_with_tags(tree, labels.get(tree.id, [])) for tree in trees])
        return
    if not trees:
        put_away = call.grove.read.trees(archived=True, limit=1)
        call.out.talk(
            "every tree is put away; weft ls --archived shows them"
            if put_away
            else 'the grove has no trees yet; plant one: weft new "A title"'
        )
        return
    current = call.tree.id if call.choices.tree or any(tree.archived_at is None for tree in trees) else ""
    call.out.table(
        _COLUMNS,
        (_shown(tree, labels.get(tree.id, []), call.now, current) for tree in trees),
        (_plain(tree, labels.get(tree.id, [])) for tree in trees),
    )


def _with_tags(tree: Tree, labels: list[str]) -> object:
    wire = to_wire(tree)
    return {**wire, "tags": labels} if isinstance(wire, dict) else wire


def _shown(tree: Tree, labels: list[str], now: int, current: str) -> tuple[str, ...]:
    counters = tree.counters
    return (
        "*" if tree.id == current else "",
        tree.title,
        tree.mode,
        f"{counters.nodes:,}",
        f"{counters.branches:,}",
        f"{counters.depth:,}",
        "archived" if tree.archived_at is not None else ago(tree.updated_at, now),
        ", ".join(labels),
    )


def _plain(tree: Tree, labels: list[str]) -> tuple[str, ...]:
    counters = tree.counters
    numbers = (str(counters.nodes), str(counters.branches), str(counters.depth))
    return (tree.id, tree.title, tree.mode, *numbers, iso(tree.updated_at), ",".join(labels))


def tree(
    call: Call,
    name: TreeName = None,
    *,
    top: Annotated[
        str | None,
        typer.Option(
            "--from", "-f", metavar="NODE", help="Draw from this node down.", autocompletion=complete_nodes
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Stop looking deeper after so many nodes.")
    ] = 2_000,
) -> None:
    """Draw a tree: one line a node, * where you stand."""
    read = call.grove.read
    handle = call.tree if name is None else call.grove.tree(name)
    if top is not None:
        node = call.node(top) if name is None else handle.node(top)
        handle = node.tree
        top = node.id
    outline = read.outline(handle.id, node=top, limit=limit)
    cursor = read.cursor(handle.id).node_id
    if call.out.as_json:
        rows = [
            {
                "node": row.node,
                "indent": row.indent,
                "branches": row.branches,
                "annotations": row.annotations,
                "hiddenBelow": row.hidden_below,
            }
            for row in outline
        ]
        call.out.json({"tree": handle.value, "cursor": cursor, "nodes": rows})
        return
    counters = handle.counters
    call.out.talk(
        f"{quoted(handle.title)} · {handle.mode} · {counted(counters.nodes, 'node')} · "
        f"{counted(counters.branches, 'branch')} · depth {counters.depth:,}"
    )
    lines = draw_tree(
        outline,
        mode=handle.mode,
        cursor=cursor,
        names={agent.id: agent.name for agent in read.agents(archived=True)},
        groups=handle.groups,
        words=call.out.width if call.out.terminal else 80,
    )
    for line in lines:
        call.out.line(line)


def archive(
    call: Call,
    name: TreeName = None,
    *,
    undo: Annotated[bool, flag("--undo", help="Take it out again.")] = False,
) -> None:
    """Put a tree away; nothing is lost."""
    handle = call.named_tree(name)
    if undo:
        handle.unarchive()
    else:
        handle.archive()
    done = "took out" if undo else "put away"
    call.out.answer(handle.refresh().value, handle.id, f"{done} {quoted(handle.title)}")


def delete(
    call: Call,
    name: TreeName = None,
    *,
    yes: Annotated[bool, flag("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Destroy a tree and all that is in it, for good."""
    handle = call.named_tree(name)
    title = quoted(handle.title)
    confirm(
        f"delete {title} with {counted(handle.counters.nodes, 'node')}, for good?",
        yes=yes,
    )
    gone = handle.delete(confirm=handle.id)
    call.out.answer(
        {"treeId": handle.id, "title": handle.title, "nodes": gone},
        handle.id,
        f"deleted {title}: {counted(gone, 'node')} gone",
    )


def add_to(app: typer.Typer) -> None:
    command(app, "new", new, panel=_PANEL, creates=True)
    command(app, "ls", ls, panel=_PANEL)
    command(app, "tree", tree, panel=_PANEL)
    command(app, "archive", archive, panel=_PANEL)
    command(app, "delete", delete, panel=_PANEL)
