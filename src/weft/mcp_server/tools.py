"""All tools in one table: those that are commands, and what a client needs to begin."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from mcp_types import CallToolResult, ListToolsResult, Tool, ToolAnnotations

from weft.commands.catalog import ROWS
from weft.commands.grammar import CommandRow
from weft.errors import CrossTreeError, WeftError
from weft.mcp_server.arguments import Arguments, TreeArguments
from weft.mcp_server.command_arguments import CommandArguments, arguments_of
from weft.mcp_server.grove_tools import GROVE_TOOLS, GroveTool
from weft.mcp_server.results import answered, refused
from weft.mcp_server.sessions import ToolCaller, run_command
from weft.tree.agent import Permission

__all__ = ["TOOLS", "McpTool", "ToolCaller", "list_tools"]

Run: TypeAlias = Callable[[Any, ToolCaller], Awaitable[CallToolResult]]

_LINE = 200
_FLAGGED = "call it again with everywhere: true"
_REPLY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "reply": {"type": "string"},
        "result": {"type": "integer"},
        "shortened": {"type": "boolean"},
        "nodes": {"type": "array", "items": {"type": "string"}},
        "tree": {"type": "string"},
        "at": {"type": "string"},
    },
    "required": ["command", "reply", "shortened", "nodes", "tree"],
}
"""What a command comes to: as a command would say it, the answer in words (of a long one, its beginning), its
number, what was made, and where you are now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool:
    """One tool."""

    name: str
    title: str
    description: str
    permission: Permission
    taken: type[Arguments]
    output: dict[str, Any]
    run: Run
    hints: ToolAnnotations

    def listed(self) -> Tool:
        return Tool(
            name=self.name,
            title=self.title,
            description=f"{self.description} Needs {self.permission}.",
            input_schema=self.taken.input_schema(),
            output_schema=self.output,
            annotations=self.hints,
        )


def list_tools() -> ListToolsResult:
    """All tools, for every caller: one that is not permitted says so when it is called, and `help` says it before."""
    return ListToolsResult(tools=[each.listed() for each in TOOLS.values()])


async def _command(taken: CommandArguments, caller: ToolCaller, row: CommandRow) -> CallToolResult:
    done = await run_command(caller, taken.tree, taken.command(row))
    if done.result.error is not None:
        return refused(_as_arguments(done.result.error, taken))
    facts: dict[str, object] = {
        "command": _line(done.result.command),
        "reply": done.result.shown,
        "shortened": done.result.short is not None,
        "nodes": done.result.nodes,
        "tree": done.tree,
    }
    if done.numbered:
        facts["result"] = done.result.number
    if done.at is not None:
        facts["at"] = done.at
    return answered(done.result.shown, facts)


def _line(text: str) -> str:
    """As much of it as says what it was; the client has just sent the rest."""
    line = " ".join(text[: 2 * _LINE].split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


def _as_arguments(error: WeftError, taken: TreeArguments) -> WeftError:
    """A hint that shows how a command says it, as a tool is told it."""
    if isinstance(error, CrossTreeError):
        flag = "everywhere" in type(taken).model_fields and not getattr(taken, "everywhere", False)
        return CrossTreeError(error.message, hint=_FLAGGED if flag else "name that tree as `tree`")
    return error


def _as_tool(row: CommandRow) -> McpTool:
    async def run(given: CommandArguments, caller: ToolCaller) -> CallToolResult:
        return await _command(given, caller, row)

    return McpTool(
        name=row.name,
        title=row.name.capitalize(),
        description=row.tool or f"{row.help[:1].upper()}{row.help[1:]}.",
        permission=row.permission,
        taken=arguments_of(row),
        output=_REPLY,
        run=run,
        hints=ToolAnnotations(
            read_only_hint=row.reads,
            destructive_hint=row.name == "write",
            idempotent_hint=row.reads or row.repeatable,
            open_world_hint=row.permission is Permission.LOOM_GENERATE,
        ),
    )


def _as_grove_tool(each: GroveTool) -> McpTool:
    return McpTool(
        name=each.name,
        title=each.title,
        description=each.description,
        permission=each.permission,
        taken=each.taken,
        output=each.output,
        run=each.run,
        hints=ToolAnnotations(
            read_only_hint=not each.writes,
            destructive_hint=False,
            idempotent_hint=not each.writes,
            open_world_hint=False,
        ),
    )


TOOLS: Mapping[str, McpTool] = MappingProxyType(
    {each.name: _as_grove_tool(each) for each in GROVE_TOOLS}
    | {row.name: _as_tool(row) for row in ROWS if row.name != "help"}
)
