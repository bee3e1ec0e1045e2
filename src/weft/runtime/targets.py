"""What links and tags can point at, as the database addresses it."""

from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select, true

from weft.errors import ConflictError
from weft.runtime.actor import require_access
from weft.runtime.scope import Scope
from weft.store import schema
from weft.store.queries import find_node
from weft.store.references import find_document, find_tree
from weft.store.rows import TreeState
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.reference import Target, TargetKind

__all__ = ["KINDS", "Address", "TargetRef", "locate", "open_chain", "targets_of"]

KINDS = (TargetKind.NODE, TargetKind.TREE, TargetKind.DOCUMENT)
"""Stored as their index."""


@dataclass(frozen=True, slots=True)
class TargetRef:
    """A node (of a tree), a tree or a document, by whatever names it."""

    kind: TargetKind
    name: str
    tree: str | None = None


class Address(NamedTuple):
    """Where a target is kept. A document is in no tree."""

    tree: int
    kind: int
    key: int


def locate(session: Session, reference: TargetRef) -> Address:
    kind = KINDS.index(reference.kind)
    match reference.kind:
        case TargetKind.DOCUMENT:
            return Address(GROVE, kind, find_document(session, reference.name))
        case TargetKind.TREE:
            key = find_tree(session, reference.name)
            return Address(key, kind, key)
        case TargetKind.NODE:
            tree = find_tree(session, reference.tree or "")
            return Address(tree, kind, find_node(session, tree, reference.name).key)


def open_chain(scope: Scope, *addresses: Address) -> TreeState | None:
    """The tree whose chain records a change to these: the first that is in one; else the grove.

    An archived tree stays as it was put away: none of its things are linked, unlinked or tagged,
    whatever is at the other end.
    """
    inside = [address.tree for address in addresses if address.tree != GROVE]
    if len(inside) < len(addresses):
        scope.transaction.grove_state()
    states = [scope.transaction.tree_state(tree) for tree in sorted(set(inside))]
    for tree in inside:
        require_access(scope.transaction, scope.actor, MemberRole.READER, tree)
    if any(state.archived_at is not None for state in states):
        raise ConflictError("the tree is archived", hint="unarchive it first")
    if not inside:
        scope.open_grove()
        return None
    trees = schema.trees
    chosen = select(trees.c.ulid).where(trees.c.key == inside[0])
    return scope.open_tree(scope.transaction.execute(chosen).scalar_one())


def targets_of(session: Session, addresses: set[Address]) -> dict[Address, Target]:
    """The ids of what addresses stand for: a query for each tree that has nodes among them, and two more."""
    found: dict[Address, Target] = {}
    for (tree, number), listed in _by_place(addresses).items():
        kind = KINDS[number]
        match kind:
            case TargetKind.NODE:
                table, inside = schema.nodes, schema.nodes.c.tree == tree
            case TargetKind.TREE:
                table, inside = schema.trees, true()
            case TargetKind.DOCUMENT:
                table, inside = schema.documents, true()
        keys = [address.key for address in listed]
        statement = select(table.c.key, table.c.ulid).where(inside, session.dialect.among(table.c.key, keys))
        names = {row.key: row.ulid for row in session.execute(statement)}
        found.update(
            {address: Target(kind, names[address.key]) for address in listed if address.key in names}
        )
    return found


def _by_place(addresses: set[Address]) -> dict[tuple[int, int], list[Address]]:
    places: dict[tuple[int, int], list[Address]] = {}
    for address in addresses:
        tree = address.tree if KINDS[address.kind] is TargetKind.NODE else GROVE
        places.setdefault((tree, address.kind), []).append(address)
    return places
