"""Every kind of event that can be undone, with its reversal; and what an undo's own event records of it."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Table, select

from weft.provenance.fingerprints import (
    Fingerprint,
    group_fingerprint,
    record_fingerprint,
    tag_fingerprint,
    tree_fingerprints,
)
from weft.runtime.operations.grove_rows import fingerprint_row, noun_of
from weft.runtime.operations.references import fingerprint_link
from weft.runtime.undo.columns import NODE_REVERSALS, find_link, find_tag
from weft.runtime.undo.entities import ENTITY_REVERSALS
from weft.runtime.undo.nodes import CREATION_REVERSALS
from weft.runtime.undo.step import Reversal, Step, node_named
from weft.store import schema
from weft.store.records import record_rows
from weft.store.rows import Flag
from weft.tree.event_kinds import EventKind, Subject
from weft.tree.json import JsonObject, JsonValue

_Fields = dict[str, JsonValue]
_GROVE_ROWS: Mapping[Subject, Table] = {
    Subject.AGENT: schema.agents,
    Subject.DOCUMENT: schema.documents,
    Subject.PROJECT: schema.projects,
    Subject.VAULT: schema.vaults,
}

_REVERSALS = {**CREATION_REVERSALS, **NODE_REVERSALS, **ENTITY_REVERSALS}
"""By kind, or by subject for all kinds that have no reversal of their own."""
REVERSALS: Mapping[EventKind, Reversal] = {
    kind: _REVERSALS[kind if kind in _REVERSALS else kind.subject] for kind in EventKind if kind.is_reversible
}


def _tree(step: Step) -> _Fields:
    match step.kind:
        case EventKind.ASSIGN:
            fields = step.payload if step.direction is EventKind.REDO else step.inverse
            return {"project": fields["project"]}
        case EventKind.PLANT:
            return {"tree": step.payload["tree"]}
        case EventKind.DESCRIBE:
            step.scope.add_fingerprint(*tree_fingerprints(_row(step, schema.trees, step.tree.ulid)._asdict()))
            return {}
        case _:
            return {"archivedAt": step.tree.archived_at}


def _row(step: Step, table: Any, ulid: str) -> Any:
    return step.scope.transaction.execute(select(table).where(table.c.ulid == ulid)).one()


def _marks(step: Step) -> _Fields:
    row = node_named(step, step.payload["node"])
    marks: _Fields = {
        "excluded": bool(row.flags & Flag.EXCLUDED),
        "bookmarked": bool(row.flags & Flag.BOOKMARKED),
        "label": row.bookmark_label,
    }
    return {"marks": {row.ulid: marks}}


def _prune(step: Step) -> _Fields:
    is_undo = step.direction is EventKind.UNDO
    number = step.inverse["restore"] if step.kind is EventKind.PRUNE else step.payload["prune"]
    if is_undo == (step.kind is EventKind.PRUNE):
        return {"restored": number}
    return {"pruned": number, "node": step.payload["node"]}


def _item(step: Step) -> _Fields:
    hanging = (step.kind is EventKind.ATTACH) == (step.direction is EventKind.REDO)
    item: _Fields = {"node": step.payload["node"], "ordinal": step.payload["ordinal"], "hanging": hanging}
    return {"item": item}


def _add_tag_fingerprint(step: Step) -> None:
    step.scope.add_fingerprint(tag_fingerprint(find_tag(step)._asdict(), step.payload["target"]))


def _add_range_fingerprint(step: Step) -> None:
    scope, groups = step.scope, schema.groups
    here = groups.c.tree == step.tree.key, groups.c.name == step.inverse["group"]
    row: Any = scope.transaction.execute(select(groups).where(*here)).one_or_none()
    step.scope.add_fingerprint(Fingerprint(f"group:{step.payload['group']}", None))
    if row is not None:
        first, last = scope.ulid_of(step.tree, row.first), scope.ulid_of(step.tree, row.last)
        scope.add_fingerprint(group_fingerprint(row._asdict(), first, last))


def _add_record_fingerprints(step: Step) -> None:
    rows = record_rows(step.scope.transaction, step.payload["records"])
    step.scope.add_fingerprint(*(record_fingerprint(row._asdict()) for row in rows))


def _add_row_fingerprint(step: Step) -> None:
    table = _GROVE_ROWS[step.kind.subject]
    fingerprint_row(step.scope, table, step.payload[noun_of(table)], step.payload.get("revision"))


_FIELDS: Mapping[Subject, Callable[[Step], _Fields]] = {
    Subject.EXCLUSION: _marks,
    Subject.BOOKMARK: _marks,
    Subject.PRUNE: _prune,
    Subject.ITEM: _item,
    Subject.TREE: _tree,
}
_FINGERPRINTS: Mapping[Subject, Callable[[Step], object]] = {
    Subject.LINK: lambda step: fingerprint_link(step.scope, find_link(step)._asdict()),
    Subject.TAG: _add_tag_fingerprint,
    Subject.RANGE: _add_range_fingerprint,
    Subject.RECORD: _add_record_fingerprints,
    **dict.fromkeys(_GROVE_ROWS, _add_row_fingerprint),
}


def describe_step(step: Step) -> JsonObject:
    """Add fingerprints of what the step changed, or return what its event says of it, for verification."""
    subject = step.kind.subject
    if subject in _FINGERPRINTS:
        _FINGERPRINTS[subject](step)
    return _FIELDS[subject](step) if subject in _FIELDS else {}
