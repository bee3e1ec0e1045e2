"""Commands that refer, mark, fold, and step back: link, tag, bookmark, prune, exclude, collapse, undo."""

from collections.abc import Sequence
from typing import assert_never

from weft.commands import actions as v
from weft.commands import reply
from weft.errors import NotFoundError
from weft.runtime.collaboration.commands.context import CommandContext, CommandOutcome, tree_named, unchanged
from weft.runtime.operations.collapsed_ranges import Collapse, Expand
from weft.runtime.operations.metadata import Bookmark, Exclude, Include, Prune, Restore, Unbookmark
from weft.runtime.operations.references import LinkTogether, TagTarget, TargetRef, Unlink, Untag
from weft.runtime.undo.step import RecordedEvent, Tops, event_at, tops_now
from weft.runtime.undo.undo import Redo, Undo
from weft.store.lookup import find_tree
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.store.tree_queries import find_node
from weft.tree.event_kinds import EventKind, HistoryStep
from weft.tree.reference import TargetKind

_MOST_NAMED = 10


def run_reference_command(context: CommandContext, action: v.ReferenceAction) -> CommandOutcome:
    match action:
        case v.LinkCommand() | v.UnlinkCommand():
            return _link(context, action)
        case v.CollapseCommand():
            return _collapse(context, action)
        case v.ExpandCommand(name):
            return _expand(context, name)
        case v.UndoCommand():
            steps = context.caller.perform(Undo(tree=last_step(context, "undo")))
            return CommandOutcome(text=reply.undone(_described(context, steps)))
        case v.RedoCommand():
            steps = context.caller.perform(Redo(tree=last_step(context, "redo")))
            return CommandOutcome(text=reply.redone(_described(context, steps)))
        case v.PruneCommand() | v.RestoreCommand():
            row = context.row(action.node)
            operation, answer = _COUNTED[type(action)]
            count = context.caller.perform(operation(tree=context.tree, node=row.ulid))
            return CommandOutcome(text=answer(row.local_id, count))
        case _:
            return _label(context, action)


_COUNTED = {v.PruneCommand: (Prune, reply.pruned), v.RestoreCommand: (Restore, reply.restored)}


def _label(
    context: CommandContext,
    action: v.TagCommand
    | v.UntagCommand
    | v.BookmarkCommand
    | v.UnbookmarkCommand
    | v.ExcludeCommand
    | v.IncludeCommand,
) -> CommandOutcome:
    """Commands that change nothing if the node is as they ask already."""
    row, tree = context.row(action.node), context.tree
    name, node = row.local_id, row.ulid
    match action:
        case v.TagCommand(_, label):
            operation = TagTarget(target=TargetRef(TargetKind.NODE, node, tree), label=label)
            text, already = reply.tagged(name, label), "has this tag already"
        case v.UntagCommand(_, label):
            operation = Untag(target=TargetRef(TargetKind.NODE, node, tree), label=label)
            text, already = reply.untagged(name, label), "does not have this tag"
        case v.BookmarkCommand(_, label):
            operation = Bookmark(tree=tree, node=node, label=label)
            text, already = reply.bookmarked(name, label), "is bookmarked so already"
        case v.UnbookmarkCommand():
            operation = Unbookmark(tree=tree, node=node)
            text, already = reply.unbookmarked(name), "has no bookmark"
        case v.ExcludeCommand():
            operation = Exclude(tree=tree, node=node)
            text, already = reply.excluded(name), "is excluded already"
        case v.IncludeCommand():
            operation = Include(tree=tree, node=node)
            text, already = reply.included(name), "is not excluded"
        case _:
            assert_never(action)
    _, is_new = context.caller.perform_if_changed(operation)
    return CommandOutcome(text=text) if is_new else unchanged(f"[{name}] {already}")


def _link(context: CommandContext, action: v.LinkCommand | v.UnlinkCommand) -> CommandOutcome:
    row = context.row(action.node)
    here = TargetRef(TargetKind.NODE, row.ulid, context.tree)
    target, name, is_here = _target(context, action.to)
    if isinstance(action, v.UnlinkCommand):
        context.caller.perform(Unlink(one=here, other=target))
        return CommandOutcome(text=reply.unlinked(row.local_id, name))
    if not is_here:
        # Naming it says that the tree is left: an agent that may not leave it could reach anything.
        context.require_crossing()
    context.caller.perform(LinkTogether(one=here, other=target, note=action.note))
    return CommandOutcome(text=reply.linked(row.local_id, name, action.note))


