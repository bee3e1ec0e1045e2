"""Back and forth over links, tags and folded ranges."""

from typing import Any, ClassVar

from sqlalchemy import delete, select, update

from weft.runtime.operations.collapsed_ranges import group_fields
from weft.runtime.operations.references import KINDS, Address, label_digest, link_between
from weft.runtime.undoing.step import Step, node_named, refuse, visible_node
from weft.store import schema
from weft.store.references import find_document
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import JsonObject
from weft.tree.reference import TargetKind

__all__ = ["Folding", "Linking", "Tagging"]

_links, _tags, _groups = schema.links, schema.tags, schema.groups


class _Referring:
    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR
    though_archived: ClassVar[bool] = False


class Linking(_Referring):
    """A link is there or taken away; its row keeps the note, the author and the id."""

    def undo(self, step: Step) -> JsonObject:
        self._set(step, there=step.event.kind == "unlink")
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the kind says it all
        self._set(step, there=step.event.kind == "link")

    def _set(self, step: Step, *, there: bool) -> None:
        transaction, name = step.scope.transaction, step.payload["link"]
        row = transaction.execute(select(_links).where(_links.c.ulid == name)).one_or_none()
        if row is None:
            refuse(step, "what was linked has been deleted")
        ends = (Address(row.a_tree, row.a_kind, row.a_key), Address(row.b_tree, row.b_kind, row.b_key))
        if (row.removed is None) == there:
            refuse(step, "the link was " + ("made again" if there else "taken away"), needle=name)
        if there:
            for end in ends:
                _require_there(step, end)
            again = link_between(transaction, *ends)
            if again is not None:
                refuse(step, "the two were linked again", agent=again.author)
        moment = None if there else step.scope.now
        transaction.execute(update(_links).where(_links.c.key == row.key).values(removed=moment))


class Tagging(_Referring):
    """A tag is there or taken off."""

    def undo(self, step: Step) -> JsonObject:
        self._set(step, there=step.event.kind == "untag")
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the kind says it all
        self._set(step, there=step.event.kind == "tag")

    def _set(self, step: Step, *, there: bool) -> None:
        address = self._address(step)
        _require_there(step, address)
        on_it = select(_tags).where(
            _tags.c.tree == address.tree, _tags.c.kind == address.kind, _tags.c.target == address.key
        )
        digest = step.inverse["untag" if step.event.kind == "tag" else "tag"]
        rows = step.scope.transaction.execute(on_it).all()
        row = next((row for row in rows if label_digest(row.label) == digest), None)
        if row is None or (row.removed is None) == there:
            refuse(
                step,
                "the tag was " + ("put on again" if there else "taken off"),
                needle=step.payload["target"],
            )
        moment = None if there else step.scope.now
        step.scope.transaction.execute(update(_tags).where(_tags.c.key == row.key).values(removed=moment))

    def _address(self, step: Step) -> Address:
        target = step.payload["target"]
        if step.chain is None:
            key = find_document(step.scope.transaction, target)
            return Address(GROVE, KINDS.index(TargetKind.DOCUMENT), key)
        if target == step.chain.ulid:
            return Address(step.chain.key, KINDS.index(TargetKind.TREE), step.chain.key)
        return Address(step.chain.key, KINDS.index(TargetKind.NODE), node_named(step, target).key)


def _require_there(step: Step, address: Address) -> None:
    """What a link or tag is on has not been undone. Nodes of other trees are looked at, not locked by name."""
    transaction = step.scope.transaction
    match KINDS[address.kind]:
        case TargetKind.NODE:
            transaction.tree_state(address.tree)
            row = transaction.node(address.tree, address.key)
            if row.hidden is not None:
                refuse(step, f"[{row.local_id}] was undone", needle=row.ulid)
        case TargetKind.TREE:
            _require_shown(step, schema.trees, address.key, "the tree")
        case TargetKind.DOCUMENT:
            _require_shown(step, schema.documents, address.key, "the document")


def _require_shown(step: Step, table: Any, key: int, what: str) -> None:
    hidden = step.scope.transaction.execute(select(table.c.hidden).where(table.c.key == key)).scalar_one()
    if hidden is not None:
        refuse(step, f"{what} was undone")


class Folding(_Referring):
    """A folded range as it was: under its name, with its id, open or closed."""

    def undo(self, step: Step) -> JsonObject:
        present, was, name = self._fields(step), step.inverse["was"], step.inverse["group"]
        match step.event.kind:
            case "collapse":
                moment = None if present is None else present["createdAt"]
                is_so = present is not None and (moment, present["expanded"]) == (
                    step.event.created_at,
                    False,
                )
            case "expand":
                is_so = present == {**was, "expanded": True}
            case _:
                is_so = present is None
        if not is_so:
            refuse(step, f"the folded range {name!r} was changed", needle=step.payload["group"])
        self._put(step, step.inverse["was"])
        return {"is": present}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:
        if self._fields(step) != step.inverse["was"]:
            refuse(
                step, f"the folded range {step.inverse['group']!r} was changed", needle=step.payload["group"]
            )
        self._put(step, forth["is"])

    def _here(self, step: Step) -> tuple[Any, Any]:
        return _groups.c.tree == step.tree.key, _groups.c.name == step.inverse["group"]

    def _fields(self, step: Step) -> JsonObject | None:
        row = step.scope.transaction.execute(select(_groups).where(*self._here(step))).one_or_none()
        return None if row is None else group_fields(step.scope, step.tree, row)

    def _put(self, step: Step, wanted: dict[str, Any] | None) -> None:
        transaction = step.scope.transaction
        if wanted is None:
            transaction.execute(delete(_groups).where(*self._here(step)))
            return
        transaction.replace(
            _groups,
            ("tree", "name"),
            {
                "tree": step.tree.key,
                "name": step.inverse["group"],
                "ulid": wanted["id"],
                "description": wanted["description"],
                "first": visible_node(step, wanted["first"]).key,
                "last": visible_node(step, wanted["last"]).key,
                "expanded": wanted["expanded"],
                "created_at": wanted["createdAt"],
            },
        )
