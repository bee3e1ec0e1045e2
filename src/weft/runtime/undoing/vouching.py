"""What a step back or forth has changed, in its own event: so that verifying can follow it."""

from typing import Any

from sqlalchemy import select

from weft.provenance.facts import (
    Fact,
    agent_fact,
    group_fact,
    link_fact,
    record_fact,
    tag_fact,
    tree_facts,
)
from weft.provenance.revised import DOCUMENT, PROJECT
from weft.runtime.operations.references import Address, label_digest, targets_of
from weft.runtime.operations.revisions import note_revised
from weft.runtime.undoing.step import Step, node_named
from weft.store import schema
from weft.store.records import record_rows
from weft.store.rows import Flag
from weft.store.transaction import GROVE
from weft.tree.content import JsonValue
from weft.tree.event_kinds import EventKind, Subject

__all__ = ["vouch_for"]


def vouch_for(step: Step) -> dict[str, JsonValue]:
    """Note the facts, and return what the event has to say outright of marks, prunes and items."""
    kind = EventKind(step.event.kind)
    match kind.subject:
        case Subject.EXCLUSION | Subject.BOOKMARK:
            return {"marks": _marks(step)}
        case Subject.PRUNE:
            return _prune(step)
        case Subject.ITEM:
            return {"item": _item(step)}
        case _:
            pass
    match kind:
        case EventKind.ARCHIVE | EventKind.UNARCHIVE:
            return {"archivedAt": step.tree.archived_at}
        case EventKind.ASSIGN:
            told = step.payload if step.direction == "redo" else step.inverse
            return {"project": told["project"]}
        case EventKind.PLANT:
            return {"tree": step.payload["tree"]}
        case _:
            _note(step, kind)
            return {}


def _note(step: Step, kind: EventKind) -> None:
    match kind.subject:
        case Subject.TREE:
            step.scope.note(*tree_facts(_row(step, schema.trees, step.tree.ulid)._asdict()))
        case Subject.LINK:
            _note_link(step)
        case Subject.TAG:
            _note_tag(step)
        case Subject.RANGE:
            _note_group(step)
        case Subject.AGENT:
            step.scope.note(agent_fact(_row(step, schema.agents, step.payload["agent"])._asdict()))
        case Subject.DOCUMENT:
            note_revised(step.scope, DOCUMENT, step.payload["document"], step.payload.get("revision"))
        case Subject.RECORD:
            rows = record_rows(step.scope.transaction, step.payload["records"])
            step.scope.note(*(record_fact(row._asdict()) for row in rows))
        case Subject.PROJECT:
            note_revised(step.scope, PROJECT, step.payload["project"], step.payload.get("revision"))
        case _:
            pass


def _row(step: Step, table: Any, ulid: str) -> Any:
    return step.scope.transaction.execute(select(table).where(table.c.ulid == ulid)).one()


def _marks(step: Step) -> dict[str, JsonValue]:
    row = node_named(step, step.payload["node"])
    return {
        row.ulid: {
            "excluded": bool(row.flags & Flag.EXCLUDED),
            "bookmarked": bool(row.flags & Flag.BOOKMARKED),
            "label": row.bookmark_label,
        }
    }


def _prune(step: Step) -> dict[str, JsonValue]:
    undone = step.direction == "undo"
    number = step.inverse["restore"] if step.event.kind == "prune" else step.payload["prune"]
    if undone == (step.event.kind == "prune"):
        return {"restored": number}
    return {"pruned": number, "node": step.payload["node"]}


def _item(step: Step) -> JsonValue:
    hanging = (step.event.kind == "attach") == (step.direction == "redo")
    return {"node": step.payload["node"], "ordinal": step.payload["ordinal"], "hanging": hanging}


def _note_link(step: Step) -> None:
    transaction = step.scope.transaction
    row = _row(step, schema.links, step.payload["link"])
    one, other = Address(row.a_tree, row.a_kind, row.a_key), Address(row.b_tree, row.b_kind, row.b_key)
    targets = targets_of(transaction, {one, other})
    author = transaction.agent(row.author).ulid
    step.scope.note(link_fact(row._asdict(), (targets[one].id, targets[other].id), author))


def _note_tag(step: Step) -> None:
    """All that this label has on this target: one row."""
    transaction, tags = step.scope.transaction, schema.tags
    digest = step.inverse["untag" if step.event.kind == "tag" else "tag"]
    tree = GROVE if step.chain is None else step.chain.key
    rows: list[Any] = list(transaction.execute(select(tags).where(tags.c.tree == tree)))
    for row in rows:
        if label_digest(row.label) == digest:
            address = Address(row.tree, row.kind, row.target)
            target = targets_of(transaction, {address}).get(address)
            if target is not None and target.id == step.payload["target"]:
                step.scope.note(tag_fact(row._asdict(), target.id))


def _note_group(step: Step) -> None:
    scope, groups = step.scope, schema.groups
    here = groups.c.tree == step.tree.key, groups.c.name == step.inverse["group"]
    row: Any = scope.transaction.execute(select(groups).where(*here)).one_or_none()
    step.scope.note(Fact(f"group:{step.payload['group']}", None))
    if row is not None:
        first, last = scope.ulid_of(step.tree, row.first), scope.ulid_of(step.tree, row.last)
        scope.note(group_fact(row._asdict(), first, last))
