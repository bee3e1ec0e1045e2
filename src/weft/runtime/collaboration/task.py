"""Who is asked, where, and whether that may be: everything before a run begins."""

from sqlalchemy import select

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError
from weft.runtime.collaboration.limits import RunOptions
from weft.runtime.collaboration.run import CollaborationTask
from weft.runtime.generation.agent_choice import DEFAULT_AGENT, model_agent
from weft.runtime.generation.start_point import StartPointReader
from weft.runtime.operations.cursors import CommitBuffer
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.nodes import Append
from weft.runtime.operations.permissions import agent_row
from weft.runtime.operations.settings import load_settings
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.rows import AGENT_TYPES
from weft.store.session import Session
from weft.tree.agent import Agent, AgentType
from weft.tree.tree import Mode


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
