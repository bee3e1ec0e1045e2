"""Reversals that put columns back unless they changed since; of these, what belongs to nodes of a tree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Column, Table, delete, select, update

from weft.runtime.operations.agent_memory import mark
from weft.runtime.operations.attachments import open_turn
from weft.runtime.operations.collapsed_ranges import group_fields
from weft.runtime.operations.grove_rows import noun_of
from weft.runtime.operations.references import (
    KINDS,
    TargetAddress,
    ends_of,
    label_digest,
    link_between,
    on_target,
)
from weft.runtime.undo.step import EventFields, Reversal, Step, node_named, refuse, visible_node
from weft.store import schema
from weft.store.lookup import find_document
from weft.store.memory import MemoryKind, MemoryRow, live_memory, memory_at
from weft.store.rows import Flag, NodeRow
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.event_kinds import EventKind, Subject
from weft.tree.json import JsonObject
from weft.tree.reference import TargetKind

V = TypeVar("V")
_attachments, _links, _tags, _groups = schema.attachments, schema.links, schema.tags, schema.groups


class Conflict(NamedTuple):
    """What changed since, and what leads to the agent that changed it."""

    words: str
    needle: str | None = None
    agent: int | None = None


@dataclass(frozen=True, kw_only=True)
class ColumnSwap(Reversal, Generic[V]):
    """Undo replaces the value `after` by `before`, redo the value `before` by `after`."""

    find: Callable[[Step], Any]
    """The row that the event changed."""
    before: Callable[[Step], V]
    after: Callable[[Step], V]
    conflict: Callable[[Step, Any, V], Conflict | None] = lambda _step, _row, _present: None
    """None if the row still has the given value and nothing depends on it."""
    write: Callable[[Step, Any, V], object]
    """Check that the row can have the value, and write it."""

    def undo(self, step: Step) -> JsonObject:
        self._swap(step, self.after, self.before)
        return {}

    def redo(self, step: Step, saved: EventFields) -> None:  # noqa: ARG002 - the event has it all
        self._swap(step, self.before, self.after)

    def _swap(self, step: Step, present: Callable[[Step], V], wanted: Callable[[Step], V]) -> None:
        row = self.find(step)
        conflict = self.conflict(step, row, present(step))
        if conflict is not None:
            refuse(step, conflict.words, needle=conflict.needle, agent=conflict.agent)
        self.write(step, row, wanted(step))


def presence(
    on: EventKind,
    column: Column[int],
    *,
    find: Callable[[Step], Any],
    gone: str,
    back: str,
    names: str,
    check: Callable[[Step, Any], None] | None = None,
    drop: Callable[[Step, Any], None] | None = None,
    mark: Callable[[Step], int] = lambda step: step.ordinal,
    access: MemberRole = MemberRole.EDITOR,
) -> ColumnSwap[bool]:
    """A row that the kind `on` adds and its opposite removes: there while the column is null.

    `gone` and `back` say what happened to it since, by an agent whose event has the payload's field `names`.
    `check` refuses a row that cannot return; `drop` deletes what was derived from one that is removed; `mark` is
    what the column then gets.
    """

    def conflict(step: Step, row: Any, present: bool) -> Conflict | None:  # noqa: FBT001 - a value of the swap
        words = (gone if present else back).format(row=row)
        is_there = getattr(row, column.name) is None
        return None if is_there == present else Conflict(words, step.payload[names])

    def write(step: Step, row: Any, wanted: bool) -> None:  # noqa: FBT001 - a value of the swap
        if wanted and check is not None:
            check(step, row)
        if not wanted and drop is not None:
            drop(step, row)
        put(step, column.table, row, **{column.name: None if wanted else mark(step)})

    return ColumnSwap[bool](
        access=access,
        find=find,
        before=lambda step: step.kind is not on,
        after=lambda step: step.kind is on,
        conflict=conflict,
        write=write,
    )


def put(step: Step, table: Table, row: Any, **values: Any) -> None:
    same = (column == getattr(row, column.name) for column in table.primary_key)
    step.scope.transaction.execute(update(table).where(*same).values(**values))
    if table is schema.agents:
        step.scope.transaction.cache.agents.pop(row.key, None)


def named(step: Step, table: Table, ulid: str) -> Any:
    """A row that may have been deleted since."""
    row = step.scope.transaction.execute(select(table).where(table.c.ulid == ulid)).one_or_none()
    if row is None:
        refuse(step, f"the {noun_of(table)} has been deleted", needle=ulid)
    return row


def _node(step: Step) -> NodeRow:
    return visible_node(step, step.payload["node"])


_EXCLUSION = ColumnSwap[bool](
    find=_node,
    before=lambda step: step.kind is EventKind.INCLUDE,
    after=lambda step: step.kind is EventKind.EXCLUDE,
    conflict=lambda _, row, present: (
        None
        if bool(row.flags & Flag.EXCLUDED) == present
        else Conflict(f"[{row.local_id}] was {'included' if present else 'excluded'} again", row.ulid)
    ),
    write=lambda step, row, _: step.scope.transaction.update_node(row, flags=row.flags ^ Flag.EXCLUDED),
)


_BOOKMARK = ColumnSwap[tuple[int, str | None]](
    find=_node,
    before=lambda step: (Flag.BOOKMARKED * step.inverse["bookmarked"], step.inverse["label"]),
    after=lambda step: (
        (Flag.BOOKMARKED, step.payload["label"]) if step.kind is EventKind.BOOKMARK else (0, None)
    ),
    conflict=lambda _, row, present: (
        None
        if (row.flags & Flag.BOOKMARKED, row.bookmark_label) == present
        else Conflict(f"the bookmark on [{row.local_id}] was changed", row.ulid)
    ),
    write=lambda step, row, wanted: step.scope.transaction.update_node(
        row, flags=row.flags & ~Flag.BOOKMARKED | wanted[0], bookmark_label=wanted[1]
    ),
)


def _item(step: Step) -> Any:
    """An item on a turn that no model has answered: the items of an answered turn stay as they are."""
    node = _node(step)
    open_turn(step.scope, step.tree, node.ulid)
    here = _attachments.c.tree == step.tree.key, _attachments.c.node == node.key
    item = select(_attachments).where(*here, _attachments.c.ordinal == step.payload["ordinal"])
    return step.scope.transaction.execute(item).one()


def _require_free_item(step: Step, row: Any) -> None:
    same = select(_attachments.c.ordinal).where(
        _attachments.c.tree == row.tree,
        _attachments.c.node == row.node,
        _attachments.c.id == row.id,
        _attachments.c.detached_by.is_(None),
    )
    if step.scope.transaction.execute(same).first() is not None:
        refuse(step, f"another {row.id} was attached", needle=step.payload["node"])


_ITEM = presence(
    EventKind.ATTACH,
    _attachments.c.detached_by,
    find=_item,
    gone="{row.id} was detached",
    back="{row.id} was attached",
    names="node",
    check=_require_free_item,
)


def find_link(step: Step) -> Any:
    own = select(_links).where(_links.c.ulid == step.payload["link"])
    row = step.scope.transaction.execute(own).one_or_none()
    if row is None:
        refuse(step, "what was linked has been deleted")
    return row


def _require_both_ends(step: Step, row: Any) -> None:
    ends = ends_of(row._asdict())
    for end in ends:
        _require_shown(step, end)
    again = link_between(step.scope.transaction, *ends)
    if again is not None:
        refuse(step, "the two were linked again", agent=again.author)


_LINK = presence(
    EventKind.LINK,
    _links.c.removed,
    find=find_link,
    gone="the link was removed",
    back="the link was made again",
    names="link",
    check=_require_both_ends,
    mark=lambda step: step.scope.now,
)


def find_tag(step: Step) -> Any:
    address = _tagged(step)
    _require_shown(step, address)
    rows = step.scope.transaction.execute(select(_tags).where(on_target(address))).all()
    digest = step.inverse["untag" if step.kind is EventKind.TAG else "tag"]
    row = next((row for row in rows if label_digest(row.label) == digest), None)
    if row is None:
        refuse(step, "the tag was removed", needle=step.payload["target"])
    return row


def _tagged(step: Step) -> TargetAddress:
    target = step.payload["target"]
    if step.chain is None:
        key = find_document(step.scope.transaction, target)
        return TargetAddress(GROVE, KINDS.index(TargetKind.DOCUMENT), key)
    if target == step.chain.ulid:
        return TargetAddress(step.chain.key, KINDS.index(TargetKind.TREE), step.chain.key)
    return TargetAddress(step.chain.key, KINDS.index(TargetKind.NODE), node_named(step, target).key)


_TAG = presence(
    EventKind.TAG,
    _tags.c.removed,
    find=find_tag,
    gone="the tag was removed",
    back="the tag was added again",
    names="target",
    mark=lambda step: step.scope.now,
)


def _require_shown(step: Step, address: TargetAddress) -> None:
    """What a link or tag is on has not been undone. Nodes may be of another tree."""
    transaction = step.scope.transaction
    match KINDS[address.kind]:
        case TargetKind.NODE:
            transaction.tree_state(address.tree)
            row = transaction.node(address.tree, address.key)
            if row.hidden is not None:
                refuse(step, f"[{row.local_id}] was undone", needle=row.ulid)
        case TargetKind.TREE | TargetKind.DOCUMENT as kind:
            table = schema.trees if kind is TargetKind.TREE else schema.documents
            hidden = transaction.execute(select(table.c.hidden).where(table.c.key == address.key))
            if hidden.scalar_one() is not None:
                refuse(step, f"the {noun_of(table)} was undone")


@dataclass(frozen=True, kw_only=True)
class _RangeReversal(Reversal):
    """A collapsed range as it was: under its name, with its id, collapsed or expanded."""

    def undo(self, step: Step) -> JsonObject:
        present, was = self._fields(step), step.inverse["was"]
        match step.kind:
            case EventKind.COLLAPSE:
                is_same = present is not None and (
                    (present["createdAt"], present["expanded"]) == (step.event.created_at, False)
                )
            case EventKind.EXPAND:
                is_same = present == {**was, "expanded": True}
            case _:
                is_same = present is None
        self._swap(step, was, is_same=is_same)
        return {"is": present}

    def redo(self, step: Step, saved: EventFields) -> None:
        self._swap(step, saved["is"], is_same=self._fields(step) == step.inverse["was"])

    def _swap(self, step: Step, wanted: dict[str, Any] | None, *, is_same: bool) -> None:
        transaction, name = step.scope.transaction, step.inverse["group"]
        if not is_same:
            refuse(step, f"the collapsed range {name!r} was changed", needle=step.payload["group"])
        if wanted is None:
            transaction.execute(delete(_groups).where(*self._here(step)))
            return
        row = {
            "tree": step.tree.key,
            "name": name,
            "ulid": wanted["id"],
            "description": wanted["description"],
            "first": visible_node(step, wanted["first"]).key,
            "last": visible_node(step, wanted["last"]).key,
            "expanded": wanted["expanded"],
            "created_at": wanted["createdAt"],
        }
        transaction.replace(_groups, ("tree", "name"), row)

    def _here(self, step: Step) -> tuple[Any, Any]:
        return _groups.c.tree == step.tree.key, _groups.c.name == step.inverse["group"]

    def _fields(self, step: Step) -> JsonObject | None:
        row = step.scope.transaction.execute(select(_groups).where(*self._here(step))).one_or_none()
        return None if row is None else group_fields(step.scope, step.tree, row)


@dataclass(frozen=True, kw_only=True)
class _MemoryReversal(Reversal):
    """Pins and stashes: one row replaces another, and rows keep their text when they are removed."""

    permission: Permission = Permission.LOOM_AWARE
    access: MemberRole = MemberRole.READER
    allow_archived: bool = True

    def undo(self, step: Step) -> JsonObject:
        self._swap(step, remove=step.inverse["remove"], restore=step.inverse["restore"])
        return {}

    def redo(self, step: Step, saved: EventFields) -> None:  # noqa: ARG002 - the event has it all
        self._swap(step, remove=step.inverse["restore"], restore=step.inverse["remove"])

    def _swap(self, step: Step, *, remove: int | None, restore: int | None) -> None:
        scope = step.scope
        old = None if remove is None else self._row(step, remove)
        new = None if restore is None else self._row(step, restore)
        if (old is not None and old.removed is not None) or (new is not None and new.removed is None):
            refuse(step, "it was changed since")
        if old is not None:
            mark(scope, old, scope.now)
        if new is not None:
            place = step.tree.key, scope.actor.agent, [MemoryKind(new.kind)], new.label
            if live_memory(scope.transaction, *place):
                refuse(step, f"{new.label!r} was kept again")
            mark(scope, new, None)

    def _row(self, step: Step, ordinal: int) -> MemoryRow:
        row = memory_at(step.scope.transaction, step.tree.key, step.scope.actor.agent, ordinal)
        if row is None:
            refuse(step, "it has been deleted")
        return row


NODE_REVERSALS: Mapping[EventKind | Subject, Reversal] = {
    Subject.EXCLUSION: _EXCLUSION,
    Subject.BOOKMARK: _BOOKMARK,
    Subject.ITEM: _ITEM,
    Subject.LINK: _LINK,
    Subject.TAG: _TAG,
    Subject.RANGE: _RangeReversal(),
    Subject.MEMORY: _MemoryReversal(),
}
