"""Going on with a run that broke off: where it stopped, with word of how far it had come."""

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from weft.errors import NotFoundError
from weft.runtime.collaborating.closing import BROKEN_OFF
from weft.runtime.collaborating.starting import collaborator
from weft.runtime.commanding.remembered import action_of
from weft.store import schema
from weft.store.memory import MemoryKind, latest_memory
from weft.store.references import find_tree
from weft.store.rows import STATUSES
from weft.store.session import Session
from weft.store.statements import CONTINUATION, LIVE
from weft.tree.node import Status

if TYPE_CHECKING:
    from weft.runtime.grove import Grove

__all__ = ["Unfinished", "unfinished_run"]

_GO_ON = "Go on where you were broken off"


class Unfinished(NamedTuple):
    """What is left of a run."""

    agent: str
    node: str | None
    """What it had said; None if that was nothing, or beside a document."""
    text: str
    """What the agent is told now."""


def unfinished_run(grove: "Grove", agent: str | None, tree: str) -> Unfinished:
    """The agent's last run in a tree, if it was interrupted: by a crash, by somebody, by a limit."""
    here = grove.read.tree(tree).id
    with grove.read.store.read() as session:
        found, key = collaborator(session, agent)
        place = find_tree(session, here), key
        reply, spoken = _last_reply(session, *place)
        detail = _how_far(session, *place, since=spoken)
    if reply is None and detail is None:
        raise NotFoundError(
            f"{found.name!r} has nothing to go on with in this tree: its last run came to its end",
            hint="say something new",
        )
    return Unfinished(found.id, reply, f"{_GO_ON}: {detail}." if detail else f"{_GO_ON}.")


def _last_reply(session: Session, tree: int, agent: int) -> tuple[str | None, int]:
    """The last words of its own in the tree, if they were interrupted, and when they came."""
    nodes = schema.nodes
    last = session.execute(
        select(nodes.c.ulid, nodes.c.status, nodes.c.created_at)
        .where(nodes.c.tree == tree, nodes.c.author == agent, nodes.c.edge_type == CONTINUATION, LIVE)
        .order_by(nodes.c.key.desc())
        .limit(1)
    ).one_or_none()
    if last is None:
        return None, 0
    is_cut = last.status == STATUSES.index(Status.INTERRUPTED)
    return (last.ulid if is_cut else None), last.created_at


def _how_far(session: Session, tree: int, agent: int, *, since: int) -> str | None:
    """What the trace says of a run that a dead process left, unless it spoke again after that."""
    last = latest_memory(session, tree, agent, MemoryKind.ACTION, 1)
    if not last or last[0].created_at < since:
        return None
    action = action_of(last[0])
    return action.detail if action.verb == BROKEN_OFF else None
