"""Every kind of event that can be undone, with its reversal; here those of the grove's own rows.

At the end: what the event of an undo or redo itself records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Table, or_, select, update

from weft.provenance.fingerprints import (
    Fingerprint,
    group_fingerprint,
    record_fingerprint,
    tag_fingerprint,
    tree_fingerprints,
)
from weft.runtime.operations.agents import agent_digest, require_person
from weft.runtime.operations.grove_rows import fingerprint_row, name_of, noun_of, require_free_name
from weft.runtime.operations.references import fingerprint_link
from weft.runtime.operations.scope import digest_of
from weft.runtime.operations.settings import load_settings, put_preferences
from weft.runtime.operations.trees import set_archived
from weft.runtime.undo.columns import (
    NODE_REVERSALS,
    ColumnSwap,
    Conflict,
    find_link,
    find_tag,
    named,
    presence,
    put,
)
from weft.runtime.undo.conflicts import require_no_references
from weft.runtime.undo.nodes import CREATION_REVERSALS
from weft.runtime.undo.step import EventFields, Reversal, Step, node_named, refuse, tops_now
from weft.store import schema
from weft.store.records import record_rows
from weft.store.rows import Flag
from weft.store.transaction import GROVE
from weft.store.vault_index import forget_vault
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.event_kinds import EventKind, Subject
from weft.tree.json import JsonObject, JsonValue
from weft.tree.reference import TargetKind

_Fields = dict[str, JsonValue]
_GROVE_ROWS: Mapping[Subject, Table] = {
    Subject.AGENT: schema.agents,
    Subject.DOCUMENT: schema.documents,
    Subject.PROJECT: schema.projects,
    Subject.VAULT: schema.vaults,
}


_trees, _agents, _documents, _projects = schema.trees, schema.agents, schema.documents, schema.projects


def _require_free(step: Step, table: Table, row: Any, name: str) -> None:
    """Refuse a name that another row has taken since. Archived projects keep their names."""
    is_back = row.hidden is not None or (row.archived_at is not None and table is not _projects)
    if is_back or name_of(table, row).lower() != name.lower():
        require_free_name(step.scope, table, name)


def _archived_by_event(step: Step) -> int | None:
    return step.event.created_at if step.event.kind.startswith("archive") else None


_TREE_ARCHIVE = ColumnSwap[int | None](
    allow_archived=True,
    find=lambda step: step.tree,
    before=lambda step: step.inverse.get("archivedAt"),
    after=_archived_by_event,
    conflict=lambda _, tree, present: (
        None
        if tree.archived_at == present
        else Conflict(
            f"the tree was {'archived' if present is None else 'unarchived, or archived again'}", tree.ulid
        )
    ),
    write=lambda step, tree, moment: set_archived(step.scope, tree, moment),
)


def _archive_of(table: Table) -> ColumnSwap[int | None]:
    """Archiving a document, project or agent, or restoring it."""

    def write(step: Step, row: Any, moment: int | None) -> None:
        if moment is None:
            _require_free(step, table, row, name_of(table, row))
        put(step, table, row, archived_at=moment)

    return ColumnSwap[int | None](
        find=lambda step: named(step, table, step.payload[noun_of(table)]),
        before=lambda step: step.inverse["archivedAt"],
        after=_archived_by_event,
        conflict=lambda _, row, present: (
            None
            if row.archived_at == present
            else Conflict(f"{name_of(table, row)!r} was archived or unarchived", row.ulid)
        ),
        write=write,
    )


def _new(table: Table, conflict: Callable[[Step, Any], Conflict | None]) -> ColumnSwap[bool]:
    """A new document, project or agent, hidden unless something has used or changed it since."""

    def write(step: Step, row: Any, wanted: bool) -> None:  # noqa: FBT001 - a value of the swap
        if wanted:
            _require_free(step, table, row, name_of(table, row))
            put(step, table, row, hidden=None, archived_at=None)
        else:
            put(step, table, row, hidden=step.ordinal, archived_at=step.scope.now)

    return ColumnSwap[bool](
        find=lambda step: named(step, table, step.payload[noun_of(table)]),
        before=lambda _: False,
        after=lambda _: True,
        conflict=lambda step, row, present: conflict(step, row) if present else None,
        write=write,
    )


def _archived(name: str, row: Any) -> Conflict | None:
    return None if row.archived_at is None else Conflict(f"{name!r} was archived", row.ulid)


def _document_use(step: Step, row: Any) -> Conflict | None:
    if row.revision != 1:
        return Conflict(f"{row.title!r} was saved again", agent=_reviser(step, schema.revisions, row))
    if row.archived_at is None:
        require_no_references(step, TargetKind.DOCUMENT, GROVE, row.key, repr(row.title))
    return _archived(row.title, row)


def _project_use(step: Step, row: Any) -> Conflict | None:
    if row.revision != 1:
        return Conflict(f"{row.name!r} was changed", agent=_reviser(step, schema.project_revisions, row))
    if row.archived_at is not None:
        return _archived(row.name, row)
    member = select(_trees.c.title).where(_trees.c.project == row.key).limit(1)
    title = step.scope.transaction.execute(member).scalar()
    return None if title is None else Conflict(f"{title!r} belongs to {row.name!r}")


def _agent_use(step: Step, row: Any) -> Conflict | None:
    require_person(step.scope)
    if agent_digest(row) != step.inverse["is"] or row.archived_at is not None:
        return Conflict(f"{row.name!r} was changed", row.ulid)
    events, nodes, users = schema.events, schema.nodes, schema.users
    # Only trees that changed since then are searched.
    since = select(_trees.c.key).where(_trees.c.updated_at >= step.event.created_at)
    in_chains = or_(events.c.tree.in_(since), events.c.tree == GROVE)
    uses = (
        select(nodes.c.key).where(nodes.c.tree.in_(since), nodes.c.author == row.key),
        select(events.c.ordinal).where(in_chains, events.c.agent == row.key),
        select(users.c.key).where(users.c.agent == row.key),
    )
    if any(step.scope.transaction.execute(use.limit(1)).first() is not None for use in uses):
        return Conflict(f"{row.name!r} has taken part since")
    return None


def _tree_use(step: Step, row: Any) -> Conflict | None:
    """Only its planting may have happened in the tree, and nothing refers into it."""
    transaction, links, tags = step.scope.transaction, schema.links, schema.tags
    if row.archived_at is not None:
        return _archived(row.title, row)
    everyone = select(schema.events.c.agent).where(schema.events.c.tree == row.key).distinct()
    for agent in list(transaction.execute(everyone).scalars()):
        if tops_now(transaction, row.key, agent).undo not in {None, 1}:
            return Conflict(f"something was done in {row.title!r}", agent=agent)
    require_no_references(step, TargetKind.TREE, row.key, row.key, repr(row.title))
    # Links and tags on the tree's nodes may be recorded in other trees.
    inside = or_(links.c.a_tree == row.key, links.c.b_tree == row.key)
    references = (
        select(links.c.key).where(inside, links.c.removed.is_(None)),
        select(tags.c.key).where(tags.c.tree == row.key, tags.c.removed.is_(None)),
    )
    if any(transaction.execute(each.limit(1)).first() is not None for each in references):
        return Conflict(f"there are references into {row.title!r}")
    return None


def _put_tree(step: Step, row: Any, wanted: bool) -> None:  # noqa: FBT001 - a value of the swap
    transaction = step.scope.transaction
    put(step, _trees, row, hidden=None if wanted else step.ordinal)
    set_archived(step.scope, transaction.tree_state(row.key), None if wanted else step.scope.now)
    if not wanted:
        transaction.cache.keys.pop(row.ulid, None)


def _planted(step: Step) -> Any:
    row = named(step, _trees, step.payload["tree"])
    step.scope.transaction.tree_state(row.key)  # locks it
    return row


_NEW_TREE = ColumnSwap[bool](
    find=_planted,
    before=lambda _: False,
    after=lambda _: True,
    conflict=lambda step, row, present: _tree_use(step, row) if present else None,
    write=_put_tree,
)


def _project_key(step: Step, ulid: str | None) -> int | None:
    if ulid is None:
        return None
    row = named(step, _projects, ulid)
    if row.hidden is not None:
        refuse(step, f"the project {row.name!r} was undone", needle=ulid)
    return row.key


_PROJECT_OF_TREE = ColumnSwap[int | None](
    find=lambda step: named(step, _trees, step.tree.ulid),
    before=lambda step: _project_key(step, step.inverse["project"]),
    after=lambda step: _project_key(step, step.payload["project"]),
    conflict=lambda _, row, present: (
        None if row.project == present else Conflict(f"{row.title!r} was assigned again", '"project"')
    ),
    write=lambda step, row, key: put(step, _trees, row, project=key),
)


def _revision_of(table: Table, revisions: Table, texts: tuple[str, ...]) -> ColumnSwap[int]:
    """The revision before or after: both are kept, one is shown. `texts` are columns of both tables."""
    noun = noun_of(table)

    def conflict(step: Step, row: Any, present: int) -> Conflict | None:
        if row.revision != present:
            words = f"revision {row.revision} of {name_of(table, row)!r} was saved"
            return Conflict(words, agent=_reviser(step, revisions, row))
        return _archived(name_of(table, row), row)

    def write(step: Step, row: Any, wanted: int) -> None:
        transaction, own = step.scope.transaction, revisions.c[noun] == row.key
        revision = transaction.execute(select(revisions).where(own, revisions.c.revision == wanted)).one()
        _require_free(step, table, row, name_of(table, revision))
        values: dict[str, Any] = {text: getattr(revision, text) for text in texts}
        if "updated_at" in table.c:
            values["updated_at"] = revision.created_at
        put(step, table, row, revision=wanted, **values)
        hidden = step.ordinal if step.direction is EventKind.UNDO else None
        recorded = revisions.c.revision == step.payload["revision"]
        transaction.execute(update(revisions).where(own, recorded).values(hidden=hidden))

    return ColumnSwap[int](
        find=lambda step: named(step, table, step.payload[noun]),
        before=lambda step: step.inverse["revision"],
        after=lambda step: step.payload["revision"],
        conflict=conflict,
        write=write,
    )


def _reviser(step: Step, revisions: Table, row: Any) -> int:
    """The author of the revision that a document or project is at."""
    noun = "document" if revisions is schema.revisions else "project"
    here = revisions.c[noun] == row.key, revisions.c.revision == row.revision
    return step.scope.transaction.execute(select(revisions.c.author).where(*here)).scalar_one()


@dataclass(frozen=True, kw_only=True)
class _FieldReversal(Reversal):
    """The fields that a tree's description or an agent's change wrote; the event has digests of the new ones."""

    table: Table

    def undo(self, step: Step) -> JsonObject:
        row = self._row(step)
        was, digests = step.inverse["was"], step.inverse["is"]
        self._require_same(step, {name: digest_of(getattr(row, name)) == digests[name] for name in was})
        self._write(step, row, was)
        return {"was": {name: getattr(row, name) for name in was}}

    def redo(self, step: Step, saved: EventFields) -> None:
        row = self._row(step)
        was = step.inverse["was"]
        self._require_same(step, {name: getattr(row, name) == value for name, value in was.items()})
        self._write(step, row, saved["was"])

    def _require_same(self, step: Step, same: Mapping[str, bool]) -> None:
        for name, is_same in same.items():
            if not is_same:
                refuse(step, f"the {name.replace('_', ' ')} was changed", needle=name)

    def _row(self, step: Step) -> Any:
        return named(step, self.table, step.tree.ulid if step.chain else step.payload["agent"])

    def _write(self, step: Step, row: Any, values: dict[str, Any]) -> None:
        if "name" in values:
            _require_free(step, self.table, row, values["name"])
        put(step, self.table, row, **values)


def _put_preferences(step: Step, now: dict[str, Any], wanted: dict[str, Any]) -> None:
    merged = {**now, **wanted}
    put_preferences(step.scope, {name: value for name, value in merged.items() if value is not None})


_PREFERENCES = ColumnSwap[dict[str, Any]](
    access=MemberRole.OWNER,
    find=lambda step: load_settings(step.scope.transaction),
    before=lambda step: step.inverse["was"],
    after=lambda step: step.inverse["is"],
    conflict=lambda _, now, present: next(
        (Conflict(f"{name} was set again", name) for name in present if now.get(name) != present[name]), None
    ),
    write=_put_preferences,
)


_VAULT = presence(
    EventKind.MOUNT,
    schema.vaults.c.removed,
    access=MemberRole.OWNER,
    find=lambda step: named(step, schema.vaults, step.payload["vault"]),
    gone="{row.name!r} was unmounted",
    back="{row.name!r} was mounted",
    names="vault",
    check=lambda step, row: require_free_name(step.scope, schema.vaults, row.name),
    drop=lambda step, row: forget_vault(step.scope.transaction, row.key),
)


def _records(step: Step) -> list[Any]:
    ulids = step.payload["records"]
    rows = record_rows(step.scope.transaction, ulids)
    if len(rows) < len(ulids):
        refuse(step, "some of the records have been deleted")
    return rows


def _hide_records(step: Step, rows: list[Any], wanted: bool) -> None:  # noqa: FBT001 - a value of the swap
    transaction, records = step.scope.transaction, schema.records
    keys = transaction.dialect.among(records.c.key, [row.key for row in rows])
    transaction.execute(update(records).where(keys).values(hidden=None if wanted else step.ordinal))


_RECORDS = ColumnSwap[bool](
    find=_records,
    before=lambda _: False,
    after=lambda _: True,
    write=_hide_records,
)


_DOCUMENTS: Mapping[EventKind | Subject, Reversal] = {
    EventKind.DOCUMENT: _new(_documents, _document_use),
    EventKind.SAVE: _revision_of(_documents, schema.revisions, ("title",)),
    Subject.DOCUMENT: _archive_of(_documents),
}
_AGENTS: Mapping[EventKind | Subject, Reversal] = {
    EventKind.AGENT: _new(_agents, _agent_use),
    EventKind.CHANGE_AGENT: _FieldReversal(table=_agents),
    Subject.AGENT: _archive_of(_agents),
}
_REVERSALS: Mapping[EventKind | Subject, Reversal] = {
    **CREATION_REVERSALS,
    **NODE_REVERSALS,
    EventKind.PLANT: _NEW_TREE,
    EventKind.DESCRIBE: _FieldReversal(table=_trees),
    EventKind.ASSIGN: _PROJECT_OF_TREE,
    Subject.TREE: _TREE_ARCHIVE,
    **{key: replace(each, permission=Permission.DOC_WRITE) for key, each in _DOCUMENTS.items()},
    EventKind.PROJECT: _new(_projects, _project_use),
    EventKind.CHANGE_PROJECT: _revision_of(
        _projects, schema.project_revisions, ("name", "system_prompt", "context")
    ),
    Subject.PROJECT: _archive_of(_projects),
    **{key: replace(each, access=MemberRole.OWNER) for key, each in _AGENTS.items()},
    Subject.VAULT: _VAULT,
    Subject.RECORD: _RECORDS,
    Subject.SETTINGS: _PREFERENCES,
}
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
