"""All tools in one table: the commands, and trees, documents, agents, contexts and help."""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult, ListToolsResult
from pydantic import Field

from weft.commands.catalog import CATALOG, help_on, help_text, refusal
from weft.commands.reply import counted, done, quoted, short
from weft.context.manifest import Manifest
from weft.errors import InvalidInputError
from weft.grove.grove import Grove
from weft.ids import is_ulid
from weft.mcp_server.arguments import MOST, Arguments, Node, Title, TreeArguments
from weft.mcp_server.command_tools import McpTool, Run, answered, command_tools
from weft.mcp_server.resources import document_uri, tree_uri
from weft.mcp_server.sessions import ToolCaller
from weft.runtime.contexts.linked_documents import may_cross
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.operations.permissions import permissions_of
from weft.runtime.views.listings import ListingRow, document_page, tree_page
from weft.tree.agent import AgentType, Permission

_OPTIONS = ContextOptions.specs()
_TEXT: dict[str, Any] = {"type": "string"}
_LISTED_ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": _TEXT,
        "title": _TEXT,
        "summary": _TEXT,
        "updatedAt": {"type": "string", "format": "date-time"},
        "uri": _TEXT,
    },
    "required": ["id", "title", "uri"],
}


def _listing(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {"type": "array", "items": _LISTED_ITEM},
            "next": {
                "type": "string",
                "description": "Give it as `after` for the next ones; none: that was all.",
            },
        },
        "required": [name],
    }


class _HelpArguments(Arguments):
    command: Annotated[str | None, Field(max_length=100, description="One tool; else all of them.")] = None


class _Page(Arguments):
    after: Annotated[str | None, Field(max_length=26, description="The `next` of the page before.")] = None
    limit: Annotated[int, Field(ge=1, le=MOST, description="How many at most.")] = 50


class _NewTree(Arguments):
    title: Annotated[Title | None, Field(description="Else the first words of the text.")] = None
    text: Annotated[str, Field(description="What the root says; it may be empty.")] = ""
    mode: Annotated[
        Literal["dialogue", "buffer"], Field(description="A conversation, or one growing document.")
    ] = "dialogue"
    system_context: Annotated[str, Field(description="What models are told before anything else.")] = ""
    description: str = ""


class _NewDocument(Arguments):
    title: Annotated[Title, Field(description="What it is called.")]
    text: Annotated[str, Field(description="Markdown.")] = ""


class _ContextArguments(TreeArguments):
    node: Annotated[Node | None, Field(description="Where; else where you are.")] = None
    limit: Annotated[int | None, Field(ge=1, le=100_000_000, description=_OPTIONS["limit"].help)] = None
    strategy: Annotated[
        Literal["truncateMiddle", "rollingWindow", "stopAtLimit"] | None,
        Field(description=_OPTIONS["strategy"].help),
    ] = None
    agent: Annotated[Title | None, Field(description=_OPTIONS["agent"].help)] = None
    messages: Annotated[bool, Field(description="The messages too, not only the account of them.")] = False
    manifest: Annotated[bool, Field(description="The account of every single piece too.")] = False


def _listed(
    noun: str, page: Callable[..., list[ListingRow]], uri: Callable[[str], str]
) -> Callable[[_Page, Grove], CallToolResult]:
    def run(given: _Page, grove: Grove) -> CallToolResult:
        if given.after is not None and not is_ulid(given.after):
            raise InvalidInputError("after: unknown cursor", hint="use the value of `next`", path="after")
        listed = page(grove.read, after=given.after, limit=given.limit + 1)
        shown = listed[: given.limit]
        rows = [
            {
                "id": each.id,
                "title": each.title,
                "summary": each.summary,
                "updatedAt": each.updated_at,
                "uri": uri(each.id),
            }
            for each in shown
        ]
        facts: dict[str, object] = {f"{noun}s": rows}
        more = len(listed) > len(shown)
        if more:
            facts["next"] = shown[-1].id
        head = done(counted(len(shown), noun), "there are more" if more else "")
        return answered("\n".join([head, *(f"  {each.id} {quoted(each.title)}" for each in shown)]), facts)

    return run


