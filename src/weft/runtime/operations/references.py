"""What links and tags can point at, as the database addresses it."""

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import select, true, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.provenance.fingerprints import link_fingerprint, tag_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.permissions import require_access
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_document, find_tree
from weft.store.rows import TreeState
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.store.tree_queries import find_node
from weft.tree.access import MemberRole
from weft.tree.content import check_text
from weft.tree.json_names import from_microseconds
from weft.tree.reference import Link, Tag, Target, TargetKind, check_tag

KINDS = (TargetKind.NODE, TargetKind.TREE, TargetKind.DOCUMENT)
"""Stored as their index."""


@dataclass(frozen=True, slots=True)
class TargetRef:
    """A node (of a tree), a tree or a document, by whatever names it."""

    kind: TargetKind
    name: str
    tree: str | None = None


class TargetAddress(NamedTuple):
    """Where a target is kept. A document is in no tree."""

    tree: int
    kind: int
    key: int


def locate(session: Session, reference: TargetRef) -> TargetAddress:
    kind = KINDS.index(reference.kind)
    match reference.kind:
        case TargetKind.DOCUMENT:
            return TargetAddress(GROVE, kind, find_document(session, reference.name))
        case TargetKind.TREE:
            key = find_tree(session, reference.name)
            return TargetAddress(key, kind, key)
        case TargetKind.NODE:
            tree = find_tree(session, reference.tree or "")
            return TargetAddress(tree, kind, find_node(session, tree, reference.name).key)


def open_chain(scope: Scope, *addresses: TargetAddress) -> TreeState | None:
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
        raise ConflictError("the tree is archived", hint=Hint(HintKind.UNARCHIVE))
    if not inside:
        scope.open_grove()
        return None
    trees = schema.trees
    chosen = select(trees.c.ulid).where(trees.c.key == inside[0])
    return scope.open_tree(scope.transaction.execute(chosen).scalar_one())


def targets_of(session: Session, addresses: set[TargetAddress]) -> dict[TargetAddress, Target]:
    """The ids of what addresses stand for: a query for each tree that has nodes among them, and two more."""
    found: dict[TargetAddress, Target] = {}
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


def _by_place(addresses: set[TargetAddress]) -> dict[tuple[int, int], list[TargetAddress]]:
    places: dict[tuple[int, int], list[TargetAddress]] = {}
    for address in addresses:
        tree = address.tree if KINDS[address.kind] is TargetKind.NODE else GROVE
        places.setdefault((tree, address.kind), []).append(address)
    return places


_links = schema.links
_tags = schema.tags


def _values(row: Any) -> dict[str, Any]:
    return row._asdict()


def _between(a: TargetAddress, b: TargetAddress) -> tuple[TargetAddress, TargetAddress]:
    """Undirected: one order for both ways of saying it."""
    return (a, b) if a <= b else (b, a)


def link_between(session: Session, a: TargetAddress, b: TargetAddress) -> Any:
    """The link's row, if the two are linked; what was taken away stays in rows of its own."""
    return session.execute(
        select(_links).where(
            _links.c.a_tree == a.tree,
            _links.c.a_kind == a.kind,
            _links.c.a_key == a.key,
            _links.c.b_tree == b.tree,
            _links.c.b_kind == b.kind,
            _links.c.b_key == b.key,
            _links.c.removed.is_(None),
        )
    ).one_or_none()


