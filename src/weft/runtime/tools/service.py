"""Run tools for a turn: permission, policy, arguments, limits. A tool that fails is an output that says so."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from weft.context.items.blocks import ToolOutput, is_tag
from weft.errors import (
    InvalidInputError,
    LimitExceededError,
    NotFoundError,
    PermissionDeniedError,
    WeftError,
)
from weft.knowledge.tools.base import AnyTool, ToolContext, ToolRegistry, installed_tools, say
from weft.redaction import redact
from weft.runtime.events.log import grove_id
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.grants import granted
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import agent_row, require_permission
from weft.runtime.tools.mcp_servers import server_tools
from weft.runtime.tools.policy import ApprovalRequest, Approver, policy_of
from weft.runtime.tools.put_aside import put_aside, threshold
from weft.runtime.tools.settings import ToolSettings
from weft.runtime.tools.time_limit import run_within
from weft.runtime.tools.tool_context import node_at, tool_context
from weft.runtime.tools.trusted_servers import TrustedServers
from weft.store.lookup import find_tree
from weft.tree.agent import Agent, AgentType, ToolPolicy
from weft.tree.approval import ApprovalSubject
from weft.tree.citation import CitedSource
from weft.tree.content import ToolCall, ToolResult
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Identified, Node

if TYPE_CHECKING:
    from weft.providers.base import ToolSpec

_LONGEST_ERROR = 2_000
_DOT = "__"
"""For the dot in the name of a server's tool: providers take no dots in names."""


