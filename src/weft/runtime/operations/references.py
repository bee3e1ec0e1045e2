"""Links and tags: their targets (nodes, trees, documents), and the operations on them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, select, true, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.provenance.fingerprints import link_fingerprint, tag_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.permissions import Actor, require_access, tree_for
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_document
from weft.store.rows import TreeState
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.store.tree_queries import find_node
from weft.tree.access import MemberRole
from weft.tree.content import check_text
from weft.tree.json_names import from_microseconds
from weft.tree.reference import Link, Tag, Target, TargetKind, check_tag

_links, _tags = schema.links, schema.tags
KINDS = (TargetKind.NODE, TargetKind.TREE, TargetKind.DOCUMENT)
"""Stored as their index."""


@dataclass(frozen=True, slots=True)
class TargetRef:
    """A reference to a node (of a tree), a tree or a document."""

    kind: TargetKind
    name: str
    tree: str | None = None


class TargetAddress(NamedTuple):
    """Where a target is stored. A document is in no tree."""

    tree: int
    kind: int
    key: int


def locate(session: Session, actor: Actor, reference: TargetRef) -> TargetAddress:
    """Where a target is, if the actor may read it."""
    kind = KINDS.index(reference.kind)
    match reference.kind:
        case TargetKind.DOCUMENT:
            require_access(session, actor, MemberRole.READER)
            return TargetAddress(GROVE, kind, find_document(session, reference.name))
        case TargetKind.TREE:
            key = tree_for(session, actor, reference.name)
            return TargetAddress(key, kind, key)
        case TargetKind.NODE:
            tree = tree_for(session, actor, reference.tree or "")
            return TargetAddress(tree, kind, find_node(session, tree, reference.name).key)


def open_chain(scope: Scope, *addresses: TargetAddress) -> TreeState | None:
    """The tree whose chain records a change to these: the first that is in a tree; else the grove (None).

    Refused if any of the trees is archived.
    """
    inside = [address.tree for address in addresses if address.tree != GROVE]
    if len(inside) < len(addresses):
        scope.transaction.grove_state()
    states = [scope.transaction.tree_state(tree) for tree in sorted(set(inside))]
    for tree in inside:
        require_access(scope.transaction, scope.actor, MemberRole.READER, tree)
    if any(state.archived_at is not None for state in states):
        raise ConflictError("the tree is archived", hint=Hint(HintKind.UNARCHIVE))
    if not inside:
        scope.open_grove()
        return None
    trees = schema.trees
    chosen = select(trees.c.ulid).where(trees.c.key == inside[0])
    return scope.open_tree(scope.transaction.execute(chosen).scalar_one())


def targets_of(session: Session, addresses: set[TargetAddress]) -> dict[TargetAddress, Target]:
    """The targets at addresses: one query for each tree that has nodes among them, and two more."""
    targets: dict[TargetAddress, Target] = {}
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
        targets.update(
            {address: Target(kind, names[address.key]) for address in listed if address.key in names}
        )
    return targets


def _by_place(addresses: set[TargetAddress]) -> dict[tuple[int, int], list[TargetAddress]]:
    places: dict[tuple[int, int], list[TargetAddress]] = {}
    for address in addresses:
        tree = address.tree if KINDS[address.kind] is TargetKind.NODE else GROVE
        places.setdefault((tree, address.kind), []).append(address)
    return places


def at_end(side: str, address: TargetAddress) -> ColumnElement[bool]:
    """True for links whose end `a` or `b` is at the address."""
    return and_(
        *(_links.c[f"{side}_{name}"] == value for name, value in zip(address._fields, address, strict=True))
    )


def on_target(address: TargetAddress) -> ColumnElement[bool]:
    """True for tags on the target."""
    return and_(_tags.c.tree == address.tree, _tags.c.kind == address.kind, _tags.c.target == address.key)


def ends_of(link: Mapping[Any, Any]) -> tuple[TargetAddress, TargetAddress]:
    """The two ends of a link's row."""
    one, other = (TargetAddress(*(link[f"{side}_{name}"] for name in TargetAddress._fields)) for side in "ab")
    return one, other


def link_between(session: Session, a: TargetAddress, b: TargetAddress) -> Any:
    """The row of the link between two targets, or None; removed links stay in rows of their own."""
    same = at_end("a", a), at_end("b", b), _links.c.removed.is_(None)
    return session.execute(select(_links).where(*same)).one_or_none()


def fingerprint_link(scope: Scope, link: Mapping[Any, Any]) -> tuple[Target, Target]:
    """Add the fingerprint of a link as it is now to the event; return its ends."""
    a, b = ends_of(link)
    targets = targets_of(scope.transaction, {a, b})
    author = scope.transaction.agent(link["author"]).ulid
    scope.add_fingerprint(link_fingerprint(link, (targets[a].id, targets[b].id), author))
    return targets[a], targets[b]


