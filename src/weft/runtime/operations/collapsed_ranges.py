"""Collapsed ranges of a path: collapse, expand, remove."""

from typing import Any

from sqlalchemy import delete, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.provenance.fingerprints import Fingerprint, group_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_values import ContentCache
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.path_queries import ancestor_at_depth
from weft.store.rows import NodeRow, TreeState
from weft.store.session import Session
from weft.tree.content import check_text, is_storable, plain_text
from weft.tree.json import JsonObject
from weft.tree.node import counted
from weft.tree.reference import CollapsedRange
from weft.tree.snippet import first_sentence

_groups = schema.groups
_QUOTED = 120


def _values(row: Any) -> dict[str, Any]:
    return row._asdict()


class Collapse(Editing, verb="collapse"):
    """Fold a range of a path in context, under a name; the tree keeps every node.

    Without a description of yours it is described by how it begins and ends.
    """

    tree: str
    first: str
    last: str
    name: str
    description: str = ""

    def apply(self, scope: Scope) -> CollapsedRange:
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
                f"{name!r} folds another range", hint=Hint(HintKind.FREE_NAME, name=self.name)
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
        scope.add_fingerprint(group_fingerprint(group, first.ulid, last.ulid))
        scope.record(
            tree,
            self.verb,
            {"group": ulid, "first": first.ulid, "last": last.ulid},
            {"group": name, "was": None if known is None else group_fields(scope, tree, known)},
        )
        return CollapsedRange(id=ulid, name=name, description=description, first=first.ulid, last=last.ulid)


def _group(scope: Scope, tree: TreeState, name: str) -> Any:
    statement = select(_groups).where(_groups.c.tree == tree.key, _groups.c.name == name)
    known = scope.transaction.execute(statement).one_or_none() if is_storable(name) else None
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


class Expand(Editing, verb="expand"):
    """Show a folded range in context again; the fold can be closed again by its name."""

    tree: str
    name: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree)
        known = _group(scope, tree, self.name)
        if not known.expanded:
            here = _groups.c.tree == tree.key, _groups.c.name == self.name
            scope.transaction.execute(update(_groups).where(*here).values(expanded=True))
            first, last = scope.ulid_of(tree, known.first), scope.ulid_of(tree, known.last)
            scope.add_fingerprint(group_fingerprint({**_values(known), "expanded": True}, first, last))
            was = group_fields(scope, tree, known)
            scope.record(tree, self.verb, {"group": known.ulid}, {"group": self.name, "was": was})


class Uncollapse(Editing, verb="uncollapse"):
    """Forget a folded range."""

    tree: str
    name: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree)
        known = _group(scope, tree, self.name)
        scope.transaction.execute(
            delete(_groups).where(_groups.c.tree == tree.key, _groups.c.name == self.name)
        )
        scope.add_fingerprint(Fingerprint(f"group:{known.ulid}", None))
        scope.record(
            tree,
            self.verb,
            {"group": known.ulid},
            {"group": self.name, "was": group_fields(scope, tree, known)},
        )


def describe_range(session: Session, tree: int, first: NodeRow, last: NodeRow) -> str:
    """What a range is about, in its own words: how it begins and how it ends."""
    contents = ContentCache().contents(session, tree, [first, last])
    count = last.depth - first.depth + 1
    begins, ends = (first_sentence(plain_text(contents[row.key]), _QUOTED) for row in (first, last))
    quotes = [f"“{each}”" for each in dict.fromkeys((begins, ends)) if each]
    return counted(count, "node") + (": " + " … ".join(quotes) if quotes else "")
