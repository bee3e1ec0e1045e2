"""Who is where in the trees that clients look at, and how far jobs are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, select

from weft.runtime.operations.executor import Caller
from weft.runtime.transfer.import_jobs import Imports
from weft.store import schema
from weft.store.imports import ImportRow, list_imports
from weft.store.session import Session
from weft.tree.json_names import from_microseconds

_LATEST = 20
"""How many imports are looked at: the latest ones."""
_MOST_PRESENT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """An agent's place in a tree."""

    tree: str
    agent: str
    name: str
    node: str
    at: datetime
    """Its last sign of life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """How far a job is."""

    id: str
    kind: str
    status: str
    done: int
    total: int
    message: str | None


def read_presence(session: Session, trees: Collection[int]) -> dict[tuple[int, int], Presence]:
    """The latest places of agents in these trees, by the keys of tree and agent."""
    if not trees:
        return {}
    cursors, agents, nodes, known = schema.cursors, schema.agents, schema.nodes, schema.trees
    statement = (
        select(
            cursors.c.tree,
            cursors.c.agent,
            cursors.c.updated_at,
            known.c.ulid.label("tree_id"),
            agents.c.ulid.label("agent_id"),
            agents.c.name,
            nodes.c.ulid.label("node_id"),
        )
        .select_from(cursors)
        .join(known, known.c.key == cursors.c.tree)
        .join(agents, agents.c.key == cursors.c.agent)
        .join(nodes, and_(nodes.c.tree == cursors.c.tree, nodes.c.key == cursors.c.node))
        .where(session.dialect.among(cursors.c.tree, sorted(trees)), agents.c.archived_at.is_(None))
        .order_by(cursors.c.updated_at.desc())
        .limit(_MOST_PRESENT)
    )
    return {
        (row.tree, row.agent): Presence(
            tree=row.tree_id,
            agent=row.agent_id,
            name=row.name,
            node=row.node_id,
            at=from_microseconds(row.updated_at),
        )
        for row in session.execute(statement)
    }


def read_jobs(session: Session) -> Mapping[str, ImportRow]:
    """The latest imports."""
    return {row.ulid: row for row in list_imports(session, _LATEST)}


def job_for(session: Session, caller: Caller, row: ImportRow) -> JobProgress | None:
    """A job as a client gets it; None: it is not for this one."""
    if not Imports(caller).may_read(session, row):
        return None
    return JobProgress(
        id=row.ulid,
        kind="import",
        status=row.state.name.lower(),
        done=row.done,
        total=row.total,
        message=row.error or row.name or None,
    )
