"""Conflicts: what prevents new nodes from being hidden by an undo, or shown again by a redo."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import and_, or_, select

from weft.runtime.operations.metadata import lives
from weft.runtime.operations.node_values import sources_of
from weft.runtime.operations.references import KINDS, TargetAddress, at_end, on_target
from weft.runtime.operations.scope import digest_of
from weft.runtime.undo.step import Step, event_at, refuse
from weft.store import schema
from weft.store.leases import lease_at, lease_taken
from weft.store.rows import AGENT_TYPES, EDGE_TYPES, Flag, NodeRow
from weft.tree.agent import AgentType
from weft.tree.edge import EdgeType
from weft.tree.json import JsonValue
from weft.tree.reference import TargetKind

_nodes = schema.nodes
_attachments = schema.attachments


def require_unbuilt(step: Step, made: Sequence[NodeRow]) -> None:
    """Refuse unless every node is as it was created, and nothing outside them comes from one of them.

    What the acting agent did to them itself has been undone before, unless it is recorded
    elsewhere; so it does not matter here which agent did it.
    """
    own = {row.key for row in made}
    for row in made:
        _require_no_offspring(step, row, own)
        _require_unmarked(step, row)
        _require_other_version(step, row, own)
        require_no_references(step, TargetKind.NODE, step.tree.key, row.key, f"[{row.local_id}]")
        _require_unused(step, row)


def _require_no_offspring(step: Step, row: NodeRow, own: set[int]) -> None:
    transaction, tree = step.scope.transaction, step.tree.key
    after = _nodes.c.written_after.is_(None) if row.key == row.position else _nodes.c.written_after == row.key
    # An edit is a version at the same position or a branch at the same parent; both are indexed.
    beside = _nodes.c.position == row.position
    if row.parent is not None:
        beside = or_(beside, _nodes.c.parent == row.parent)
    for kind, condition in (
        ("written", and_(_nodes.c.parent == row.position, after)),
        ("edited", and_(_nodes.c.edited_from == row.key, beside)),
    ):
        rows = transaction.execute(
            select(_nodes).where(_nodes.c.tree == tree, _nodes.c.hidden.is_(None), condition)
        )
        for child in rows:
            if child.key in own:
                continue
            if kind == "edited":
                refuse(step, f"[{row.local_id}] was edited to [{child.local_id}]", agent=child.author)
            done = "noted on" if EDGE_TYPES[child.edge_type] is EdgeType.ANNOTATION else "written after"
            refuse(step, f"[{child.local_id}] was {done} [{row.local_id}]", agent=child.author)
    sources = schema.sources
    users = transaction.execute(
        select(_nodes.c.key, _nodes.c.local_id, _nodes.c.author)
        .select_from(sources)
        .join(_nodes, and_(_nodes.c.tree == sources.c.tree, _nodes.c.key == sources.c.target))
        .where(sources.c.tree == tree, sources.c.source == row.key, _nodes.c.hidden.is_(None))
    )
    for user in users:
        if user.key not in own:
            refuse(step, f"[{row.local_id}] was made a source of [{user.local_id}]", agent=user.author)


def _require_unmarked(step: Step, row: NodeRow) -> None:
    if row.pruned is not None:
        pruner = event_at(step.scope.transaction, step.tree.key, row.pruned).agent
        refuse(step, f"[{row.local_id}] was pruned", agent=pruner)
    for flag, done in ((Flag.EXCLUDED, "excluded"), (Flag.BOOKMARKED, "bookmarked")):
        if row.flags & flag:
            refuse(step, f"[{row.local_id}] was {done}", needle=row.ulid)
    if row.flags & Flag.HAS_ATTACHMENTS:
        items = step.scope.transaction.execute(
            select(_attachments)
            .where(_attachments.c.tree == step.tree.key, _attachments.c.node == row.key)
            .order_by(_attachments.c.ordinal)
        ).all()
        born = [_item(item) for item in items if item.attached_by is None]
        if [_item(item) for item in items if item.detached_by is None] != born:
            refuse(step, f"items on [{row.local_id}] were changed", needle=row.ulid)


def _require_other_version(step: Step, row: NodeRow, own: set[int]) -> None:
    """Refuse if an edit is the last live version of a position that has children."""
    if row.key == row.position or row.position in own:
        return
    transaction, tree = step.scope.transaction, step.tree.key
    others = [transaction.node(tree, key) for key in transaction.versions(tree, row.position)]
    if not any(other.live for other in others if other.key != row.key):
        last = next(other for other in reversed(others) if other.pruned is not None)
        pruner = event_at(transaction, tree, last.pruned or 0).agent
        refuse(step, f"[{last.local_id}], which [{row.local_id}] replaces, was pruned", agent=pruner)


def _item(row: Any) -> tuple[object, ...]:
    return row.id, row.type, row.sha256, row.recoverable


def require_no_references(step: Step, kind: TargetKind, tree: int, key: int, name: str) -> None:
    """Refuse if it has a link or a tag, recorded anywhere in the grove."""
    links, tags, transaction = schema.links, schema.tags, step.scope.transaction
    address = TargetAddress(tree, KINDS.index(kind), key)
    either = or_(at_end("a", address), at_end("b", address))
    link = transaction.execute(
        select(links.c.author).where(either, links.c.removed.is_(None)).limit(1)
    ).first()
    if link is not None:
        refuse(step, f"{name} was linked", agent=link.author)
    live = select(tags.c.label).where(on_target(address), tags.c.removed.is_(None)).limit(1)
    tag = transaction.execute(live).first()
    if tag is not None:
        refuse(step, f"{name} was tagged {tag.label!r}")


def _require_unused(step: Step, row: NodeRow) -> None:
    """Refuse if it is another agent's cursor or selection, ends a collapsed range, or is being continued."""
    transaction, tree, me = step.scope.transaction, step.tree.key, step.scope.actor.agent
    _move_idle_models_up(step, row)
    for table, what in ((schema.cursors, "used as cursor"), (schema.selections, "selected as version")):
        others = select(table.c.agent).where(
            table.c.tree == tree, table.c.node == row.key, table.c.agent != me
        )
        other = transaction.execute(others.limit(1)).scalar_one_or_none()
        if other is not None:
            refuse(step, f"[{row.local_id}] is {what}", agent=other)
    groups = schema.groups
    ends = or_(groups.c.first == row.key, groups.c.last == row.key)
    group = transaction.execute(select(groups).where(groups.c.tree == tree, ends).limit(1)).first()
    if group is not None:
        refuse(step, f"[{row.local_id}] was collapsed into {group.name!r}", needle=group.ulid)
    held = lease_at(transaction, tree, row.position, step.scope.now)
    if held is not None:
        raise lease_taken(transaction, held)


