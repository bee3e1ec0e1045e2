"""Reading a path: as a conversation, as one text, as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag
from weft.cli.completing import complete_nodes
from weft.cli.drawing import first_words, label_of, node_marks, style_of
from weft.cli.output import Piece
from weft.cli.wording import ago
from weft.errors import InvalidInputError
from weft.tree.json_names import to_wire
from weft.tree.node import Node
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.grove.tree import TreeHandle

__all__ = ["add_to"]


def read(
    call: Call,
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="NODE",
            help="Where the path ends: a7x2, TREE/a7x2, a ULID, or a tree. Else where you stand.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    *,
    only: Annotated[bool, flag("--node", help="Just that node.")] = False,
    tail: Annotated[int | None, typer.Option("--tail", min=1, help="The last N nodes.")] = None,
    head: Annotated[int | None, typer.Option("--head", min=1, help="The first N nodes.")] = None,
    headings: Annotated[
        bool | None,
        flag("--headings/--raw", help="Who and when above each text, or texts only; a pipe gets texts only."),
    ] = None,
    annotations: Annotated[bool, flag("--annotations", "-a", help="With the notes on it.")] = False,
) -> None:
    """Read the path from the root to a node."""
    if sum((only, tail is not None, head is not None)) > 1:
        raise InvalidInputError("--node, --head and --tail exclude each other")
    tree, node = call.place(reference)
    end = None if node is None else node.id
    path = call.grove.read.path(tree.id, end, head=head, tail=1 if only else tail)
    whole = node is None and not only and head is None
    buffer = tree.working_buffer if whole and tree.mode is Mode.BUFFER else ""
    notes = _notes(call, tree, path) if annotations else {}
    if call.out.as_json:
        nodes = [_wire(each, notes.get(each.id) if annotations else None) for each in path]
        call.out.json({"treeId": tree.id, "mode": tree.mode, "nodes": nodes, "workingBuffer": buffer})
        return
    if headings is None:
        headings = annotations or (call.out.terminal and tree.mode is Mode.DIALOGUE)
    if headings:
        _tell(call, path, notes, buffer)
    elif tree.mode is Mode.BUFFER:
        call.out.pieces(_document(path, buffer))
    else:
        call.out.text("\n\n".join(each.text for each in path if each.text))


def _notes(call: Call, tree: "TreeHandle", path: Sequence[Node]) -> dict[str, list[Node]]:
    read = call.grove.read
    return {node.id: read.children(tree.id, node.id, annotations=True) for node in path}


def _wire(node: Node, notes: Sequence[Node] | None) -> object:
    wire = to_wire(node)
    if notes is None or not isinstance(wire, dict):
        return wire
    return {**wire, "annotations": to_wire(notes)}


def _document(path: Sequence[Node], buffer: str) -> Iterator[Piece]:
    for node in path:
        yield Piece(node.text, style_of(node))
    yield Piece(buffer, "dim")


def _tell(call: Call, path: Sequence[Node], notes: Mapping[str, Sequence[Node]], buffer: str) -> None:
    """Each node under a heading, a blank line between; an empty root says nothing."""
    names = {agent.id: agent.name for agent in call.grove.read.agents(archived=True)}
    told = [node for node in path if not (node.is_root and not node.text and node.kind == "text")]
    for index, node in enumerate(told):
        if index:
            call.out.text("")
        call.out.line(_heading(node, names, call.now))
        call.out.text(node.text or first_words(node), style_of(node) if node.text else "dim")
        for note in notes.get(node.id, ()):
            call.out.line([Piece("  note ", "dim"), *_heading(note, names, call.now)])
            call.out.text("\n".join("  " + line for line in note.text.split("\n")), style_of(note))
    if buffer:
        call.out.text("\n(uncommitted)" if told else "(uncommitted)", "dim")
        call.out.text(buffer)


def _heading(node: Node, names: Mapping[str, str], now: int) -> list[Piece]:
    facts = [ago(node.created_at, now), *node_marks(node)]
    return [
        Piece(label_of(node, names), f"bold {style_of(node)}".strip()),
        Piece(" · " + " · ".join(facts), "dim"),
    ]


def add_to(app: typer.Typer) -> None:
    command(app, "read", read, panel="Trees")
