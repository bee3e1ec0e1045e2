"""Which tools may run without asking: the owner's policy, the agent's own, and the person who is asked."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from weft.knowledge.tools.base import AnyTool
from weft.tree.agent import ToolPolicy
from weft.tree.content import ToolCall

_STRICTNESS = (ToolPolicy.ALLOW, ToolPolicy.ASK, ToolPolicy.DENY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What a person is asked before a tool with effects runs."""

    call: ToolCall
    description: str
    agent: str
    """The name of the agent that calls it."""


Approver: TypeAlias = Callable[[ApprovalRequest], bool]
"""Asks a person. False: the call is refused."""


def policy_of(tool: AnyTool, levels: Iterable[Mapping[str, ToolPolicy]]) -> ToolPolicy:
    """The strictest that is set for the tool; where none is, tools with effects ask."""
    chosen = [level[tool.name] for level in levels if tool.name in level]
    return (
        max(chosen, key=_STRICTNESS.index)
        if chosen
        else (ToolPolicy.ASK if tool.effects else ToolPolicy.ALLOW)
    )
