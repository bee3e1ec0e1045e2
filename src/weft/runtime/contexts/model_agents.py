"""The agents that are models: which of them answers, and the provider that it is reached by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeAlias

from sqlalchemy import select

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, WeftError
from weft.providers.base import ModelName, ModelProfile, Provider, ProviderRegistry, installed_providers
from weft.runtime.operations.agents import AddAgent
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor, agent_for, agent_row
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import load_settings
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.rows import AGENT_TYPES, AgentRow
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.agent import Agent, AgentType, Configuration
from weft.tree.json_names import from_microseconds

ModelAgents: TypeAlias = Sequence[tuple[Agent, int]]
"""Agents that are models, with their keys."""
DEFAULT_AGENT = "defaultAgent"
"""The grove setting with the id of the default agent."""
EMBEDDED = "local:smollm2"
_EMBEDDED_AGENT = AddAgent(
    name="smollm2",
    type=AgentType.MODEL,
    model_ref=EMBEDDED,
    configuration=Configuration(temperature=0.8, max_tokens=200),
)
_EMBEDDED_VALUE = Agent(
    id="",
    name=_EMBEDDED_AGENT.name,
    type=_EMBEDDED_AGENT.type,
    model_ref=EMBEDDED,
    configuration=_EMBEDDED_AGENT.configuration,
    created_at=from_microseconds(0),
)
_agents = schema.agents
_MODELS = (
    select(_agents)
    .where(
        _agents.c.type == AGENT_TYPES.index(AgentType.MODEL),
        _agents.c.archived_at.is_(None),
        _agents.c.hidden.is_(None),
    )
    .order_by(_agents.c.key)
)


def registry_of(executor: Executor) -> ProviderRegistry:
    """The providers of a grove; else all that are installed."""
    return executor.providers or installed_providers()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweringAgent:
    """An agent that answers, and what is known of its model."""

    agent: Agent
    key: int | None
    """None: the embedded model's, which is added when it is first asked."""
    provider: Provider | None = None
    model: str = ""
    """The provider's own name of it."""
    profile: ModelProfile | None = None
    missing: WeftError | None = None
    """Why there is no provider."""


def answering_agents(
    session: Session,
    actor: Actor,
    registry: ProviderRegistry,
    named: tuple[str, ...],
    *,
    by_name: Callable[[str], tuple[Agent, int]] | None = None,
    default: Callable[[], tuple[Agent, int] | None] | None = None,
) -> list[AnsweringAgent]:
    """The agents named; else the default one of the grove.

    The default is the one that was chosen, else the model agent added first of those that can be asked
    (adding another does not change who answers), else the embedded model, which is added as an agent when
    it is first asked: a new grove answers at once. `by_name` and `default` give what may be known already:
    the agents, and the first two of these.
    """
    agents = list(map(by_name or partial(model_agent, session, actor), named))
    keys: set[int] = set()
    for agent, key in agents:
        if key in keys:
            # By its name and by its id.
            raise InvalidInputError(
                f"agent {agent.name!r} is named twice", hint="name each once; n says how often it answers"
            )
        keys.add(key)
    if not agents:
        chosen = default_agent(session, registry) if default is None else default()
        if chosen is None:
            return [_answering(registry, _EMBEDDED_VALUE, None)]
        agents = [chosen]
    return [_answering(registry, agent, key) for agent, key in agents]


def _answering(registry: ProviderRegistry, agent: Agent, key: int | None) -> AnsweringAgent:
    try:
        provider, model = registry.model(ModelName.parse(agent.model_ref or ""))
        return AnsweringAgent(
            agent=agent, key=key, provider=provider, model=model, profile=provider.profile(model)
        )
    except WeftError as error:
        return AnsweringAgent(agent=agent, key=key, missing=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareEmbedded(Editing):
    """Add the embedded model's agent, unless another call did so meanwhile: two first calls share one."""

    verb: ClassVar[str] = AddAgent.verb
    access: ClassVar[MemberRole] = AddAgent.access
    registry: ProviderRegistry

    def apply(self, scope: Scope) -> tuple[Agent, int]:
        # Under the grove's lock, so that the second of two calls finds what the first added.
        scope.open_grove()
        default = default_agent(scope.transaction, self.registry)
        if default is not None:
            return default
        agent = _EMBEDDED_AGENT.apply(scope)
        return agent, find_agent(scope.transaction, agent.id)


def model_agent(session: Session, actor: Actor, reference: str) -> tuple[Agent, int]:
    """An agent that the actor can ask, and its key."""
    key = agent_for(session, actor, reference)
    agent = agent_value(agent_row(session, key))
    if agent.type is not AgentType.MODEL:
        raise InvalidInputError(f"{agent.name!r} is a person, not a model", hint=Hint(HintKind.LIST_AGENTS))
    if agent.archived_at is not None:
        raise InvalidInputError(f"agent {agent.name!r} is archived", hint=Hint(HintKind.RESTORE_OR_OTHER))
    return agent, key


def model_agents(session: Session) -> ModelAgents:
    """All agents that are models and not archived, with their keys; the oldest first."""
    rows = list(map(AgentRow._make, session.rows(_MODELS, {})))
    session.know({(AgentRow, row.key): row for row in rows})
    return [(agent_value(row), row.key) for row in rows]


def chosen_agent(
    session: Session, agents: ModelAgents, settings: Mapping[str, Any] | None = None
) -> tuple[Agent, int] | None:
    """The one of these that was chosen as the grove's default, if any."""
    chosen = (load_settings(session) if settings is None else settings).get(DEFAULT_AGENT)
    return next((each for each in agents if each[0].id == chosen), None)


def default_agent(
    session: Session, registry: ProviderRegistry, settings: Mapping[str, Any] | None = None
) -> tuple[Agent, int] | None:
    """The agent that was chosen as the grove's default, else the first added that can be asked here, with its key."""
    agents = model_agents(session)
    usable = set(registry.names)
    chosen = chosen_agent(session, agents, settings)
    return chosen or next((each for each in agents if _is_usable(each[0], usable)), None)


def _is_usable(agent: Agent, providers: set[str]) -> bool:
    """Whether its model can be asked here: agents of an import may have models of another machine."""
    name = ModelName.parse(agent.model_ref or "")
    return name.provider in providers and (name.provider != "local" or str(name) == EMBEDDED)
