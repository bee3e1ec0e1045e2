"""What the owner has set for tools: one setting of the grove. Secrets are not part of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from weft.errors import InvalidInputError
from weft.runtime.operations.agents import Managing
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import ChangeSettings, load_settings
from weft.runtime.tools.mcp_servers import McpServer, with_server, without_server
from weft.store.session import Session
from weft.tree.agent import ToolPolicy, read_policies

TOOLS = "tools"
"""The setting of the grove with all of this."""
_LONGEST_NAME = 200


class UrlAccess(StrEnum):
    """Which addresses `readUrl` may read."""

    OFF = "off"
    PUBLIC = "public"
    PRIVATE = "private"
    """Also addresses of the own network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """The grove's settings for tools."""

    policies: Mapping[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    urls: UrlAccess = UrlAccess.OFF
    servers: tuple[McpServer, ...] = ()

    @classmethod
    def of(cls, session: Session) -> Self:
        stored: Mapping[str, Any] = load_settings(session).get(TOOLS) or {}
        return cls(
            policies=read_policies(stored.get("policies") or {}, f"{TOOLS}.policies"),
            urls=url_access(stored.get("urls") or UrlAccess.OFF),
            servers=tuple(McpServer.from_wire(each) for each in stored.get("servers") or ()),
        )

    def to_wire(self) -> dict[str, Any] | None:
        """As it is stored; None if nothing is set."""
        kept: dict[str, Any] = {
            "policies": {name: each.value for name, each in self.policies.items()},
            "servers": [each.to_wire() for each in self.servers],
            "urls": None if self.urls is UrlAccess.OFF else self.urls.value,
        }
        return {name: value for name, value in kept.items() if value} or None


class _ToolChange(Managing):
    """Base of operations on these settings."""

    def changed(self, settings: ToolSettings) -> ToolSettings:
        raise NotImplementedError

    def apply(self, scope: Scope) -> None:
        self.open_grove(scope)
        after = self.changed(ToolSettings.of(scope.transaction))
        ChangeSettings(settings={TOOLS: after.to_wire()}).apply(scope)


class SetToolPolicy(_ToolChange, verb="set preferences"):
    """Set the policy of a tool for the whole grove; None removes it."""

    tool: str
    policy: ToolPolicy | None

    def changed(self, settings: ToolSettings) -> ToolSettings:
        name = self.tool.strip()
        if not 0 < len(name) <= _LONGEST_NAME:
            raise InvalidInputError(f"a tool's name has 1 to {_LONGEST_NAME} characters", path="tool")
        policies = {each: policy for each, policy in settings.policies.items() if each != name}
        if self.policy is not None:
            policies[name] = self.policy
        return replace(settings, policies=policies)


class AddToolServer(_ToolChange, verb="set preferences"):
    """Add a server whose tools were asked for, or replace the one of its name."""

    server: McpServer
    replaces: bool = False

    def changed(self, settings: ToolSettings) -> ToolSettings:
        return replace(settings, servers=with_server(settings.servers, self.server, replaces=self.replaces))


class CheckToolServer(AddToolServer, verb="set preferences"):
    """Refuse a server that may not be added, before anything is started; it changes nothing."""

    def changed(self, settings: ToolSettings) -> ToolSettings:
        super().changed(settings)
        return settings


class RemoveToolServer(_ToolChange, verb="set preferences"):
    """Remove a server; its stored secrets stay with the keys."""

    name: str

    def changed(self, settings: ToolSettings) -> ToolSettings:
        return replace(settings, servers=without_server(settings.servers, self.name))


class SetUrlAccess(_ToolChange, verb="set preferences"):
    """Set which addresses `readUrl` may read."""

    urls: UrlAccess

    def changed(self, settings: ToolSettings) -> ToolSettings:
        return replace(settings, urls=self.urls)


def url_access(value: object) -> UrlAccess:
    try:
        return UrlAccess(str(value))
    except ValueError:
        names = ", ".join(UrlAccess)
        raise InvalidInputError(
            f"urls is {str(value)[:60]!r}", hint=f"use one of {names}", path="urls"
        ) from None
