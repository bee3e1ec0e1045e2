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

Making: TypeAlias = (
    v.RespondCommand
    | v.AnnotateCommand
    | v.EditCommand
    | v.MergeCommand
    | v.SplitCommand
    | v.JoinCommand
    | v.AttachCommand
)


def run_node_command(context: CommandContext, action: Making) -> CommandOutcome:
    tree = context.tree
    match action:
        case v.RespondCommand():
            return _respond(context, action)
        case v.AnnotateCommand(reference, text):
            on = context.row(reference)
            made = context.caller.perform(Annotate(tree=tree, node=on.ulid, content=text))
            return _made(reply.annotated(on.local_id, made.local_id), made)
        case v.EditCommand(reference, text):
            old = context.row(reference)
            made = context.caller.perform(Edit(tree=tree, node=old.ulid, content=text))
            return _made(reply.edited(made.local_id, old.local_id, context.see.mode(tree)), made)
        case v.MergeCommand(references, text):
            rows = [context.row(each) for each in references]
            made = context.caller.perform(Merge(tree=tree, nodes=[row.ulid for row in rows], content=text))
            return _made(reply.merged(made.local_id, [row.local_id for row in rows]), made)
        case v.SplitCommand(reference, at):
            old = context.row(reference)
            first, second = context.caller.perform(Split(tree=tree, node=old.ulid, at=at))
            return _made(reply.split(old.local_id, first.local_id, second.local_id), first, second)
        case v.JoinCommand(reference):
            return _join(context, reference)
        case v.AttachCommand(reference, item):
            return _attach(context, reference, item)
        case _:
            assert_never(action)


def _made(text: str, *nodes: Node) -> CommandOutcome:
    return CommandOutcome(text=text, nodes=tuple(node.local_id for node in nodes))


def _respond(context: CommandContext, action: v.RespondCommand) -> CommandOutcome:
    to = context.row(action.node)
    sources = [
        *(Source(context.row(each).ulid, SourceRole.CONTEXT) for each in action.context),
        *(Source(context.row(each).ulid, SourceRole.INSTRUCTION) for each in action.instruction),
    ]
    append = Append(tree=context.tree, parent=to.ulid, content=action.text, sources=sources)
    made = context.caller.perform(append)
    return _made(reply.responded(made.local_id, to.local_id), made)


def _join(context: CommandContext, reference: str) -> CommandOutcome:
    first = context.row(reference)
    made = context.caller.perform(Join(tree=context.tree, node=first.ulid))
    return _made(reply.joined(made.local_id, first.local_id, joined_with(context)), made)


def _attach(context: CommandContext, reference: str, item: str) -> CommandOutcome:
    to, text = context.row(reference), item.strip()
    kind, _, title = text.partition(":")
    if kind in {"doc", "document"}:
        found = context.document(title.strip().strip('"“”'))
        attach_all(context.caller, context.tree, to.ulid, [f"doc:{found.id}"])
        shown = reply.called("doc", found.title)
    elif text.startswith("[") and text.endswith("]"):
        # A node of this tree is nothing that would have to be read elsewhere.
        said = context.node(text)
        items = [item_of(node_item(said.local_id, said.text))]
        context.caller.perform(AttachAll(tree=context.tree, node=to.ulid, items=items))
        shown = f"[{said.local_id}]"
    else:
        shown = reply.quoted(item)
        if not attach_all(context.caller, context.tree, to.ulid, [text]):
            return unchanged(f"all of {shown} is attached to [{to.local_id}] already")
    return CommandOutcome(text=reply.attached(to.local_id, shown))
