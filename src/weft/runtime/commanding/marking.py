"""Commands that refer, mark, fold, and step back: link, tag, bookmark, prune, exclude, collapse, undo."""

from typing import TypeAlias, assert_never

from weft.commands import actions as v
from weft.commands import reply
from weft.errors import NotFoundError
from weft.runtime.commanding.crossing import tree_named
from weft.runtime.commanding.desk import Desk, Outcome, as_it_was
from weft.runtime.commanding.stepping import last_step
from weft.runtime.operations.collapsed_ranges import Collapse, Expand
from weft.runtime.operations.history import Redo, Undo
from weft.runtime.operations.metadata import Bookmark, Exclude, Include, Prune, Restore, Unbookmark
from weft.runtime.operations.references import LinkTogether, TagTarget, TargetRef, Unlink, Untag
from weft.tree.history import Stepped
from weft.tree.reference import TargetKind

__all__ = ["mark"]

_MOST_NAMED = 10
Referring: TypeAlias = v.Link | v.Unlink | v.Tag | v.Untag
Metadata: TypeAlias = v.Bookmark | v.Unbookmark | v.Prune | v.Restore | v.Exclude | v.Include
Marking: TypeAlias = Referring | Metadata | v.Collapse | v.Expand | v.Undo | v.Redo


def mark(desk: Desk, action: Marking) -> Outcome:
    match action:
        case v.Link() | v.Unlink() | v.Tag() | v.Untag():
            return _refer(desk, action)
        case v.Bookmark() | v.Unbookmark() | v.Prune() | v.Restore() | v.Exclude() | v.Include():
            return _mark(desk, action)
        case v.Collapse():
            return _collapse(desk, action)
        case v.Expand(name):
            return _expand(desk, name)
        case v.Undo():
            return Outcome(
                text=reply.undone(_told(desk, desk.loom.perform(Undo(tree=last_step(desk, "undo")))))
            )
        case v.Redo():
            return Outcome(
                text=reply.redone(_told(desk, desk.loom.perform(Redo(tree=last_step(desk, "redo")))))
            )
        case _:
            assert_never(action)


def _refer(desk: Desk, action: Referring) -> Outcome:
    row = desk.row(action.node)
    here = TargetRef(TargetKind.NODE, row.ulid, desk.tree)
    match action:
        case v.Link(_, to, note):
            target, shown, is_here = _target(desk, to)
            if not is_here:
                # Naming it says that the tree is left. Were everybody allowed to, nothing would be out of reach.
                desk.require_crossing()
            desk.loom.perform(LinkTogether(one=here, other=target, note=note))
            return Outcome(text=reply.linked(row.local_id, shown, note))
        case v.Unlink(_, to):
            target, shown, _ = _target(desk, to)
            desk.loom.perform(Unlink(one=here, other=target))
            return Outcome(text=reply.unlinked(row.local_id, shown))
        case v.Tag(_, name):
            _, is_new = desk.perform(TagTarget(target=here, label=name))
            told = reply.tagged(row.local_id, name)
            return Outcome(text=told) if is_new else as_it_was(f"[{row.local_id}] has this tag already")
        case v.Untag(_, name):
            desk.loom.perform(Untag(target=here, label=name))
            return Outcome(text=reply.untagged(row.local_id, name))
        case _:
            assert_never(action)


def _target(desk: Desk, to: v.NodeTarget | v.DocumentTarget | v.TreeTarget) -> tuple[TargetRef, str, bool]:
    """What a link leads to, how it is called, and whether that is within the tree's reach."""
    match to:
        case v.NodeTarget(node):
            row = desk.row(node)
            return TargetRef(TargetKind.NODE, row.ulid, desk.tree), f"[{row.local_id}]", True
        case v.DocumentTarget(reference):
            name, title, linked = desk.known_document(reference)
            return TargetRef(TargetKind.DOCUMENT, name), reply.called("doc", title), linked
        case v.TreeTarget(reference):
            found = tree_named(desk.session, reference)
            is_here = found.id == desk.session.tree_id
            return TargetRef(TargetKind.TREE, found.id), reply.called("tree", found.title), is_here
        case _:
            assert_never(to)


def _mark(desk: Desk, action: Metadata) -> Outcome:
    row, tree = desk.row(action.node), desk.tree
    name, node = row.local_id, row.ulid
    match action:
        case v.Bookmark(_, label):
            _, is_new = desk.perform(Bookmark(tree=tree, node=node, label=label))
            told, already = reply.bookmarked(name, label), "is bookmarked so already"
        case v.Unbookmark():
            _, is_new = desk.perform(Unbookmark(tree=tree, node=node))
            told, already = reply.unbookmarked(name), "has no bookmark"
        case v.Prune():
            return Outcome(text=reply.pruned(name, desk.loom.perform(Prune(tree=tree, node=node))))
        case v.Restore():
            return Outcome(text=reply.restored(name, desk.loom.perform(Restore(tree=tree, node=node))))
        case v.Exclude():
            _, is_new = desk.perform(Exclude(tree=tree, node=node))
            told, already = reply.excluded(name), "is excluded already"
        case v.Include():
            _, is_new = desk.perform(Include(tree=tree, node=node))
            told, already = reply.included(name), "is not excluded"
        case _:
            assert_never(action)
    return Outcome(text=told) if is_new else as_it_was(f"[{name}] {already}")


def _collapse(desk: Desk, action: v.Collapse) -> Outcome:
    first, last = desk.row(action.first), desk.row(action.last)
    made = desk.loom.perform(
        Collapse(
            tree=desk.tree,
            first=first.ulid,
            last=last.ulid,
            name=action.name,
            description=action.description,
        )
    )
    count = last.depth - first.depth + 1
    return Outcome(text=reply.collapsed(first.local_id, last.local_id, made.name, count))


def _expand(desk: Desk, name: str) -> Outcome:
    groups = {group.name: group for group in desk.loom.read.groups(desk.tree)}
    group = groups.get(name) or next(
        (each for each in groups.values() if each.name.casefold() == name.casefold()), None
    )
    if group is None:
        known = ", ".join(f'"{each}"' for each in list(groups)[:20])
        raise NotFoundError(
            f'collapsed range "{name}" does not exist',
            hint=f"there are {known}" if known else "nothing is collapsed",
        )
    _, is_new = desk.perform(Expand(tree=desk.tree, name=group.name))
    if not is_new:
        return as_it_was(f"{reply.quoted(group.name)} is expanded already")
    first, last = desk.row(group.first), desk.row(group.last)
    return Outcome(text=reply.expanded(group.name, last.depth - first.depth + 1))


def _told(desk: Desk, steps: list[Stepped]) -> str:
    """What was stepped over; the continuations of one generation are one step."""
    nodes = [ulid for step in steps if step.tree_id is not None for ulid in step.nodes]
    names = [desk.see.known(desk.tree, ulid) for ulid in nodes[:_MOST_NAMED]]
    more = f" and {len(nodes) - len(names):,} more" if len(nodes) > len(names) else ""
    return f"{steps[0].kind} {', '.join(f'[{name}]' for name in names)}{more}".rstrip()