def _move_idle_models_up(step: Step, row: NodeRow) -> None:
    """A model's cursor stays where it last worked; while no run of it is active, that is no conflict."""
    if row.parent is None:
        return
    cursors, agents, runs = schema.cursors, schema.agents, schema.runs
    tree = step.tree.key
    at_work = select(runs.c.agent).where(runs.c.tree == tree, runs.c.agent == cursors.c.agent)
    models = select(agents.c.key).where(agents.c.type == AGENT_TYPES.index(AgentType.MODEL))
    idle = (
        select(cursors.c.agent, cursors.c.updated_at)
        .where(
            cursors.c.tree == tree,
            cursors.c.node == row.key,
            cursors.c.agent != step.scope.actor.agent,
            cursors.c.agent.in_(models),
        )
        .where(~at_work.exists())
    )
    for cursor in step.scope.transaction.execute(idle).all():
        step.scope.transaction.move_cursor(tree, cursor.agent, row.parent, cursor.updated_at)


def require_ground(step: Step, made: Sequence[NodeRow]) -> None:
    """Refuse unless the nodes' sources and parents exist and are live."""
    transaction, tree = step.scope.transaction, step.tree
    own = {row.key for row in made}
    for row in made:
        written = {key for key, _ in sources_of(transaction, tree.key, [row]).get(row.key, ())}
        if row.edited_from is not None:
            written.add(row.edited_from)
        for key in sorted(written - own):
            source = transaction.node(tree.key, key)
            if source.hidden is not None:
                refuse(step, f"[{source.local_id}], which it comes from, was undone", needle=source.ulid)
        above = row.parent
        if above is not None and above not in own and not lives(step.scope, tree, above):
            parent = transaction.node(tree.key, above)
            refuse(step, f"[{parent.local_id}], its parent, was pruned", needle=parent.ulid)


def items_seen(step: Step, made: Sequence[NodeRow]) -> JsonValue:
    """The items above models' nodes, as one digest: between undo and redo they must not change."""
    seen: list[JsonValue] = []
    transaction, tree = step.scope.transaction, step.tree.key
    for row in made:
        near = row.near_attachments
        while AGENT_TYPES[row.author_type] is AgentType.MODEL and near is not None:
            at = transaction.node(tree, near)
            items = transaction.execute(
                select(_attachments.c.node, _attachments.c.ordinal)
                .where(
                    _attachments.c.tree == tree,
                    _attachments.c.node.in_(transaction.versions(tree, near)),
                    _attachments.c.detached_by.is_(None),
                )
                .order_by(_attachments.c.node, _attachments.c.ordinal)
            )
            # By id: an imported tree has other keys.
            seen.extend([transaction.node(tree, item.node).ulid, item.ordinal] for item in items.all())
            near = None if at.parent is None else transaction.node(tree, at.parent).near_attachments
    return digest_of(seen) if seen else None
