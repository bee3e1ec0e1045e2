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


REQUIRED_PERMISSION: dict[Permission, Permission] = {
    Permission.LOOM_WRITE: Permission.LOOM_AWARE,
    Permission.LOOM_GENERATE: Permission.LOOM_AWARE,
    Permission.DOC_WRITE: Permission.DOC_READ,
}

ALL_PERMISSIONS = frozenset(Permission)
COLLABORATOR = ALL_PERMISSIONS
ANALYST = frozenset({Permission.LOOM_AWARE, Permission.DOC_READ})
SUBJECT: frozenset[Permission] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What a model agent is run with."""

    system_prompt: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()
    custom: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


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
