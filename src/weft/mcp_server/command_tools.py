"""Tools that are commands, each made from its row of the catalog; and the form in which every tool answers."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp import MCPError
from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from weft.commands.catalog import ROWS
from weft.commands.grammar import CommandRow
from weft.commands.reply import failed, short
from weft.error_hints import Face, hint_on
from weft.errors import CrossTreeError, InvalidInputError, WeftError
from weft.mcp_server.arguments import Arguments, CommandArguments, TreeArguments, arguments_of
from weft.mcp_server.sessions import ToolCaller, run_command
from weft.tree.agent import Permission
from weft.tree.json import JsonValue
from weft.tree.json_names import to_wire

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
"""The result of a command: the command line, the reply in words (of a long one, its beginning), its number, the
nodes that were made, and the cursor."""


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
    reads: bool = True
    """Whether it changes nothing."""
    repeatable: bool = False
    destructive: bool = False
    open_world: bool = False

    def listed(self) -> Tool:
        """The tool as the protocol lists it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=f"{self.description} Needs {self.permission}.",
            input_schema=self.taken.input_schema(),
            output_schema=self.output,
            annotations=ToolAnnotations(
                read_only_hint=self.reads,
                destructive_hint=self.destructive,
                idempotent_hint=self.reads or self.repeatable,
                open_world_hint=self.open_world,
            ),
        )


def command_tools() -> list[McpTool]:
    """One tool for each command; `help` is a tool of its own."""
    return [_as_tool(row) for row in ROWS if row.name != "help"]


def _as_tool(row: CommandRow) -> McpTool:
    async def run(given: CommandArguments, caller: ToolCaller) -> CallToolResult:
        reply = await run_command(caller, given.tree, given.command(row))
        result = reply.result
        if result.error is not None:
            return refused(_as_arguments(result.error, given))
        facts: dict[str, object] = {
            # As much of it as says what it was; the client has just sent the rest.
            "command": short(result.command[: 2 * _LINE], _LINE),
            "reply": result.shown,
            "shortened": result.short is not None,
            "nodes": result.nodes,
            "tree": reply.tree,
        }
        if reply.numbered:
            facts["result"] = result.number
        if reply.at is not None:
            facts["at"] = reply.at
        return answered(result.shown, facts)

    return McpTool(
        name=row.name,
        title=row.name.capitalize(),
        description=row.tool or f"{row.help[:1].upper()}{row.help[1:]}.",
        permission=row.permission,
        taken=arguments_of(row),
        output=_REPLY,
        run=run,
        reads=row.reads,
        repeatable=row.repeatable,
        destructive=row.name == "write",
        open_world=row.permission is Permission.LOOM_GENERATE,
    )


def _as_arguments(error: WeftError, taken: TreeArguments) -> WeftError:
    """A hint in the words of a command, in those of a tool's arguments."""
    if isinstance(error, CrossTreeError):
        flag = "everywhere" in type(taken).model_fields and not getattr(taken, "everywhere", False)
        return CrossTreeError(error.message, hint=_FLAGGED if flag else "name that tree as `tree`")
    return error


def answered(text: str, facts: Mapping[str, object]) -> CallToolResult:
    """A tool's success: the reply in words, and the same as values."""
    return CallToolResult(content=[_words(text)], structured_content=_facts(facts))


def refused(error: WeftError) -> CallToolResult:
    """A tool's failure: the model reads it as it reads a command's, and can try again as it says."""
    return CallToolResult(
        content=[_words(failed(error))], structured_content=_facts(error_facts(error)), is_error=True
    )


def protocol_error(error: WeftError) -> MCPError:
    """The same for a request that is no tool call: a resource, a prompt."""
    return MCPError(error.row.mcp, error.message, error_facts(error))


def error_facts(error: WeftError) -> dict[str, JsonValue]:
    """Code, message, how to try again; the hint and the argument that is wrong, if there are any."""
    facts: dict[str, JsonValue] = {"code": error.code, "message": error.message, "retry": error.row.retry}
    if error.hint is not None:
        facts["hint"] = hint_on(Face.AGENT, error.hint)
    if isinstance(error, InvalidInputError) and error.path:
        facts["path"] = error.path
    return facts


def _words(text: str) -> TextContent:
    return TextContent(type="text", text=_sendable(text))


def _facts(facts: Mapping[str, object]) -> Any:
    value = to_wire(facts)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Half characters that an old history may hold: the protocol's own writer would fail on them.
        return json.loads(_sendable(json.dumps(value, ensure_ascii=False)))
    return value


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
