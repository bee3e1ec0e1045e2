"""Commands that make nodes, or hang something on one: respond, annotate, edit, merge, split, join, attach."""

from typing import TypeAlias, assert_never

from weft.commands import actions as v
from weft.commands import reply
from weft.context.layers.items import node as node_item
from weft.runtime.collaboration.commands.context import CommandContext, CommandOutcome, unchanged
from weft.runtime.collaboration.commands.reference_commands import joined_with
from weft.runtime.contexts.items import AttachAll, attach_all, item_of
from weft.runtime.operations.edits import Edit, Join, Split
from weft.runtime.operations.nodes import Annotate, Append, Merge
from weft.tree.edge import Source, SourceRole
from weft.tree.node import Node

__all__ = ["run_node_command"]

Making: TypeAlias = v.Respond | v.Annotate | v.Edit | v.Merge | v.Split | v.Join | v.Attach


def run_node_command(desk: CommandContext, action: Making) -> CommandOutcome:
    tree = desk.tree
    match action:
        case v.Respond():
            return _respond(desk, action)
        case v.Annotate(reference, text):
            on = desk.row(reference)
            made = desk.loom.perform(Annotate(tree=tree, node=on.ulid, content=text))
            return _made(reply.annotated(on.local_id, made.local_id), made)
        case v.Edit(reference, text):
            old = desk.row(reference)
            made = desk.loom.perform(Edit(tree=tree, node=old.ulid, content=text))
            return _made(reply.edited(made.local_id, old.local_id, desk.see.mode(tree)), made)
        case v.Merge(references, text):
            rows = [desk.row(each) for each in references]
            made = desk.loom.perform(Merge(tree=tree, nodes=[row.ulid for row in rows], content=text))
            return _made(reply.merged(made.local_id, [row.local_id for row in rows]), made)
        case v.Split(reference, at):
            old = desk.row(reference)
            first, second = desk.loom.perform(Split(tree=tree, node=old.ulid, at=at))
            return _made(reply.split(old.local_id, first.local_id, second.local_id), first, second)
        case v.Join(reference):
            return _join(desk, reference)
        case v.Attach(reference, item):
            return _attach(desk, reference, item)
        case _:
            assert_never(action)


def _made(text: str, *nodes: Node) -> CommandOutcome:
    return CommandOutcome(text=text, nodes=tuple(node.local_id for node in nodes))


def _respond(desk: CommandContext, action: v.Respond) -> CommandOutcome:
    to = desk.row(action.node)
    sources = [
        *(Source(desk.row(each).ulid, SourceRole.CONTEXT) for each in action.context),
        *(Source(desk.row(each).ulid, SourceRole.INSTRUCTION) for each in action.instruction),
    ]
    append = Append(tree=desk.tree, parent=to.ulid, content=action.text, sources=sources)
    made = desk.loom.perform(append)
    return _made(reply.responded(made.local_id, to.local_id), made)


def _join(desk: CommandContext, reference: str) -> CommandOutcome:
    first = desk.row(reference)
    made = desk.loom.perform(Join(tree=desk.tree, node=first.ulid))
    return _made(reply.joined(made.local_id, first.local_id, joined_with(desk)), made)


def _attach(desk: CommandContext, reference: str, item: str) -> CommandOutcome:
    to, text = desk.row(reference), item.strip()
    kind, _, title = text.partition(":")
    if kind in {"doc", "document"}:
        found = desk.document(title.strip().strip('"“”'))
        attach_all(desk.loom.caller, desk.tree, to.ulid, [f"doc:{found.id}"])
        shown = reply.called("doc", found.title)
    elif text.startswith("[") and text.endswith("]"):
        # A node of this tree is nothing that would have to be read elsewhere.
        said = desk.node(text)
        items = [item_of(node_item(said.local_id, said.text))]
        desk.loom.perform(AttachAll(tree=desk.tree, node=to.ulid, items=items))
        shown = f"[{said.local_id}]"
    else:
        shown = reply.quoted(item)
        if not attach_all(desk.loom.caller, desk.tree, to.ulid, [text]):
            return unchanged(f"all of {shown} is attached to [{to.local_id}] already")
    return CommandOutcome(text=reply.attached(to.local_id, shown))
