"""Who is asked, where, and whether that may be: everything before a run begins."""

from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import select

from weft.context.agent_view.action_trace import Action
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError
from weft.runtime.collaboration.finish import AT, BROKEN_OFF
from weft.runtime.contexts.agent_memory import action_of
from weft.runtime.generation.options import RunOptions
from weft.runtime.generation.start_point import DEFAULT_AGENT, StartPointReader, model_agent
from weft.runtime.operations.cursors import CommitBuffer
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.nodes import Append
from weft.runtime.operations.permissions import agent_row
from weft.runtime.operations.settings import load_settings
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.memory import MemoryKind, latest_memory
from weft.store.rows import AGENT_TYPES, STATUSES
from weft.store.session import Session
from weft.store.tree_statements import CONTINUATION, LIVE
from weft.tree.agent import Agent, AgentType
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
    """Where whoever asks stands."""
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
    what is asked about it: there they are told to the agent alone.
    """
    executor, actor = caller.executor, caller.actor
    if text is not None and not text.strip():
        raise InvalidInputError("say what?", hint="leave the text out to have the last words answered")
    with executor.store.read() as session:
        found, key = collaborator(session, agent)
        for link in actor.chain():
            if link.agent == key:
                raise PermissionDeniedError(
                    f"{found.name!r} cannot invoke itself", hint="let another agent do it"
                )
    starts = StartPointReader(executor.store, actor)
    here = starts.here(*place, executor.clock())
    tree = Reader.of(caller).tree(here.tree_id)
    node, cursor = here.node_id, here.cursor
    if tree.mode is Mode.BUFFER and here.typed:
        written = executor.perform(actor, CommitBuffer(tree=tree.id))
        if written is not None:
            cursor = written.id
            node = written.id if here.typed_here else node
    elif tree.mode is Mode.DIALOGUE and text is not None:
        node = cursor = executor.perform(actor, Append(tree=tree.id, parent=node, content=text)).id
    return CollaborationTask(
        tree_id=tree.id,
        mode=tree.mode,
        node_id=node,
        asked=text or "" if tree.mode is Mode.BUFFER else "",
        agent=found,
        agent_key=key,
        cursor=cursor,
        options=options,
    )


def collaborator(session: Session, reference: str | None) -> tuple[Agent, int]:
    """The agent that is named, and its key; else the grove's default one, else the one that came last."""
    if reference is None:
        return _default(session)
    agent, key = model_agent(session, reference)
    if not agent.loom_aware:
        raise InvalidInputError(
            f"{agent.name!r} is not loom-aware: it sees no tree and has no commands",
            hint=Hint(HintKind.LOOM_AWARE, name=agent.name),
        )
    return agent, key


def _default(session: Session) -> tuple[Agent, int]:
    agents = schema.agents
    rows = session.execute(
        select(agents.c.key)
        .where(
            agents.c.type == AGENT_TYPES.index(AgentType.MODEL),
            agents.c.archived_at.is_(None),
            agents.c.hidden.is_(None),
        )
        .order_by(agents.c.key.desc())
    ).scalars()
    known = [(agent_value(agent_row(session, key)), int(key)) for key in rows]
    aware = [each for each in known if each[0].loom_aware]
    if not aware:
        raise NotFoundError(
            "no model here is loom-aware",
            hint=Hint(HintKind.ADD_COLLABORATOR),
        )
    chosen = load_settings(session).get(DEFAULT_AGENT)
    return next((each for each in aware if each[0].id == chosen), aware[0])


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
