"""Links, tags, and ranges folded in context."""

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import delete, select, update

from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.provenance.facts import Fact, group_fact, link_fact, tag_fact
from weft.runtime.folding import describe_range
from weft.runtime.operations.base import Editing
from weft.runtime.scope import Scope
from weft.runtime.targets import Address, TargetRef, locate, open_chain, targets_of
from weft.store import schema
from weft.store.queries import ancestor_at_depth
from weft.store.rows import TreeState
from weft.store.session import Session
from weft.tree.content import JsonObject, can_be_kept, check_text
from weft.tree.reference import Group, Link, Tag, check_tag
from weft.tree.wire import from_microseconds

__all__ = [
    "Collapse",
    "Expand",
    "LinkTogether",
    "TagTarget",
    "Uncollapse",
    "Unlink",
    "Untag",
    "group_fields",
    "label_digest",
    "link_between",
]

_links = schema.links
_tags = schema.tags
_groups = schema.groups


def _values(row: Any) -> dict[str, Any]:
    return row._asdict()


def _between(a: Address, b: Address) -> tuple[Address, Address]:
    """Undirected: one order for both ways of saying it."""
    return (a, b) if a <= b else (b, a)


def link_between(session: Session, a: Address, b: Address) -> Any:
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
        scope.note(link_fact({"ulid": ulid, **row}, ends_ids, scope.agent.ulid))
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
        scope.note(link_fact(removed, (targets[a].id, targets[b].id), author))
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
        scope.note(tag_fact(row, target.id))
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
        scope.note(tag_fact({**_values(known), "removed": scope.now}, target.id))
        scope.record(chain, self.verb, {"target": target.id, "tag": known.key}, {"tag": label_digest(label)})


def _where_tag(address: Address, label: str) -> tuple[object, ...]:
    return (
        _tags.c.tree == address.tree,
        _tags.c.kind == address.kind,
        _tags.c.target == address.key,
        _tags.c.label == label,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse(Editing):
    """Fold a range of a path in context, under a name; the tree keeps every node.

    Without a description of yours it is described by how it begins and ends.
    """

    verb: ClassVar[str] = "collapse"
    tree: str
    first: str
    last: str
    name: str
    description: str = ""

    def apply(self, scope: Scope) -> Group:
        tree = scope.open_tree(self.tree)
        name = check_text(self.name, what="name", limit=200).strip()
        if not name:
            raise InvalidInputError("a folded range needs a name")
        description = check_text(self.description, what="description", limit=100_000)
        first = scope.live_node(tree, self.first, "collapse")
        last = scope.live_node(tree, self.last, "collapse")
        transaction = scope.transaction
        if (
            first.depth > last.depth
            or ancestor_at_depth(transaction, tree.key, last.position, first.depth) != first.position
        ):
            raise InvalidInputError(
                f"[{first.local_id}] is not on the path to [{last.local_id}]",
                hint="name the upper end first; both lie on one path",
            )
        known = transaction.execute(
            select(_groups).where(_groups.c.tree == tree.key, _groups.c.name == name)
        ).one_or_none()
        if known is not None and (known.first, known.last) != (first.key, last.key):
            raise ConflictError(
                f"{name!r} folds another range", hint="choose another name, or remove it first"
            )
        ulid = scope.new_ulid() if known is None else known.ulid
        if not description:
            own = "" if known is None else known.description
            description = own or describe_range(transaction, tree.key, first, last)
        group = {
            "tree": tree.key,
            "name": name,
            "ulid": ulid,
            "description": description,
            "first": first.key,
            "last": last.key,
            "expanded": False,
            "created_at": scope.now,
        }
        transaction.replace(_groups, ("tree", "name"), group)
        scope.note(group_fact(group, first.ulid, last.ulid))
        scope.record(
            tree,
            self.verb,
            {"group": ulid, "first": first.ulid, "last": last.ulid},
            {"group": name, "was": None if known is None else group_fields(scope, tree, known)},
        )
        return Group(id=ulid, name=name, description=description, first=first.ulid, last=last.ulid)


def _group(scope: Scope, tree: TreeState, name: str) -> Any:
    statement = select(_groups).where(_groups.c.tree == tree.key, _groups.c.name == name)
    known = scope.transaction.execute(statement).one_or_none() if can_be_kept(name) else None
    if known is None:
        raise NotFoundError(f"no folded range {name!r}")
    return known


def group_fields(scope: Scope, tree: TreeState, row: Any) -> JsonObject:
    """A folded range's row as an inverse holds it."""
    return {
        "id": row.ulid,
        "description": row.description,
        "first": scope.ulid_of(tree, row.first),
        "last": scope.ulid_of(tree, row.last),
        "expanded": row.expanded,
        "createdAt": row.created_at,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Expand(Editing):
    """Show a folded range in context again; the fold can be closed again by its name."""

    verb: ClassVar[str] = "expand"
    tree: str
    name: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree)
        known = _group(scope, tree, self.name)
        if not known.expanded:
            here = _groups.c.tree == tree.key, _groups.c.name == self.name
            scope.transaction.execute(update(_groups).where(*here).values(expanded=True))
            first, last = scope.ulid_of(tree, known.first), scope.ulid_of(tree, known.last)
            scope.note(group_fact({**_values(known), "expanded": True}, first, last))
            was = group_fields(scope, tree, known)
            scope.record(tree, self.verb, {"group": known.ulid}, {"group": self.name, "was": was})


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncollapse(Editing):
    """Forget a folded range."""

    verb: ClassVar[str] = "uncollapse"
    tree: str
    name: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree)
        known = _group(scope, tree, self.name)
        scope.transaction.execute(
            delete(_groups).where(_groups.c.tree == tree.key, _groups.c.name == self.name)
        )
        scope.note(Fact(f"group:{known.ulid}", None))
        scope.record(
            tree,
            self.verb,
            {"group": known.ulid},
            {"group": self.name, "was": group_fields(scope, tree, known)},
        )