def _new_tree(given: _NewTree, grove: Grove) -> CallToolResult:
    tree = grove.plant(
        given.title,
        given.text,
        mode=given.mode,
        system_context=given.system_context,
        description=given.description,
    )
    root = tree.root.local_id
    facts = {"id": tree.id, "title": tree.title, "root": root, "mode": tree.mode, "uri": tree_uri(tree.id)}
    return answered(done(f"planted {quoted(tree.title)}", f"you are at [{root}]", f"id {tree.id}"), facts)


def _new_document(given: _NewDocument, grove: Grove) -> CallToolResult:
    made = grove.write_document(given.title, given.text)
    title, revision = made.value.title, made.value.revision
    facts = {"id": made.id, "title": title, "revision": revision, "uri": document_uri(made.id)}
    return answered(done(f"created doc:{quoted(title)}", f"id {made.id}"), facts)


def _agents(_: Arguments, grove: Grove) -> CallToolResult:
    listed = grove.read.agents()
    rows = [
        {"id": each.id, "name": each.name, "type": each.type, "permissions": each.permissions}
        | ({} if each.model_ref is None else {"model": each.model_ref})
        for each in listed
    ]
    lines = [
        f"  {short(each.name)} · {'person' if each.type is AgentType.HUMAN else each.model_ref}"
        for each in listed
    ]
    return answered("\n".join([done(counted(len(listed), "agent")), *lines]), {"agents": rows})


def _context(given: _ContextArguments, grove: Grove) -> CallToolResult:
    tree = grove.tree(given.tree)
    node = tree.cursor if given.node is None else tree.node(given.node)
    seen = node.context(limit=given.limit, strategy=given.strategy, agent=given.agent)
    left = {"messages", "system", "document"} if not given.messages else set[str]()
    left |= set() if given.manifest else {"manifest"}
    whole = {name: value for name, value in seen.to_wire().items() if name not in left}
    account = _account(seen.manifest)
    head = done(
        f"at [{node.local_id}] a model would see {seen.tokens:,} tokens",
        counted(len(seen.messages), "message"),
        f"{seen.removed_nodes:,} nodes left out" if seen.removed_nodes else "",
    )
    lines = [
        f"  {each['count']:,} × {each['kind']} {each['outcome']} · {each['reason']} · {each['tokens']:,} tokens"
        for each in account
    ]
    facts = {**whole, "account": account, "node": node.local_id, "tree": tree.id}
    return answered("\n".join([head, *lines]), facts)


def _account(manifest: Manifest) -> list[dict[str, Any]]:
    """The outcomes and their reasons, equal ones in one row: short for any path."""
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for entry in manifest:
        kind, outcome, reason = entry.kind.value, entry.outcome.value, entry.reason
        row = rows.setdefault(
            (kind, outcome, reason),
            {"kind": kind, "outcome": outcome, "reason": reason, "count": 0, "tokens": 0, "first": entry.id},
        )
        row["count"] += entry.count
        row["tokens"] += entry.tokens
        row["last"] = entry.last or entry.id
    return list(rows.values())


async def _help(given: _HelpArguments, caller: ToolCaller) -> CallToolResult:
    return await caller.in_thread(lambda: _help_text(given, caller.grove, caller.offered))


