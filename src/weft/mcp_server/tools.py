"""All tools in one table: those that are commands, and what a client needs to begin."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from mcp_types import CallToolResult, ListToolsResult, Tool, ToolAnnotations

from weft.commands.catalog import CATALOG, ROWS
from weft.commands.actions import Command
from weft.errors import CrossTreeError, WeftError
from weft.mcp_server import looking, making, starting
from weft.mcp_server.answers import answered, refused
from weft.mcp_server.arguments import InTree, Taken
from weft.mcp_server.desks import Calling, carry_out
from weft.tree.agent import Permission

__all__ = ["TOOLS", "Calling", "Offered", "list_tools"]

Run: TypeAlias = Callable[[Any, Calling], Awaitable[CallToolResult]]

COMMANDS: Mapping[str, type[InTree]] = MappingProxyType(
    {
        "view": looking.View,
        "list": looking.Listed,
        "tree": looking.Draw,
        "switch": looking.Switch,
        "search": looking.Search,
        "think": looking.Think,
        "pin": looking.Pin,
        "stash": looking.Stash,
        "recall": looking.Recall,
        "drop": looking.Drop,
        "memory": looking.Memory,
        "respond": making.Respond,
        "annotate": making.Annotate,
        "edit": making.Edit,
        "merge": making.Merge,
        "split": making.Split,
        "join": making.Join,
        "attach": making.Attach,
        "link": making.Link,
        "unlink": making.Unlink,
        "tag": making.Tag,
        "untag": making.Untag,
        "bookmark": making.Bookmark,
        "unbookmark": making.Unbookmark,
        "prune": making.Prune,
        "restore": making.Restore,
        "exclude": making.Exclude,
        "include": making.Include,
        "collapse": making.Collapse,
        "expand": making.Expand,
        "undo": making.Undo,
        "redo": making.Redo,
        "continue": making.Continue,
        "read": making.Read,
        "write": making.Write,
    }
)
"""Every command of the catalog but `help`, which needs no tree."""
_TOLD: Mapping[str, str] = MappingProxyType(
    {
        "view": "See one node (in short, or with `full`), a branch from the root to a node, or an earlier result.",
        "list": "List the continuations, annotations, links or versions of a node.",
        "tree": "Draw a tree by indentation, with the local id of each node; * is where you are.",
        "switch": "Move to another node of the tree: by its id, or to a sibling, the parent or the end.",
        "search": "Search the full text of a tree.",
        "think": "Keep a thought in your private memory of a tree; nobody else is shown it.",
        "pin": "Keep a node, a document, a section or a result in your memory of a tree.",
        "stash": "Keep a text under a label for later.",
        "recall": "Bring a stash back into your memory.",
        "drop": "Let a pin or a stash go.",
        "memory": "What you pinned, stashed and did in a tree.",
        "respond": "Say something below a node, as a new node; you move to it.",
        "annotate": "Put a note beside a node, outside of the conversation.",
        "edit": "Write a node anew: as a branch beside it in a dialogue, as a version in a buffer. The old text stays.",
        "merge": "Write one node that comes from several, such as the best of two branches.",
        "split": "Make two nodes out of one, as a branch beside it.",
        "join": "Make one node out of a node and the one after it, as a branch beside it.",
        "attach": "Attach a note, a document or another node to a node, for models to see with it.",
        "link": "Make a reference from a node to a node, a document or another tree.",
        "tag": "Tag a node with a word to find it by.",
        "prune": "Fold a node and all below it out of sight. Nothing is destroyed: `restore` brings it back.",
        "exclude": "Leave a node out of what models are shown; it stays in the tree.",
        "collapse": "Fold a range of a path under a name: models are shown a placeholder.",
        "undo": "Take back your own last operation in a tree.",
        "continue": "Have a model agent of the grove write what comes next, as one or more new nodes. May cost money.",
        "read": "Read a document that is linked to the tree or its nodes, or part of it.",
        "write": "Change a document that is linked to the tree: at its end, at a line or section, or in their place.",
    }
)
"""What a model is told of a tool, where the catalog's words are about the language."""
_LOOKING = frozenset({"view", "list", "tree", "search", "memory", "read"})
_REPEATABLE = frozenset({"switch", "tag", "untag", "bookmark", "unbookmark", "exclude", "include", "pin"})
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
class Offered:
    """One tool."""

    name: str
    title: str
    description: str
    permission: Permission
    taken: type[Taken]
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
    """All of them, whoever asks: what is not permitted says so when it is called, and `help` says it before."""
    return ListToolsResult(tools=[each.listed() for each in TOOLS.values()])


async def _command(taken: InTree, calling: Calling, name: str) -> CallToolResult:
    action = cast("looking.View", taken).action()
    everywhere = bool(getattr(taken, "everywhere", False))
    done = await carry_out(calling, taken.tree, Command(name, action, grove=everywhere))
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


def _as_arguments(error: WeftError, taken: InTree) -> WeftError:
    """A hint that shows how a command says it, as a tool is told it."""
    if isinstance(error, CrossTreeError):
        flag = "everywhere" in type(taken).model_fields and not getattr(taken, "everywhere", False)
        return CrossTreeError(error.message, hint=_FLAGGED if flag else "name that tree as `tree`")
    return error


def _as_tool(name: str, taken: type[InTree]) -> Offered:
    row = CATALOG[name]

    async def run(given: InTree, calling: Calling) -> CallToolResult:
        return await _command(given, calling, name)

    return Offered(
        name=name,
        title=name.capitalize(),
        description=_TOLD.get(name) or f"{row.help[:1].upper()}{row.help[1:]}.",
        permission=row.permission,
        taken=taken,
        output=_REPLY,
        run=run,
        hints=ToolAnnotations(
            read_only_hint=name in _LOOKING,
            destructive_hint=name == "write",
            idempotent_hint=name in _LOOKING or name in _REPEATABLE,
            open_world_hint=name == "continue",
        ),
    )


def _to_start(each: starting.Starting) -> Offered:
    return Offered(
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


TOOLS: Mapping[str, Offered] = MappingProxyType(
    {each.name: _to_start(each) for each in starting.STARTING}
    | {row.name: _as_tool(row.name, COMMANDS[row.name]) for row in ROWS if row.name in COMMANDS}
)
