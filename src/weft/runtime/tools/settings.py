"""What the owner has set for tools: one setting of the grove. Secrets are not part of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from weft.errors import InvalidInputError
from weft.runtime.operations.agents import Managing
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import ChangeSettings, load_settings
from weft.store.session import Session
from weft.tree.agent import ToolPolicy, policy_from, read_policies

TOOLS = "tools"
"""The setting of the grove with all of this."""
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """The grove's settings for tools."""

    policies: Mapping[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])

    @classmethod
    def of(cls, session: Session) -> Self:
        stored: Mapping[str, Any] = load_settings(session).get(TOOLS) or {}
        return cls(policies=read_policies(stored.get("policies") or {}, f"{TOOLS}.policies"))

    def to_wire(self) -> dict[str, Any] | None:
        """As it is stored; None if nothing is set."""
        kept = {"policies": {name: each.value for name, each in self.policies.items()}}
        return {name: value for name, value in kept.items() if value} or None


class SetToolPolicy(Managing, verb="set preferences"):
    """Set the policy of a tool for the whole grove; None removes it."""

    tool: str
    policy: ToolPolicy | str | None

    def apply(self, scope: Scope) -> None:
        self.open_grove(scope)
        name = self.tool.strip()
        if not 0 < len(name) <= _LONGEST_NAME:
            raise InvalidInputError(f"a tool's name has 1 to {_LONGEST_NAME} characters", path="tool")
        policies = dict(ToolSettings.of(scope.transaction).policies)
        policies.pop(name, None)
        if self.policy is not None:
            policies[name] = policy_from(self.policy, name)
        ChangeSettings(settings={TOOLS: ToolSettings(policies=policies).to_wire()}).apply(scope)