def _help_text(given: _HelpArguments, grove: Grove, offered: Collection[str]) -> CallToolResult:
    """What is permitted: by the same permissions that the operations require; and what is offered."""
    with grove.read.store.read() as session:
        mine, crossing = permissions_of(session, grove.read.actor), may_cross(session, grove.read.actor)
    denied = refusal(CATALOG["help"], mine)
    if denied is not None:
        raise denied
    others = {each.name: each for each in _GROVE_TOOLS if each.name != "help"}
    name = (given.command or "").strip().removeprefix("→").strip()
    if given.command is None:
        named = (
            f"  {each.name} · {each.title.lower()}"
            + ("" if each.permission in mine else f" (not permitted: {each.permission} not enabled)")
            for each in others.values()
        )
        text = "\n".join([help_text(mine, crossing=crossing), *named])
    elif name in others:
        tool = others[name]
        permitted = tool.permission in mine
        right = (
            f"permitted by {tool.permission}"
            if permitted
            else f"not permitted: {tool.permission} not enabled"
        )
        text = "\n".join([done(tool.name, tool.description), f"  {right}"])
    else:
        text = help_on(name, mine, crossing=crossing)
    if len(offered) < len(TOOLS):
        text += f"\n  offered here: {', '.join(offered)}; the others: weft mcp --tools all"
    return answered(text, {"permissions": sorted(mine)})


def _in_thread(work: Callable[[Any, Grove], CallToolResult]) -> Run:
    async def run(given: Arguments, caller: ToolCaller) -> CallToolResult:
        return await caller.in_thread(lambda: work(given, caller.grove))

    return run


def _made(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {} for name in names}, "required": list(names)}


_GROVE_TOOLS: tuple[McpTool, ...] = (
    McpTool(
        name="trees",
        title="List trees",
        description="The trees of this grove, the newest first.",
        permission=Permission.LOOM_AWARE,
        taken=_Page,
        output=_listing("trees"),
        run=_in_thread(_listed("tree", tree_page, tree_uri)),
    ),
    McpTool(
        name="new_tree",
        title="Plant a tree",
        description="Begin a conversation or a text.",
        permission=Permission.LOOM_WRITE,
        taken=_NewTree,
        output=_made("id", "title", "root", "mode", "uri"),
        run=_in_thread(_new_tree),
        reads=False,
    ),
    McpTool(
        name="documents",
        title="List documents",
        description="The documents of this grove, the newest first.",
        permission=Permission.DOC_READ,
        taken=_Page,
        output=_listing("documents"),
        run=_in_thread(_listed("document", document_page, document_uri)),
    ),
    McpTool(
        name="new_document",
        title="Begin a document",
        description="A new document; `link` it to a node or tree to read and write it there.",
        permission=Permission.DOC_WRITE,
        taken=_NewDocument,
        output=_made("id", "title", "revision", "uri"),
        run=_in_thread(_new_document),
        reads=False,
    ),
    McpTool(
        name="agents",
        title="List agents",
        description="People and models that take part, for `continue`.",
        permission=Permission.LOOM_AWARE,
        taken=Arguments,
        output=_made("agents"),
        run=_in_thread(_agents),
    ),
    McpTool(
        name="context",
        title="What a model would see",
        description="Exactly what a model would be sent at a node, with the account of what was left out and why.",
        permission=Permission.LOOM_AWARE,
        taken=_ContextArguments,
        output=_made("tokens", "account", "node", "tree"),
        run=_in_thread(_context),
    ),
    McpTool(
        name="help",
        title="Help",
        description="What you may do here, and how.",
        permission=Permission.LOOM_AWARE,
        taken=_HelpArguments,
        output=_made("permissions"),
        run=_help,
    ),
)
TOOLS: Mapping[str, McpTool] = MappingProxyType(
    {each.name: each for each in (*_GROVE_TOOLS, *command_tools())}
)


CORE_TOOLS: Mapping[str, McpTool] = MappingProxyType(
    {
        name: TOOLS[name]
        for name in (
            *("trees", "tree", "view", "search", "read", "context"),
            *("new_tree", "respond", "edit", "write", "undo"),
            *("continue", "help"),
        )
    }
)
"""What an assistant needs to read, write, branch, search and see a context: its schemas fill little of a window."""


def list_tools(offered: Iterable[McpTool]) -> ListToolsResult:
    """The tools, for every caller: one that is not permitted says so when it is called, and `help` says it before."""
    return ListToolsResult(tools=[each.listed() for each in offered])
