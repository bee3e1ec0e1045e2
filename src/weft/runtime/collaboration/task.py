"""Who is asked, where, and whether that may be: everything before a run begins."""

from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import select

from weft.context.agent_view.operational_memory import Action
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError
from weft.runtime.collaboration.finish import AT, BROKEN_OFF
from weft.runtime.contexts.agent_memory import action_of
from weft.runtime.contexts.model_agents import chosen_agent, model_agent, model_agents
from weft.runtime.generation.options import RunOptions
from weft.runtime.generation.start_point import StartPointReader
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.nodes import Append
from weft.runtime.operations.permissions import Actor
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.memory import MemoryKind, latest_memory
from weft.store.rows import STATUSES
from weft.store.session import Session
from weft.store.tree_statements import CONTINUATION, LIVE
from weft.tree.agent import Agent, Permission
from weft.tree.node import Status
from weft.tree.tree import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationTask:
    """What a collaborator is asked to do, and where."""

    tree_id: str
    mode: Mode
    node_id: str
    """The node that it answers."""
    asked: str = ""
    """What is asked of it beside a document; in a dialogue that is a node."""
    agent: Agent
    agent_key: int
    cursor: str | None
    """The caller's."""
    options: RunOptions = field(default_factory=RunOptions)


def task_for(
    caller: Caller,
    agent: str | None,
    place: tuple[str, str | None],
    text: str | None,
    *,
    options: RunOptions,
) -> CollaborationTask:
    """Check, say what is to be said, and know where the answer goes.

    In a dialogue the words become a node, and that is answered. A document is not made longer by
    what is asked about it: there only the agent sees them.
    """
    if text is not None and not text.strip():
        raise InvalidInputError("say what?", hint="omit the text to answer the last message")
    with caller.store.read() as session:
        answering, key = collaborator(session, caller.actor, agent)
    if any(link.agent == key for link in caller.actor.chain()):
        raise PermissionDeniedError(
            f"{answering.name!r} cannot invoke itself", hint="let another agent do it"
        )
    starts = StartPointReader(caller.store, caller.actor)
    here = starts.here(*place, caller.executor.clock(), remarks=True)
    node, cursor = here.node_id, here.cursor
    if here.typed and (here.mode is Mode.BUFFER or text is None):
        written = here.commit_typed(caller)
        if written is not None:
            cursor = written.id
            node = written.id if here.typed_here else node
    elif here.mode is Mode.DIALOGUE and text is not None:
        node = cursor = caller.perform(Append(tree=here.tree_id, parent=node, content=text)).id
    return CollaborationTask(
        tree_id=here.tree_id,
        mode=here.mode,
        node_id=node,
        asked=text or "" if here.mode is Mode.BUFFER else "",
        agent=answering,
        agent_key=key,
        cursor=cursor,
        options=options,
    )


def collaborator(session: Session, actor: Actor, reference: str | None) -> tuple[Agent, int]:
    """The agent that is named, and its key; else the grove's default one, else the one added first."""
    if reference is None:
        return _default(session)
    agent, key = model_agent(session, actor, reference)
    if not agent.loom_aware:
        raise InvalidInputError(
            f"{agent.name!r} is not loom-aware: it sees no tree and has no commands",
            hint=Hint(HintKind.LOOM_AWARE, name=agent.name),
        )
    return agent, key


def _default(session: Session) -> tuple[Agent, int]:
    aware = [each for each in model_agents(session) if each[0].loom_aware]
    if not aware:
        raise NotFoundError(
            "no model here is loom-aware",
            hint=Hint(HintKind.ADD_COLLABORATOR),
        )
    return chosen_agent(session, aware) or aware[0]


_GO_ON = "Go on where you were broken off"


class Unfinished(NamedTuple):
    """What is left of a run."""

    agent: str
    node: str
    """What it had said; where it was, if that was nothing, or beside a document."""
    text: str
    """What the agent is asked now."""


def unfinished_run(caller: Caller, agent: str | None, tree: str) -> Unfinished:
    """The agent's last run in a tree, if it was interrupted: by a crash, a caller or a limit."""
    here = Reader.of(caller).tree(tree).id
    with caller.reading(Permission.LOOM_GENERATE, "generate") as session:
        value, key = collaborator(session, caller.actor, agent)
        place = find_tree(session, here), key
        reply, spoken = _last_reply(session, *place)
        left = _how_far(session, *place, since=spoken)
    node = reply or (None if left is None else left.target.removeprefix(AT))
    if node is None:
        raise NotFoundError(
            f"{value.name!r} has nothing to go on with in this tree: its last run came to its end",
            hint="say something new",
        )
    return Unfinished(value.id, node, f"{_GO_ON}: {left.detail}." if left else f"{_GO_ON}.")


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