class ToolStatus(StrEnum):
    """How a call of a tool ended."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    """It did not run: a permission, a policy or a person refused it."""


class OfferedTool(NamedTuple):
    """A tool as it can be called here."""

    name: str
    tool: AnyTool | None
    """None if the package that brings it is broken."""
    off: str | None
    """Why it cannot be called, if it cannot."""
    policy: ToolPolicy = ToolPolicy.ALLOW

    def described(self) -> JsonObject:
        """The tool for people and programs to read."""
        tool = self.tool
        return {
            "name": self.name,
            "description": None if tool is None else tool.description,
            "parameters": None if tool is None else tool.schema,
            "permission": None if tool is None or tool.permission is None else tool.permission.value,
            "effects": tool is not None and tool.effects,
            "policy": self.policy.value,
            "off": self.off,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """A call of a tool that has ended."""

    call: ToolCall
    status: ToolStatus
    output: ToolOutput
    """The block for the model, also after an error: its `status` attribute then says so."""
    seconds: float = 0.0
    error: WeftError | None = None

    @property
    def sources(self) -> tuple[CitedSource, ...]:
        """What an answer may cite of it."""
        return self.output.sources

    @property
    def result(self) -> ToolResult:
        """The same as content of a node, beside the call."""
        is_error = self.status is not ToolStatus.OK
        return ToolResult(call_id=self.call.id, content=self.output.render(), is_error=is_error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """The policies that hold for a call, and the agent that makes it."""

    agent: Agent
    levels: tuple[Mapping[str, ToolPolicy], ...]
    granted: frozenset[str] = frozenset()
    """Tools that need no approval in this tree."""

    @property
    def writes_commands(self) -> bool:
        return self.agent.loom_aware and self.agent.type is AgentType.MODEL


@dataclass(frozen=True, slots=True)
class ToolService:
    """The tools of a grove for one caller. Outputs go to `context`, `envelope` or `generate` as `tool_outputs`."""

    caller: Caller
    registry: ToolRegistry = field(default_factory=installed_tools)
    approver: Approver | None = None
    """Asks a person before a tool with effects runs; None: no person is present."""
    only: frozenset[str] | None = None
    """The only tools that may run, by name; None: all of them."""
    vaults: tuple[str, ...] = ()
    """The vaults that can be read; none: all that are mounted."""
    agent: Agent | None = None
    """The agent that calls the tools on the caller's behalf; None: the caller itself."""

    def names(self) -> list[str]:
        """The tools of packages, and those of the owner's servers."""
        names = {*self.registry.names, *self._server_tools()}
        return sorted(names if self.only is None else names & self.only)

    def tool(self, name: str) -> AnyTool:
        """One of them."""
        dotted = name.replace(_DOT, ".", 1)
        if self.only is not None and not {name, dotted} & self.only:
            known = ", ".join(sorted(self.only)) or "none"
            raise NotFoundError(f"there is no tool {name[:60]!r} in this turn", hint=f"tools are {known}")
        if "." in dotted and dotted in (own := self._server_tools()):
            return own[dotted]
        return self.registry.tool(name)

    def _server_tools(self) -> dict[str, AnyTool]:
        with self.caller.store.read() as session:
            servers = ToolSettings.of(session).servers
            tools = server_tools(grove_id(session), servers, TrustedServers()) if servers else ()
        return {each.name: each for each in tools}

    def offered(self) -> Iterator[OfferedTool]:
        """Every tool, also those that are off, with the reason."""
        context, rules = tool_context(self.caller, vaults=self.vaults), self._rules()
        for name in self.names():
            try:
                tool = self.tool(name)
            except WeftError as error:
                yield OfferedTool(name, None, error.message)
            else:
                policy = policy_of(tool, rules.levels)
                yield OfferedTool(name, tool, self._off(tool, context, policy), policy)

    def schemas(self) -> "list[ToolSpec]":
        """The tools that a model may call here, in the order of their names; a dot in one is written `__`."""
        from weft.providers.base import ToolSpec  # noqa: PLC0415 - providers load with the first call of a model

        tools = (each.tool for each in self.offered() if each.off is None)
        return [
            ToolSpec(name=each.name.replace(".", _DOT), description=each.description, schema=each.schema)
            for each in tools
            if each is not None
        ]

    def check(self, call: ToolCall) -> None:
        """Raise for a call of an unknown tool, or with arguments that do not match its schema."""
        self.tool(call.name).check(_arguments(call))

    def run(self, call: ToolCall, *, at: Identified | str | None = None, first: int = 1) -> ToolRun:
        """Run one tool. Its failure is a result; `first` is the number of its first source."""
        return self.run_all([call], at=at, first=first)[0]

    def run_all(
        self, calls: Sequence[ToolCall], *, at: Identified | str | None = None, first: int = 1
    ) -> list[ToolRun]:
        """Run several for one turn, in order; their sources are numbered in one sequence."""
        node = None if at is None else node_at(self.caller, at)
        context = replace(tool_context(self.caller, node, self.vaults), first=first)
        rules = self._rules(node)
        runs: list[ToolRun] = []
        for call in calls:
            run = self._run(call, context, rules)
            if node is not None and run.status is ToolStatus.OK:
                run = self._put_aside(run, node, rules)
            context = replace(context, first=context.first + len(run.sources))
            runs.append(run)
        return runs

    def _put_aside(self, run: ToolRun, node: Node, rules: _Rules) -> ToolRun:
        above = None if self.tool(run.call.name).pages else threshold(self.caller, node.tree_id)
        if above is None:
            return run
        output = put_aside(
            self.caller, node, run.call, run.output, above=above, loom_aware=rules.writes_commands
        )
        return replace(run, output=output)

    def _run(self, call: ToolCall, context: ToolContext, rules: _Rules) -> ToolRun:
        begun = time.monotonic()
        status, error = ToolStatus.OK, None
        try:
            output = self._output(call, context, rules)
        except PermissionDeniedError as refusal:
            status, error = ToolStatus.DENIED, refusal
            output = _failed(call.name, status, refusal)
        except WeftError as failure:
            status, error = ToolStatus.ERROR, failure
            output = _failed(call.name, status, failure)
        return ToolRun(call=call, status=status, output=output, seconds=time.monotonic() - begun, error=error)

    def _output(self, call: ToolCall, context: ToolContext, rules: _Rules) -> ToolOutput:
        """The output within all limits; a `WeftError` says why there is none."""
        tool = self.tool(call.name)
        arguments = _arguments(call)
        self._require_permission(tool)
        tool.check(arguments)
        self._require_approval(tool, call, rules)
        output = run_within(tool.seconds, tool.name, lambda: _guarded(tool, lambda: tool(context, arguments)))
        if output.name != tool.name:
            raise InvalidInputError(f"{tool.name}: its output has another name: {output.name[:60]!r}")
        if len(output.content) > tool.size:
            raise LimitExceededError(
                f"{tool.name} returned {len(output.content):,} characters; the most is {tool.size:,}",
                hint="ask it for less",
            )
        return output

    def _off(self, tool: AnyTool, context: ToolContext, policy: ToolPolicy) -> str | None:
        if policy is ToolPolicy.DENY:
            return "its policy is deny"
        try:
            self._require_permission(tool)
        except PermissionDeniedError as error:
            return error.message
        return tool.missing(context)

    def _require_permission(self, tool: AnyTool) -> None:
        if tool.permission is not None:
            if self.agent is not None and tool.permission not in self.agent.permissions:
                raise PermissionDeniedError(
                    f"{tool.permission} not enabled",
                    hint=f"{tool.name} needs it: {self.agent.name!r} goes on without, or a person grants it",
                )
            with self.caller.store.read() as session:
                require_permission(session, self.caller.actor, tool.permission, f"run {tool.name}")

    def _require_approval(self, tool: AnyTool, call: ToolCall, rules: _Rules) -> None:
        policy = policy_of(tool, rules.levels)
        if policy is ToolPolicy.ALLOW or (policy is ToolPolicy.ASK and tool.name in rules.granted):
            return
        if policy is ToolPolicy.DENY:
            raise PermissionDeniedError(f"{tool.name} is not allowed here", hint="go on without it")
        if self.approver is None:
            raise PermissionDeniedError(
                f"{tool.name} needs the approval of a person, and none is present", hint="go on without it"
            )
        request = ApprovalRequest(
            call=call,
            tool=tool.name,
            description=tool.description,
            agent=rules.agent.name,
            agent_id=rules.agent.id,
        )
        if not self.approver(request):
            raise PermissionDeniedError(f"a person refused {tool.name}", hint="go on without it")

    def _rules(self, node: Node | None = None) -> _Rules:
        """The grove's policies, those of every agent in the chain, and what was granted in the node's tree."""
        with self.caller.store.read() as session:
            own = ToolSettings.of(session).policies
            agents = [agent_value(agent_row(session, link.agent)) for link in self.caller.actor.chain()]
            if self.agent is not None:
                agents.insert(0, self.agent)
            allowed = frozenset[str]()
            if node is not None:
                tree = find_tree(session, node.tree_id)
                allowed = granted(session, tree, agents[0].id, ApprovalSubject.TOOL)
        levels = (own, *(each.configuration.tool_policies for each in agents))
        return _Rules(agent=agents[0], levels=levels, granted=allowed)


def _arguments(call: ToolCall) -> Mapping[str, JsonValue]:
    if not isinstance(call.arguments, Mapping):
        raise InvalidInputError(f"{call.name}: the arguments must be an object")
    return call.arguments


def _guarded(tool: AnyTool, work: Callable[[], ToolOutput]) -> ToolOutput:
    """An error that is not ours comes from a plug-in: it must not end the turn."""
    try:
        return work()
    except WeftError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{tool.name} failed: {type(error).__name__}: {error}") from error


def _failed(name: str, status: ToolStatus, error: WeftError) -> ToolOutput:
    """The block that tells the model why there is no output."""
    # A name that cannot be a tag comes from a model; it is repeated as text only.
    tag = name if is_tag(name) else "tool"
    text = redact(error.message if error.hint is None else f"{error.message}\n{error.hint}")
    return say(tag, "", text[:_LONGEST_ERROR], attributes={"status": status.value})