def label_digest(label: str) -> str:
    """A tag's label as events name it: they hold no words."""
    return hashlib.sha256(label.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTogether(Editing):
    """An undirected reference between any two of node, tree and document."""

    verb: ClassVar[str] = "link"
    one: TargetRef
    other: TargetRef
    note: str = ""

    def apply(self, scope: Scope) -> Link:
        note = check_text(self.note, what="note", limit=10_000)
        a, b = _between(locate(scope.transaction, self.one), locate(scope.transaction, self.other))
        if a == b:
            raise InvalidInputError("a thing cannot be linked to itself")
        chain = open_chain(scope, a, b)
        transaction = scope.transaction
        # Now that both are locked: has either been deleted since it was looked up?
        for end in (self.one, self.other):
            locate(transaction, end)
        if link_between(transaction, a, b) is not None:
            raise ConflictError("these two are linked already", hint="unlink them first to change the note")
        ulid = scope.new_ulid()
        row = {"note": note, "author": scope.agent.key, "created_at": scope.now, "removed": None}
        ends = dict(zip(("a_tree", "a_kind", "a_key", "b_tree", "b_kind", "b_key"), (*a, *b), strict=True))
        transaction.add(_links, {"ulid": ulid, **ends, **row})
        targets = targets_of(transaction, {a, b})
        ends_ids = (targets[a].id, targets[b].id)
        scope.add_fingerprint(link_fingerprint({"ulid": ulid, **row}, ends_ids, scope.agent.ulid))
        scope.record(
            chain,
            self.verb,
            {"link": ulid, "ends": [targets[a].id, targets[b].id]},
            {"unlink": ulid},
        )
        return Link(
            id=ulid,
            ends=(targets[a], targets[b]),
            note=note,
            author_id=scope.agent.ulid,
            created_at=from_microseconds(scope.now),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlink(Editing):
    """Take a link away."""

    verb: ClassVar[str] = "unlink"
    one: TargetRef
    other: TargetRef

    def apply(self, scope: Scope) -> None:
        a, b = _between(locate(scope.transaction, self.one), locate(scope.transaction, self.other))
        chain = open_chain(scope, a, b)
        transaction = scope.transaction
        known = link_between(transaction, a, b)
        if known is None:
            raise NotFoundError("these two are not linked")
        transaction.execute(update(_links).where(_links.c.key == known.key).values(removed=scope.now))
        targets = targets_of(transaction, {a, b})
        author = transaction.agent(known.author).ulid
        removed = {**_values(known), "removed": scope.now}
        scope.add_fingerprint(link_fingerprint(removed, (targets[a].id, targets[b].id), author))
        scope.record(chain, self.verb, {"link": known.ulid}, {"link": known.ulid})


@dataclass(frozen=True, slots=True, kw_only=True)
class TagTarget(Editing):
    """Put a case-sensitive label on a node, tree or document."""

    verb: ClassVar[str] = "tag"
    target: TargetRef
    label: str

    def apply(self, scope: Scope) -> Tag:
        label = check_tag(self.label)
        address = locate(scope.transaction, self.target)
        chain = open_chain(scope, address)
        transaction = scope.transaction
        target = targets_of(transaction, {address})[address]
        known = transaction.execute(select(_tags).where(*_where_tag(address, label))).one_or_none()  # pyright: ignore[reportArgumentType] - column comparisons
        if known is not None and known.removed is None:
            return Tag(label, target)
        if known is None:
            tree, kind, key = address
            row = {"tree": tree, "kind": kind, "target": key, "label": label}
            row |= {"created_at": scope.now, "removed": None}
            number = transaction.insert(_tags, row)
        else:
            number = known.key
            row = {**_values(known), "removed": None}
            transaction.execute(update(_tags).where(_tags.c.key == number).values(removed=None))
        scope.add_fingerprint(tag_fingerprint(row, target.id))
        scope.record(chain, self.verb, {"target": target.id, "tag": number}, {"untag": label_digest(label)})
        return Tag(label, target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Untag(Editing):
    """Take a label off."""

    verb: ClassVar[str] = "untag"
    target: TargetRef
    label: str

    def apply(self, scope: Scope) -> None:
        label = check_tag(self.label)
        address = locate(scope.transaction, self.target)
        chain = open_chain(scope, address)
        transaction = scope.transaction
        known = transaction.execute(select(_tags).where(*_where_tag(address, label))).one_or_none()  # pyright: ignore[reportArgumentType] - column comparisons
        if known is None or known.removed is not None:
            raise NotFoundError(f"no tag {label!r} there", hint="tags are case-sensitive")
        transaction.execute(update(_tags).where(_tags.c.key == known.key).values(removed=scope.now))
        target = targets_of(transaction, {address})[address]
        scope.add_fingerprint(tag_fingerprint({**_values(known), "removed": scope.now}, target.id))
        scope.record(chain, self.verb, {"target": target.id, "tag": known.key}, {"tag": label_digest(label)})


def _where_tag(address: TargetAddress, label: str) -> tuple[object, ...]:
    return (
        _tags.c.tree == address.tree,
        _tags.c.kind == address.kind,
        _tags.c.target == address.key,
        _tags.c.label == label,
    )