def _target(
    context: CommandContext, to: v.NodeTarget | v.DocumentTarget | v.TreeTarget
) -> tuple[TargetRef, str, bool]:
    """What a link leads to, how it is called, and whether that is within the tree's reach."""
    match to:
        case v.NodeTarget(node):
            row = context.row(node)
            return TargetRef(TargetKind.NODE, row.ulid, context.tree), f"[{row.local_id}]", True
        case v.DocumentTarget(reference):
            name, title, linked = context.known_document(reference)
            return TargetRef(TargetKind.DOCUMENT, name), reply.called("doc", title), linked
        case v.TreeTarget(reference):
            tree = tree_named(context.session, reference)
            is_here = tree.id == context.session.tree_id
            return TargetRef(TargetKind.TREE, tree.id), reply.called("tree", tree.title), is_here
        case _:
            assert_never(to)


def _collapse(context: CommandContext, action: v.CollapseCommand) -> CommandOutcome:
    first, last = context.row(action.first), context.row(action.last)
    name, description = action.name, action.description
    made = context.caller.perform(
        Collapse(tree=context.tree, first=first.ulid, last=last.ulid, name=name, description=description)
    )
    count = last.depth - first.depth + 1
    return CommandOutcome(text=reply.collapsed(first.local_id, last.local_id, made.name, count))


def _expand(context: CommandContext, name: str) -> CommandOutcome:
    groups = {group.name: group for group in context.read.groups(context.tree)}
    group = groups.get(name) or next(
        (each for each in groups.values() if each.name.casefold() == name.casefold()), None
    )
    if group is None:
        known = ", ".join(f'"{each}"' for each in list(groups)[:20])
        raise NotFoundError(
            f'collapsed range "{name}" does not exist',
            hint=f"there are {known}" if known else "nothing is collapsed",
        )
    _, is_new = context.perform(Expand(tree=context.tree, name=group.name))
    if not is_new:
        return unchanged(f"{reply.quoted(group.name)} is expanded already")
    first, last = context.row(group.first), context.row(group.last)
    return CommandOutcome(text=reply.expanded(group.name, last.depth - first.depth + 1))


def _described(context: CommandContext, steps: list[HistoryStep]) -> str:
    """What was stepped over; the continuations of one generation are one step."""
    nodes = [ulid for step in steps if step.tree_id is not None for ulid in step.nodes]
    names = [context.see.known(context.tree, ulid) for ulid in nodes[:_MOST_NAMED]]
    more = f" and {len(nodes) - len(names):,} more" if len(nodes) > len(names) else ""
    return f"{steps[0].kind} {', '.join(f'[{name}]' for name in names)}{more}".rstrip()


def last_step(context: CommandContext, direction: str) -> str | None:
    """The id of the tree to step in, or None for the grove: wherever the agent's last step of the kind was."""
    agent = context.see.actor.agent
    with context.see.store.read() as session:
        here = _step(session, find_tree(session, context.tree), agent, direction)
        beside = _step(session, GROVE, agent, direction)
        if beside is None or (here is not None and here.created_at >= beside.created_at):
            return context.tree
        kind = beside.payload.get("kind") if direction == "redo" else beside.kind
        # Saving is all that a command does in the grove's own chain.
        return None if kind == EventKind.SAVE else context.tree


def _step(session: Session, chain: int, agent: int, direction: str) -> RecordedEvent | None:
    """What would be undone, or the undo that would be redone."""
    tops: Tops = tops_now(session, chain, agent)
    ordinal = tops.undo if direction == "undo" else tops.redo
    return None if ordinal is None else event_at(session, chain, ordinal)


def joined_with(context: CommandContext) -> str:
    """The local id of what a node was just joined with, which only the event knows."""
    with context.see.store.read() as session:
        chain = find_tree(session, context.tree)
        event = _step(session, chain, context.see.actor.agent, "undo")
        parts = None if event is None else event.payload.get("of")
        if not isinstance(parts, Sequence) or not parts:
            raise RuntimeError("a join records what it joined")
        return find_node(session, chain, str(parts[-1]), hidden=True).local_id
