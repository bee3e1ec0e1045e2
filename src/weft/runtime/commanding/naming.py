"""How things that links lead to are said: ids of nodes, titles of trees and documents."""

from collections.abc import Collection
from typing import assert_never

from sqlalchemy import select

from weft.commands.reply import called
from weft.runtime.commanding.seeing import Seeing
from weft.runtime.operations.permissions import trees_allowed
from weft.store import schema
from weft.tree.reference import Target, TargetKind

__all__ = ["names_of"]

_nodes, _trees, _documents = schema.nodes, schema.trees, schema.documents


def names_of(see: Seeing, tree: str, targets: Collection[Target]) -> dict[Target, str]:
    """`[a7x2]`, `[a7x2] in tree:"…"`, `doc:"…"`, `tree:"…"`; what may not be looked at has no name."""
    names: dict[Target, str] = {}
    with see.store.read() as session:
        allowed = trees_allowed(session, see.actor)
        for target in targets:
            match target.kind:
                case TargetKind.NODE:
                    statement = (
                        select(_nodes.c.local_id, _trees.c.key, _trees.c.ulid, _trees.c.title)
                        .join(_trees, _trees.c.key == _nodes.c.tree)
                        .where(_nodes.c.ulid == target.id, _nodes.c.hidden.is_(None))
                    )
                case TargetKind.TREE:
                    statement = select(_trees.c.key, _trees.c.title).where(
                        _trees.c.ulid == target.id, _trees.c.hidden.is_(None)
                    )
                case TargetKind.DOCUMENT:
                    statement = select(_documents.c.title).where(
                        _documents.c.ulid == target.id, _documents.c.hidden.is_(None)
                    )
                case _:
                    assert_never(target.kind)
            row = session.execute(statement).one_or_none()
            if row is None:
                continue
            if target.kind is TargetKind.DOCUMENT:
                names[target] = called("doc", row.title)
            elif allowed is None or row.key in allowed:
                elsewhere = called("tree", row.title)
                if target.kind is TargetKind.TREE:
                    names[target] = elsewhere
                else:
                    names[target] = f"[{row.local_id}]" + ("" if row.ulid == tree else f" in {elsewhere}")
    return names
