"""Which tools may run without asking: the owner's policy, the agent's own, and the person who is asked."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from weft.errors import PermissionDeniedError
from weft.knowledge.tools.base import AnyTool
from weft.runtime.coordination.approval_desk import ApprovalDesk, ApprovalWish
from weft.tree.agent import ToolPolicy
from weft.tree.approval import ApprovalState, ApprovalSubject
from weft.tree.content import ToolCall

_STRICTNESS = (ToolPolicy.ALLOW, ToolPolicy.ASK, ToolPolicy.DENY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What a person is asked before a tool with effects runs."""

    call: ToolCall
    tool: str
    """Its name in the registry."""
    description: str
    agent: str
    """The name of the agent that calls it."""
    agent_id: str


Approver: TypeAlias = Callable[[ApprovalRequest], bool]
"""Asks a person. False: the call is refused; a `PermissionDeniedError` says why no person decided."""


def policy_of(tool: AnyTool, levels: Iterable[Mapping[str, ToolPolicy]]) -> ToolPolicy:
    """The strictest that is set for the tool; where none is, tools with effects ask."""
    chosen = [level[tool.name] for level in levels if tool.name in level]
    return (
        max(chosen, key=_STRICTNESS.index)
        if chosen
        else (ToolPolicy.ASK if tool.effects else ToolPolicy.ALLOW)
    )


def asked_at_desk(desk: ApprovalDesk, request: ApprovalRequest) -> bool:
    """Ask any person with rights, on whatever face, and wait for the decision."""
    arguments = request.call.arguments
    state = desk.ask(
        ApprovalWish(
            agent=request.agent_id,
            subject=ApprovalSubject.TOOL,
            name=request.tool,
            description=request.description,
            call=request.call.id,
            arguments=arguments if isinstance(arguments, Mapping) else {},
        )
    )
    if state is ApprovalState.EXPIRED:
        raise PermissionDeniedError(
            f"{request.tool} needs the approval of a person, and none decided within {desk.seconds:g} s",
            hint="go on without it",
        )
    if state is ApprovalState.INTERRUPTED:
        raise PermissionDeniedError(f"{request.tool} was not run: the run was stopped")
    return state.allows
