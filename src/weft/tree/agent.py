"""Participants, human or model, and what each may do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from weft.errors import InvalidInputError
from weft.tree.content import check_text
from weft.tree.json import JsonValue


class AgentType(StrEnum):
    HUMAN = "human"
    MODEL = "model"


class Permission(StrEnum):
    LOOM_AWARE = "loom_aware"
    LOOM_WRITE = "loom_write"
    LOOM_GENERATE = "loom_generate"
    DOC_READ = "doc_read"
    DOC_WRITE = "doc_write"


class ToolPolicy(StrEnum):
    """Whether a tool may run."""

    ALLOW = "allow"
    ASK = "ask"
    """Only if a person agrees; where none can be asked, it is refused."""
    DENY = "deny"


REQUIRED_PERMISSION: dict[Permission, Permission] = {
    Permission.LOOM_WRITE: Permission.LOOM_AWARE,
    Permission.LOOM_GENERATE: Permission.LOOM_AWARE,
    Permission.DOC_WRITE: Permission.DOC_READ,
}

ALL_PERMISSIONS = frozenset(Permission)
COLLABORATOR = ALL_PERMISSIONS
ANALYST = frozenset({Permission.LOOM_AWARE, Permission.DOC_READ})
SUBJECT: frozenset[Permission] = frozenset()
TOOL_POLICIES = "toolPolicies"
"""The custom setting of an agent with policies by the name of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What a model agent is run with."""

    system_prompt: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()
    custom: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    @property
    def tool_policies(self) -> dict[str, ToolPolicy]:
        """What the agent may do with tools, by their names."""
        return read_policies(self.custom.get(TOOL_POLICIES) or {}, TOOL_POLICIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Any participant. The type never changes; `loom_aware` is its base permission."""

    id: str
    name: str
    type: AgentType
    model_ref: str | None = None
    configuration: Configuration = field(default_factory=Configuration)
    permissions: frozenset[Permission] = SUBJECT
    created_at: datetime
    archived_at: datetime | None = None

    @property
    def loom_aware(self) -> bool:
        return Permission.LOOM_AWARE in self.permissions


def parse_permissions(names: Iterable[str]) -> frozenset[Permission]:
    """Permissions by name, each with its requirement met."""
    permissions: set[Permission] = set()
    for name in names:
        try:
            permissions.add(Permission(name))
        except ValueError:
            known = ", ".join(Permission)
            raise InvalidInputError(
                f"{name!r} is not a permission", hint=f"permissions are {known}"
            ) from None
    for permission in sorted(permissions):
        needed = REQUIRED_PERMISSION.get(permission)
        if needed is not None and needed not in permissions:
            raise InvalidInputError(f"{permission} requires {needed}", hint=f"grant {needed} as well")
    return frozenset(permissions)


def read_policies(value: JsonValue, path: str) -> dict[str, ToolPolicy]:
    """Policies by the name of a tool; an error names the field."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"{path} must be an object", hint='for example {"readUrl": "deny"}', path=path
        )
    return {name: policy_from(each, f"{path}.{name}") for name, each in value.items()}


def policy_from(value: JsonValue, path: str) -> ToolPolicy:
    try:
        return ToolPolicy(str(value))
    except ValueError:
        hint = f"use one of {', '.join(ToolPolicy)}"
        raise InvalidInputError(f"{path} is {str(value)[:60]!r}", hint=hint, path=path) from None


def check_agent(
    name: str, agent_type: AgentType, model_ref: str | None, configuration: Configuration
) -> None:
    """The rules an agent must meet when it is made or changed."""
    if not name.strip():
        raise InvalidInputError("an agent needs a name")
    check_text(name, what="agent name", limit=200)
    if agent_type is AgentType.MODEL:
        provider, colon, model = (model_ref or "").partition(":")
        if not (provider and colon and model):
            raise InvalidInputError(
                f"model agent {name!r} needs a model_ref of the form provider:model",
                hint="for example local:smollm2",
            )
        check_text(model_ref or "", what="model_ref", limit=300)
    elif model_ref is not None:
        raise InvalidInputError(f"human agent {name!r} cannot have a model_ref")
    if configuration.temperature is not None and not 0 <= configuration.temperature <= 10:
        raise InvalidInputError(f"temperature must be between 0 and 10, got {configuration.temperature}")
    if configuration.max_tokens is not None and configuration.max_tokens < 1:
        raise InvalidInputError(f"max_tokens must be at least 1, got {configuration.max_tokens}")
    check_text(configuration.system_prompt or "", what="system prompt")
    _ = configuration.tool_policies
