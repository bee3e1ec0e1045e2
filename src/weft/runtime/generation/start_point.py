"""Where a generation starts, looked at with the rights that it needs."""

from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import and_, select

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError
from weft.providers.base import ModelName, ProviderRegistry
from weft.runtime.operations.agents import AddAgent
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor, agent_row, require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import load_settings
from weft.runtime.views.reader import Opened, Reader
from weft.store import schema
from weft.store.leases import lease_at
from weft.store.lookup import find_agent
from weft.store.rows import AGENT_TYPES, AgentRow
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.agent import Agent, AgentType, Configuration, Permission
from weft.tree.json_names import iso_moment
from weft.tree.tree import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlace:
    """Where a generation starts, and what the agent that requests it adds."""

    tree: str
    node: str | None
    """None: where the caller stands."""
    chain: tuple[str, ...] = ()
    """Ids of the agents that led here, one through another: none of them is asked again."""
    moves: bool = True
    """Whether the caller's cursor moves to the first continuation."""
    as_subjects: bool = False
    """Whether the agents are shown nothing of the loom, even if they are loom-aware."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPoint:
    """A place that can be continued now."""

    tree: int
    tree_id: str
    node_id: str
    typed: bool
    """Whether there is uncommitted text."""
    typed_here: bool
    """And it stands at the end of just this path."""
    dialogue: bool
    cursor: str | None
    """Where whoever asks stands; None: it has never moved from the root."""


@dataclass(frozen=True, slots=True)
class StartPointReader(Reader):
    """Where generating starts, looked at with the rights that it needs."""

    def here(self, tree: str, node: str | None, now: int) -> StartPoint:
        with self._tree(tree) as opened:
            session = opened.session
            require_permission(session, self.actor, Permission.LOOM_GENERATE, "generate")
            require_access(session, self.actor, MemberRole.EDITOR, opened.key)
            at = self._cursor_row(opened)
            row = at if node is None else self._row(opened, node)
            held = lease_at(session, opened.key, row.position, now)
            if held is not None and held.run != self.actor.run:
                who = agent_row(session, held.agent).name
                raise ConflictError(
                    f"[{row.local_id}] is being extended by {who!r} until {iso_moment(held.expires_at)}",
                    hint="wait for it, or go on from another node",
                )
            typed = opened.mode is Mode.BUFFER and bool(self._typed(opened))
            return StartPoint(
                tree=opened.key,
                tree_id=opened.ulid,
                node_id=row.ulid,
                typed=typed,
                typed_here=typed and at.position == row.position,
                dialogue=opened.mode is Mode.DIALOGUE,
                cursor=self._cursor_id(opened),
            )

    def _cursor_id(self, opened: Opened) -> str | None:
        cursors, nodes = schema.cursors, schema.nodes
        statement = (
            select(nodes.c.ulid)
            .join(cursors, and_(cursors.c.tree == nodes.c.tree, cursors.c.node == nodes.c.key))
            .where(cursors.c.tree == opened.key, cursors.c.agent == self.actor.agent)
        )
        return opened.session.execute(statement).scalar_one_or_none()


DEFAULT_AGENT = "defaultAgent"
"""The key under which the grove's preferences hold the id of who answers by default."""
EMBEDDED = "local:smollm2"
_EMBEDDED_AGENT = AddAgent(
    name="smollm2",
    type=AgentType.MODEL,
    model_ref=EMBEDDED,
    configuration=Configuration(temperature=0.8, max_tokens=200),
)
_agents = schema.agents


def choose_agents(
    executor: Executor, actor: Actor, registry: ProviderRegistry, named: tuple[str, ...]
) -> list[tuple[Agent, int]]:
    """Those named; else the grove's default; else the model agent that came last; else the embedded model.

    The last is added as an agent when it is first needed, so that a new grove answers at once. Each
    comes with its key.
    """
    with executor.store.read() as session:
        if named:
            return _each_once([model_agent(session, reference) for reference in named])
        found = _default(session, registry)
        if found is not None:
            return [found]
    return [executor.perform(actor, _ShareEmbedded(registry=registry))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShareEmbedded(Editing):
    """Add the embedded model's agent, unless another call did so meanwhile: two first calls share one."""

    verb: ClassVar[str] = AddAgent.verb
    access: ClassVar[MemberRole] = AddAgent.access
    registry: ProviderRegistry

    def apply(self, scope: Scope) -> tuple[Agent, int]:
        # Under the grove's lock, so that the second of two calls finds what the first added.
        scope.open_grove()
        default = _default(scope.transaction, self.registry)
        if default is not None:
            return default
        agent = _EMBEDDED_AGENT.apply(scope)
        return agent, find_agent(scope.transaction, agent.id)


def _each_once(found: list[tuple[Agent, int]]) -> list[tuple[Agent, int]]:
    """One agent may be named by its name and by its id."""
    seen: set[int] = set()
    for agent, key in found:
        if key in seen:
            raise InvalidInputError(
                f"agent {agent.name!r} is named twice", hint="name each once; n says how often it answers"
            )
        seen.add(key)
    return found


def model_agent(session: Session, reference: str) -> tuple[Agent, int]:
    """An agent that can be asked, and its key."""
    key = find_agent(session, reference)
    agent = agent_value(agent_row(session, key))
    if agent.type is not AgentType.MODEL:
        raise InvalidInputError(f"{agent.name!r} is a person, not a model", hint=Hint(HintKind.LIST_AGENTS))
    if agent.archived_at is not None:
        raise InvalidInputError(f"agent {agent.name!r} is archived", hint=Hint(HintKind.RESTORE_OR_OTHER))
    return agent, key


def _default(session: Session, registry: ProviderRegistry) -> tuple[Agent, int] | None:
    kept = load_settings(session).get(DEFAULT_AGENT)
    rows = session.execute(
        select(_agents)
        .where(
            _agents.c.type == AGENT_TYPES.index(AgentType.MODEL),
            _agents.c.archived_at.is_(None),
            _agents.c.hidden.is_(None),
        )
        .order_by(_agents.c.key.desc())
    )
    agents = [(agent_value(AgentRow._make(row)), int(row.key)) for row in rows]
    for each in agents:
        if each[0].id == kept:
            return each
    usable = set(registry.names)
    return next((each for each in agents if _is_usable(each[0], usable)), None)


def _is_usable(agent: Agent, providers: set[str]) -> bool:
    """Whether there is somebody to ask: agents that came with an import may be of elsewhere."""
    name = ModelName.parse(agent.model_ref or "")
    return name.provider in providers and (name.provider != "local" or str(name) == EMBEDDED)
