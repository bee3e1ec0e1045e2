"""Commands that refer, mark, fold, and step back: link, tag, bookmark, prune, exclude, collapse, undo."""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

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
Referring: TypeAlias = v.LinkCommand | v.UnlinkCommand | v.TagCommand | v.UntagCommand
Metadata: TypeAlias = (
    v.BookmarkCommand
    | v.UnbookmarkCommand
    | v.PruneCommand
    | v.RestoreCommand
    | v.ExcludeCommand
    | v.IncludeCommand
)


def run_reference_command(context: CommandContext, action: v.ReferenceAction) -> CommandOutcome:
    match action:
        case v.LinkCommand() | v.UnlinkCommand() | v.TagCommand() | v.UntagCommand():
            return _refer(context, action)
        case (
            v.BookmarkCommand()
            | v.UnbookmarkCommand()
            | v.PruneCommand()
            | v.RestoreCommand()
            | v.ExcludeCommand()
            | v.IncludeCommand()
        ):
            return _mark(context, action)
        case v.CollapseCommand():
            return _collapse(context, action)
        case v.ExpandCommand(name):
            return _expand(context, name)
        case v.UndoCommand():
            return CommandOutcome(
                text=reply.undone(
                    _told(context, context.caller.perform(Undo(tree=last_step(context, "undo"))))
                )
            )
        case v.RedoCommand():
            return CommandOutcome(
                text=reply.redone(
                    _told(context, context.caller.perform(Redo(tree=last_step(context, "redo"))))
                )
            )
        case _:
            assert_never(action)


def _refer(context: CommandContext, action: Referring) -> CommandOutcome:
    row = context.row(action.node)
    here = TargetRef(TargetKind.NODE, row.ulid, context.tree)
    match action:
        case v.LinkCommand(_, to, note):
            target, shown, is_here = _target(context, to)
            if not is_here:
                # Naming it says that the tree is left. Were everybody allowed to, nothing would be out of reach.
                context.require_crossing()
            context.caller.perform(LinkTogether(one=here, other=target, note=note))
            return CommandOutcome(text=reply.linked(row.local_id, shown, note))
        case v.UnlinkCommand(_, to):
            target, shown, _ = _target(context, to)
            context.caller.perform(Unlink(one=here, other=target))
            return CommandOutcome(text=reply.unlinked(row.local_id, shown))
        case v.TagCommand(_, name):
            _, is_new = context.perform(TagTarget(target=here, label=name))
            told = reply.tagged(row.local_id, name)
            return (
                CommandOutcome(text=told) if is_new else unchanged(f"[{row.local_id}] has this tag already")
            )
        case v.UntagCommand(_, name):
            context.caller.perform(Untag(target=here, label=name))
            return CommandOutcome(text=reply.untagged(row.local_id, name))
        case _:
            assert_never(action)


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
            found = tree_named(context.session, reference)
            is_here = found.id == context.session.tree_id
            return TargetRef(TargetKind.TREE, found.id), reply.called("tree", found.title), is_here
        case _:
            assert_never(to)


def _mark(context: CommandContext, action: Metadata) -> CommandOutcome:
    row, tree = context.row(action.node), context.tree
    name, node = row.local_id, row.ulid
    match action:
        case v.BookmarkCommand(_, label):
            _, is_new = context.perform(Bookmark(tree=tree, node=node, label=label))
            told, already = reply.bookmarked(name, label), "is bookmarked so already"
        case v.UnbookmarkCommand():
            _, is_new = context.perform(Unbookmark(tree=tree, node=node))
            told, already = reply.unbookmarked(name), "has no bookmark"
        case v.PruneCommand():
            return CommandOutcome(
                text=reply.pruned(name, context.caller.perform(Prune(tree=tree, node=node)))
            )
        case v.RestoreCommand():
            return CommandOutcome(
                text=reply.restored(name, context.caller.perform(Restore(tree=tree, node=node)))
            )
        case v.ExcludeCommand():
            _, is_new = context.perform(Exclude(tree=tree, node=node))
            told, already = reply.excluded(name), "is excluded already"
        case v.IncludeCommand():
            _, is_new = context.perform(Include(tree=tree, node=node))
            told, already = reply.included(name), "is not excluded"
        case _:
            assert_never(action)
    return CommandOutcome(text=told) if is_new else unchanged(f"[{name}] {already}")


def _collapse(context: CommandContext, action: v.CollapseCommand) -> CommandOutcome:
    first, last = context.row(action.first), context.row(action.last)
    made = context.caller.perform(
        Collapse(
            tree=context.tree,
            first=first.ulid,
            last=last.ulid,
            name=action.name,
            description=action.description,
        )
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


def _told(context: CommandContext, steps: list[HistoryStep]) -> str:
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
