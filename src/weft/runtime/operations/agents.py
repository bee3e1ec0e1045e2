"""Agents: add, change, archive; and the owner, who is created with the grove."""

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Any

from sqlalchemy import select, update

from weft.errors import ConflictError, PermissionDeniedError, StorageError
from weft.ids import new_ulid
from weft.provenance.fingerprints import agent_fingerprint, grove_fingerprint
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.grove_rows import fingerprint_row, require_free_name, set_archived
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.scope import Scope, digest_of, dump_json
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.rows import AGENT_TYPES, AgentRow, permission_bits
from weft.store.transaction import GROVE, GroveState, Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import (
    ALL_PERMISSIONS,
    SUBJECT,
    Agent,
    AgentType,
    Configuration,
    check_agent,
    parse_permissions,
)

_agents = schema.agents
_OWNER = "human"


class Managing(Editing, access=MemberRole.OWNER):
    """Base of operations on agents, users and the like: a person decides, models are refused."""

    def open_grove(self, scope: Scope) -> GroveState:
        require_person(scope)
        return scope.open_grove()


class AddAgent(Managing, verb="add an agent"):
    """A new agent. By default humans have all permissions, models none."""

    name: str
    type: AgentType
    model_ref: str | None = None
    configuration: Configuration = field(default_factory=Configuration)
    permissions: Iterable[str] | None = None

    def apply(self, scope: Scope) -> Agent:
        self.open_grove(scope)
        check_agent(self.name, self.type, self.model_ref, self.configuration)
        if self.permissions is None:
            permissions = ALL_PERMISSIONS if self.type is AgentType.HUMAN else SUBJECT
        else:
            permissions = parse_permissions(self.permissions)
        require_free_name(scope, _agents, self.name)
        row = add_agent(
            scope,
            self.name.strip(),
            self.type,
            model_ref=self.model_ref,
            configuration=dump_json(configuration_fields(self.configuration)),
            permissions=permission_bits(permissions),
        )
        scope.record(None, "agent", {"agent": row.ulid}, {"hide": row.ulid, "is": agent_digest(row)})
        return agent_value(row)


def add_agent(scope: Scope, name: str, kind: AgentType, **columns: Any) -> AgentRow:
    """Write an agent's row, with all permissions unless others are given."""
    row = {
        "ulid": columns.pop("ulid", None) or scope.new_ulid(),
        "name": name,
        "type": AGENT_TYPES.index(kind),
        "model_ref": None,
        "configuration": "{}",
        "permissions": permission_bits(ALL_PERMISSIONS),
        "created_at": scope.now,
        "archived_at": None,
        **columns,
    }
    agent = scope.transaction.agent(scope.transaction.insert(_agents, row))
    scope.add_fingerprint(agent_fingerprint(agent._asdict()))
    return agent


class ChangeAgent(Managing, verb="change an agent"):
    """Change an agent; what is not given stays. The type never changes."""

    agent: str
    name: str | None = None
    model_ref: str | None = None
    configuration: Configuration | None = None
    permissions: Iterable[str] | None = None

    def apply(self, scope: Scope) -> Agent:
        self.open_grove(scope)
        row = scope.transaction.agent(find_agent(scope.transaction, self.agent))
        before = agent_value(row)
        name = before.name if self.name is None else self.name.strip()
        model_ref = before.model_ref if self.model_ref is None else self.model_ref
        configuration = self.configuration or before.configuration
        check_agent(name, before.type, model_ref, configuration)
        permissions = before.permissions if self.permissions is None else parse_permissions(self.permissions)
        if name != before.name:
            require_free_name(scope, _agents, name)
        changes: dict[str, Any] = {
            "name": name,
            "model_ref": model_ref,
            "configuration": dump_json(configuration_fields(configuration)),
            "permissions": permission_bits(permissions),
        }
        changed = {name_: value for name_, value in changes.items() if getattr(row, name_) != value}
        if changed:
            scope.transaction.execute(update(_agents).where(_agents.c.key == row.key).values(**changed))
            fingerprint_row(scope, _agents, row.ulid)
            scope.record(
                None,
                "change-agent",
                {"agent": row.ulid, "fields": sorted(changed)},
                {
                    "was": {name_: getattr(row, name_) for name_ in changed},
                    "is": {name_: digest_of(value) for name_, value in changed.items()},
                },
            )
        return agent_value(scope.transaction.agent(row.key))


class ArchiveAgent(Managing, verb="archive an agent"):
    """Archive an agent, or restore it; what it wrote stays."""

    agent: str
    restore: bool = False

    def apply(self, scope: Scope) -> Agent:
        grove = self.open_grove(scope)
        row = scope.transaction.agent(find_agent(scope.transaction, self.agent))
        if row.key == grove.owner and not self.restore:
            raise ConflictError(f"{row.name!r} owns the grove and cannot be archived")
        set_archived(scope, _agents, row, restore=self.restore)
        return agent_value(scope.transaction.agent(row.key))


def configuration_fields(configuration: Configuration) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "systemPrompt": configuration.system_prompt,
        "temperature": configuration.temperature,
        "maxTokens": configuration.max_tokens,
        "stopSequences": list(configuration.stop_sequences) or None,
        "custom": dict(configuration.custom) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def agent_digest(row: AgentRow) -> str:
    """The digest of what can be changed in an agent."""
    return digest_of([row.name, row.model_ref, row.configuration, row.permissions])


def require_person(scope: Scope, verb: str = "manage agents") -> None:
    """Refuse models: one must not widen its own rights, or create an agent that has more."""
    for link in scope.actor.chain():
        if AGENT_TYPES[scope.transaction.agent(link.agent).type] is AgentType.MODEL:
            raise PermissionDeniedError(f"models cannot {verb}", hint="ask the human to do it")


def owner_of(executor: Executor) -> int:
    """The key of the grove's owner. The first opening of a grove creates its row and the owner."""
    with executor.store.read() as session:
        table = schema.grove
        grove = session.execute(select(table.c.owner, table.c.ulid, table.c.events)).one_or_none()
    if grove is not None and grove.owner is None and grove.events:
        # Another owner would contradict the chain of events.
        raise StorageError("the grove's row names no owner", hint="the grove is damaged: restore a backup")
    if grove is None or grove.owner is None:
        return executor.store.write(lambda transaction: _create_owner(executor, transaction))
    executor.store.blobs.grove = grove.ulid
    return grove.owner


def _create_owner(executor: Executor, transaction: Transaction) -> int:
    """Create the grove's row and its owner, unless another process was faster."""
    now = executor.clock()
    transaction.add_missing(
        schema.grove,
        ("key",),
        {
            "key": GROVE,
            "ulid": new_ulid(now, executor.entropy),
            "owner": None,
            "preferences": "{}",
            "created_at": now,
            "updated_at": now,
            "events": 0,
            "head": None,
        },
    )
    # Waits for another process that is writing the same row.
    state = transaction.grove_state()
    executor.store.blobs.grove = state.ulid
    if state.owner is not None:
        return state.owner
    scope = replace(executor, accept_clock=True).scope(transaction, Actor(0), MemberRole.OWNER)
    scope.open_grove()
    ulid = new_ulid(now, executor.entropy)
    owner = add_agent(scope, _OWNER, AgentType.HUMAN, ulid=ulid, created_at=now).key
    transaction.execute(update(schema.grove).values(owner=owner))
    state.owner, scope.actor = owner, Actor(owner)
    scope.add_fingerprint(grove_fingerprint(transaction.execute(select(schema.grove)).mappings().one(), ulid))
    scope.record(None, "found", {"owner": ulid}, {})
    return owner
