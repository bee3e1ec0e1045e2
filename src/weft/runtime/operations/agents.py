"""Participants: add, change, archive. People decide about agents; models do not."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sqlalchemy import func, select, update

from weft.errors import ConflictError, PermissionDeniedError
from weft.provenance.fingerprints import agent_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.revisions import put_away
from weft.runtime.operations.scope import Scope, digest_of, dump_json
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.rows import AGENT_TYPES, AgentRow, permission_bits
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


class _Managing(Editing):
    access: ClassVar[MemberRole] = MemberRole.OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAgent(_Managing):
    """A new participant. Humans may do everything unless told otherwise, models nothing."""

    verb: ClassVar[str] = "add an agent"
    name: str
    type: AgentType
    model_ref: str | None = None
    configuration: Configuration = field(default_factory=Configuration)
    permissions: Iterable[str] | None = None

    def apply(self, scope: Scope) -> Agent:
        require_person(scope)
        scope.open_grove()
        check_agent(self.name, self.type, self.model_ref, self.configuration)
        if self.permissions is None:
            permissions = ALL_PERMISSIONS if self.type is AgentType.HUMAN else SUBJECT
        else:
            permissions = parse_permissions(self.permissions)
        require_free_name(scope, self.name)
        ulid = scope.new_ulid()
        key = scope.transaction.insert(
            _agents,
            {
                "ulid": ulid,
                "name": self.name.strip(),
                "type": AGENT_TYPES.index(self.type),
                "model_ref": self.model_ref,
                "configuration": dump_json(configuration_fields(self.configuration)),
                "permissions": permission_bits(permissions),
                "created_at": scope.now,
                "archived_at": None,
            },
        )
        row = scope.transaction.agent(key)
        scope.add_fingerprint(agent_fingerprint(row._asdict()))
        scope.record(None, "agent", {"agent": ulid}, {"hide": ulid, "is": agent_digest(row)})
        return agent_value(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeAgent(_Managing):
    """Change an agent; what is not given stays. The type never changes."""

    verb: ClassVar[str] = "change an agent"
    agent: str
    name: str | None = None
    model_ref: str | None = None
    configuration: Configuration | None = None
    permissions: Iterable[str] | None = None

    def apply(self, scope: Scope) -> Agent:
        require_person(scope)
        scope.open_grove()
        row = scope.transaction.agent(find_agent(scope.transaction, self.agent))
        before = agent_value(row)
        name = before.name if self.name is None else self.name.strip()
        model_ref = before.model_ref if self.model_ref is None else self.model_ref
        configuration = self.configuration or before.configuration
        check_agent(name, before.type, model_ref, configuration)
        permissions = before.permissions if self.permissions is None else parse_permissions(self.permissions)
        if name != before.name:
            require_free_name(scope, name)
        changes: dict[str, Any] = {
            "name": name,
            "model_ref": model_ref,
            "configuration": dump_json(configuration_fields(configuration)),
            "permissions": permission_bits(permissions),
        }
        changed = {name_: value for name_, value in changes.items() if getattr(row, name_) != value}
        if changed:
            scope.transaction.execute(update(_agents).where(_agents.c.key == row.key).values(**changed))
            _note_changed(scope, row.key)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveAgent(_Managing):
    """Let an agent go; what it wrote stays."""

    verb: ClassVar[str] = "archive an agent"
    agent: str
    restore: bool = False

    def apply(self, scope: Scope) -> Agent:
        require_person(scope)
        grove = scope.open_grove()
        row = scope.transaction.agent(find_agent(scope.transaction, self.agent))
        if row.key == grove.owner and not self.restore:
            raise ConflictError(f"{row.name!r} owns the grove and cannot be archived")
        put_away(
            scope,
            _agents,
            row,
            restore=self.restore,
            note=lambda: _note_changed(scope, row.key),
            require_free=lambda: require_free_name(scope, row.name),
        )
        return agent_value(scope.transaction.agent(row.key))


def _note_changed(scope: Scope, key: int) -> None:
    """Read the agent again, and let the event vouch for what it has become."""
    scope.transaction.cache.agents.pop(key)
    scope.add_fingerprint(agent_fingerprint(scope.transaction.agent(key)._asdict()))


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
    """What of an agent can be changed, as an event knows it again."""
    return digest_of([row.name, row.model_ref, row.configuration, row.permissions])


def require_person(scope: Scope) -> None:
    """A model must not widen its own rights, or make an agent that has more."""
    chain: Iterable[Actor] = scope.actor.chain()
    for link in chain:
        row = scope.transaction.agent(link.agent)
        if AGENT_TYPES[row.type] is AgentType.MODEL:
            raise PermissionDeniedError("models cannot manage agents", hint="ask the human to do it")


def require_free_name(scope: Scope, name: str) -> None:
    taken = scope.transaction.execute(
        select(_agents.c.key).where(
            func.lower(_agents.c.name) == name.strip().lower(), _agents.c.archived_at.is_(None)
        )
    ).first()
    if taken is not None:
        raise ConflictError(f"there is an agent {name.strip()!r} already", hint="choose another name")