def label_digest(label: str) -> str:
    """A tag's label as events name it: they hold no words."""
    return hashlib.sha256(label.encode()).hexdigest()


class LinkTogether(Editing, verb="link"):
    """An undirected reference between any two of node, tree and document."""

    one: TargetRef
    other: TargetRef
    note: str = ""

    def apply(self, scope: Scope) -> Link:
        note = check_text(self.note, what="note", limit=10_000)
        # Undirected: stored in one order, whichever end is named first.
        a, b = sorted(locate(scope.transaction, scope.actor, end) for end in (self.one, self.other))
        if a == b:
            raise InvalidInputError("a thing cannot be linked to itself")
        chain = open_chain(scope, a, b)
        transaction = scope.transaction
        # Now that both are locked: has either been deleted since it was looked up?
        for end in (self.one, self.other):
            locate(transaction, scope.actor, end)
        if link_between(transaction, a, b) is not None:
            raise ConflictError("these two are linked already", hint="unlink them first to change the note")
        ulid = scope.new_ulid()
        row = {
            "ulid": ulid,
            "note": note,
            "author": scope.agent.key,
            "created_at": scope.now,
            "removed": None,
        }
        row |= zip(("a_tree", "a_kind", "a_key", "b_tree", "b_kind", "b_key"), (*a, *b), strict=True)
        transaction.add(_links, row)
        ends = fingerprint_link(scope, row)
        scope.record(chain, self.verb, {"link": ulid, "ends": [end.id for end in ends]}, {"unlink": ulid})
        return Link(
            id=ulid,
            ends=ends,
            note=note,
            author_id=scope.agent.ulid,
            created_at=from_microseconds(scope.now),
        )


class Unlink(Editing, verb="unlink"):
    """Take a link away."""

    one: TargetRef
    other: TargetRef

    def apply(self, scope: Scope) -> None:
        a, b = sorted(locate(scope.transaction, scope.actor, end) for end in (self.one, self.other))
        chain = open_chain(scope, a, b)
        transaction = scope.transaction
        known = link_between(transaction, a, b)
        if known is None:
            raise NotFoundError("these two are not linked")
        transaction.execute(update(_links).where(_links.c.key == known.key).values(removed=scope.now))
        fingerprint_link(scope, {**known._asdict(), "removed": scope.now})
        scope.record(chain, self.verb, {"link": known.ulid}, {"link": known.ulid})


class TagTarget(Editing, verb="tag"):
    """Put a case-sensitive label on a node, tree or document."""

    target: TargetRef
    label: str

    def apply(self, scope: Scope) -> Tag:
        label = check_tag(self.label)
        address = locate(scope.transaction, scope.actor, self.target)
        chain = open_chain(scope, address)
        transaction = scope.transaction
        target = targets_of(transaction, {address})[address]
        known = _find_tag(transaction, address, label)
        if known is not None and known.removed is None:
            return Tag(label, target)
        if known is None:
            tree, kind, key = address
            row = {"tree": tree, "kind": kind, "target": key, "label": label}
            row |= {"created_at": scope.now, "removed": None}
            number = transaction.insert(_tags, row)
        else:
            number = known.key
            row = {**known._asdict(), "removed": None}
            transaction.execute(update(_tags).where(_tags.c.key == number).values(removed=None))
        scope.add_fingerprint(tag_fingerprint(row, target.id))
        scope.record(chain, self.verb, {"target": target.id, "tag": number}, {"untag": label_digest(label)})
        return Tag(label, target)


class Untag(Editing, verb="untag"):
    """Take a label off."""

    target: TargetRef
    label: str

    def apply(self, scope: Scope) -> None:
        label = check_tag(self.label)
        address = locate(scope.transaction, scope.actor, self.target)
        chain = open_chain(scope, address)
        transaction = scope.transaction
        known = _find_tag(transaction, address, label)
        if known is None or known.removed is not None:
            raise NotFoundError(f"no tag {label!r} there", hint="tags are case-sensitive")
        transaction.execute(update(_tags).where(_tags.c.key == known.key).values(removed=scope.now))
        target = targets_of(transaction, {address})[address]
        scope.add_fingerprint(tag_fingerprint({**known._asdict(), "removed": scope.now}, target.id))
        scope.record(chain, self.verb, {"target": target.id, "tag": known.key}, {"tag": label_digest(label)})


def _find_tag(session: Session, address: TargetAddress, label: str) -> Any:
    return session.execute(select(_tags).where(on_target(address), _tags.c.label == label)).one_or_none()
