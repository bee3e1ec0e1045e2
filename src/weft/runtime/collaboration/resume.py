"""Going on with a run that broke off: where it stopped, with word of how far it had come."""

from typing import NamedTuple

from sqlalchemy import select

from weft.context.agent_view.memory_block import Action
from weft.errors import NotFoundError
from weft.runtime.collaboration.recovery import AT, BROKEN_OFF
from weft.runtime.collaboration.task import collaborator
from weft.runtime.contexts.agent_memory import action_of
from weft.runtime.operations.executor import Caller
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.memory import MemoryKind, latest_memory
from weft.store.rows import STATUSES
from weft.store.session import Session
from weft.store.tree_statements import CONTINUATION, LIVE
from weft.tree.node import Status

_GO_ON = "Go on where you were broken off"


class Unfinished(NamedTuple):
    """What is left of a run."""

    agent: str
    node: str
    """What it had said; where it was, if that was nothing, or beside a document."""
    text: str
    """What the agent is told now."""


def unfinished_run(caller: Caller, agent: str | None, tree: str) -> Unfinished:
    """The agent's last run in a tree, if it was interrupted: by a crash, by somebody, by a limit."""
    here = Reader.of(caller).tree(tree).id
    with caller.store.read() as session:
        found, key = collaborator(session, agent)
        place = find_tree(session, here), key
        reply, spoken = _last_reply(session, *place)
        left = _how_far(session, *place, since=spoken)
    node = reply or (None if left is None else left.target.removeprefix(AT))
    if node is None:
        raise NotFoundError(
            f"{found.name!r} has nothing to go on with in this tree: its last run came to its end",
            hint="say something new",
        )
    return Unfinished(found.id, node, f"{_GO_ON}: {left.detail}." if left else f"{_GO_ON}.")


def _last_reply(session: Session, tree: int, agent: int) -> tuple[str | None, int]:
    """The last words of its own in the tree, if they were interrupted, and when it last said anything."""
    nodes = schema.nodes
    own = (
        select(nodes.c.ulid, nodes.c.status, nodes.c.created_at)
        .where(nodes.c.tree == tree, nodes.c.author == agent, LIVE)
        .order_by(nodes.c.key.desc())
        .limit(1)
    )
    newest = session.execute(own).one_or_none()
    if newest is None:
        return None, 0
    last = session.execute(own.where(nodes.c.edge_type == CONTINUATION)).one_or_none()
    if last is None or last.status != STATUSES.index(Status.INTERRUPTED):
        return None, newest.created_at
    return last.ulid, newest.created_at


def _how_far(session: Session, tree: int, agent: int, *, since: int) -> Action | None:
    """What the trace says of a run that did not come to its end, unless the agent spoke again after that."""
    last = latest_memory(session, tree, agent, MemoryKind.ACTION, 1)
    if not last or last[0].created_at < since:
        return None
    action = action_of(last[0])
    return action if action.verb == BROKEN_OFF else None
