"""What a client needs before it can say a command: trees, documents, agents, contexts, help."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult
from pydantic import Field

from weft.commands.catalog import CATALOG, refusal
from weft.commands.help import help_on, help_text
from weft.commands.reply import done
from weft.context.manifest import Manifest
from weft.errors import InvalidInputError
from weft.grove.grove import Grove
from weft.ids import is_ulid
from weft.mcp_server.arguments import MOST, Arguments, Node, Title, TreeArguments
from weft.mcp_server.resources import document_uri, tree_uri
from weft.mcp_server.results import answered
from weft.mcp_server.sessions import ToolCaller
from weft.runtime.contexts.linked_documents import may_cross
from weft.runtime.operations.permissions import permissions_of
from weft.runtime.views.tree_list import Shelved, shelved_documents, shelved_trees
from weft.tree.agent import AgentType, Permission


@dataclass(frozen=True, slots=True, kw_only=True)
class GroveTool:
    """One of these tools."""

    name: str
    title: str
    description: str
    permission: Permission
    taken: type[Arguments]
    output: dict[str, Any]
    run: Callable[[Any, ToolCaller], Awaitable[CallToolResult]]
    writes: bool = False


_TEXT: dict[str, Any] = {"type": "string"}
_SHELVED: dict[str, Any] = {
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
            name: {"type": "array", "items": _SHELVED},
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


class _Seen(TreeArguments):
    node: Annotated[Node | None, Field(description="Where; else where you are.")] = None
    limit: Annotated[int | None, Field(ge=1, le=100_000_000, description="The budget in tokens.")] = None
    strategy: Annotated[
        Literal["truncateMiddle", "rollingWindow", "stopAtLimit"] | None, Field(description="What is cut.")
    ] = None
    agent: Annotated[Title | None, Field(description="Who would answer.")] = None
    messages: Annotated[bool, Field(description="The messages too, not only the account of them.")] = False
    manifest: Annotated[bool, Field(description="The account of every single piece too.")] = False


def _page(listed: list[Shelved], limit: int, uri: Callable[[str], str]) -> tuple[list[object], str | None]:
    rows: list[object] = [
        {
            "id": each.id,
            "title": each.title,
            "summary": each.summary,
            "updatedAt": each.updated_at,
            "uri": uri(each.id),
        }
        for each in listed[:limit]
    ]
    return rows, listed[limit - 1].id if len(listed) > limit else None


def _told(noun: str, listed: list[Shelved], limit: int, following: str | None) -> str:
    shown = listed[:limit]
    head = done(
        f"{len(shown):,} {noun}{'' if len(shown) == 1 else 's'}", "there are more" if following else ""
    )
    return "\n".join([head, *(f'  {each.id} "{_line(each.title)}"' for each in shown)])


def _after(given: _Page) -> str | None:
    if given.after is not None and not is_ulid(given.after):
        raise InvalidInputError(
            "after: this is no place to go on from", hint="give what `next` said", path="after"
        )
    return given.after


async def _trees(given: _Page, caller: ToolCaller) -> CallToolResult:
    after = _after(given)
    listed = await caller.in_thread(
        lambda: shelved_trees(caller.grove.read, after=after, limit=given.limit + 1)
    )
    rows, following = _page(listed, given.limit, tree_uri)
    facts = {"trees": rows} if following is None else {"trees": rows, "next": following}
    return answered(_told("tree", listed, given.limit, following), facts)


async def _documents(given: _Page, caller: ToolCaller) -> CallToolResult:
    after = _after(given)
    listed = await caller.in_thread(
        lambda: shelved_documents(caller.grove.read, after=after, limit=given.limit + 1)
    )
    rows, following = _page(listed, given.limit, document_uri)
    facts = {"documents": rows} if following is None else {"documents": rows, "next": following}
    return answered(_told("document", listed, given.limit, following), facts)


async def _new_tree(given: _NewTree, caller: ToolCaller) -> CallToolResult:
    def plant() -> CallToolResult:
        tree = caller.grove.plant(
            given.title,
            given.text,
            mode=given.mode,
            system_context=given.system_context,
            description=given.description,
        )
        root = tree.root.local_id
        facts = {
            "id": tree.id,
            "title": tree.title,
            "root": root,
            "mode": tree.mode,
            "uri": tree_uri(tree.id),
        }
        return answered(
            done(f'planted "{_line(tree.title)}"', f"you are at [{root}]", f"id {tree.id}"), facts
        )

    return await caller.in_thread(plant)


async def _new_document(given: _NewDocument, caller: ToolCaller) -> CallToolResult:
    def write() -> CallToolResult:
        made = caller.grove.write_document(given.title, given.text)
        facts = {
            "id": made.id,
            "title": made.value.title,
            "revision": made.value.revision,
            "uri": document_uri(made.id),
        }
        return answered(done(f'created doc:"{_line(made.value.title)}"', f"id {made.id}"), facts)

    return await caller.in_thread(write)


async def _agents(given: Arguments, caller: ToolCaller) -> CallToolResult:
    del given
    listed = await caller.in_thread(caller.grove.read.agents)
    rows = [
        {"id": each.id, "name": each.name, "type": each.type, "permissions": each.permissions}
        | ({} if each.model_ref is None else {"model": each.model_ref})
        for each in listed
    ]
    lines = [
        f"  {_line(each.name)} · {'person' if each.type is AgentType.HUMAN else each.model_ref}"
        for each in listed
    ]
    head = done(f"{len(listed):,} agent{'' if len(listed) == 1 else 's'}")
    return answered("\n".join([head, *lines]), {"agents": rows})


async def _context(given: _Seen, caller: ToolCaller) -> CallToolResult:
    return await caller.in_thread(lambda: _seen(given, caller.grove))


def _seen(given: _Seen, grove: Grove) -> CallToolResult:
    tree = grove.tree(given.tree)
    node = tree.cursor if given.node is None else tree.node(given.node)
    seen = node.context(limit=given.limit, strategy=given.strategy, agent=given.agent)
    left = {"messages", "system", "document"} if not given.messages else set[str]()
    left |= set() if given.manifest else {"manifest"}
    whole = {name: value for name, value in seen.to_wire().items() if name not in left}
    account = _account(seen.manifest)
    head = done(
        f"at [{node.local_id}] a model would see {seen.tokens:,} tokens",
        f"{len(seen.messages):,} message{'' if len(seen.messages) == 1 else 's'}",
        f"{seen.removed_nodes:,} nodes left out" if seen.removed_nodes else "",
    )
    lines = [
        f"  {each['count']:,} × {each['kind']} {each['outcome']} · {each['reason']} · {each['tokens']:,} tokens"
        for each in account
    ]
    return answered(
        "\n".join([head, *lines]), {**whole, "account": account, "node": node.local_id, "tree": tree.id}
    )


def _account(manifest: Manifest) -> list[dict[str, Any]]:
    """What became of the pieces and why, those alike together: short, however long the path is."""
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for entry in manifest:
        told = (entry.kind.value, entry.outcome.value, entry.reason)
        row = rows.setdefault(
            told,
            {
                "kind": told[0],
                "outcome": told[1],
                "reason": told[2],
                "count": 0,
                "tokens": 0,
                "first": entry.id,
            },
        )
        row["count"] += entry.count
        row["tokens"] += entry.tokens
        row["last"] = entry.last or entry.id
    return list(rows.values())


async def _help(given: _HelpArguments, caller: ToolCaller) -> CallToolResult:
    """What would work: by the same rights that the operations ask for."""
    mine, crossing = await caller.in_thread(lambda: _rights(caller.grove))
    denied = refusal(CATALOG["help"], mine)
    if denied is not None:
        raise denied
    others = [each for each in GROVE_TOOLS if each.name != "help"]
    allowed = sorted(mine)
    if given.command is None:
        named = (
            f"  {each.name} · {each.title.lower()}"
            + ("" if each.permission in mine else f" (not permitted: {each.permission} not enabled)")
            for each in others
        )
        return answered("\n".join([help_text(mine, crossing=crossing), *named]), {"permissions": allowed})
    name = given.command.strip().removeprefix("→").strip()
    for each in others:
        if each.name == name:
            fact = "permitted by" if each.permission in mine else "not permitted:"
            told = f"{fact} {each.permission}{'' if each.permission in mine else ' not enabled'}"
            return answered(
                "\n".join([done(each.name, each.description), f"  {told}"]), {"permissions": allowed}
            )
    return answered(help_on(name, mine, crossing=crossing), {"permissions": allowed})


def _rights(grove: Grove) -> tuple[frozenset[Permission], bool]:
    """What may be done, and whether a tree may be left."""
    with grove.read.store.read() as session:
        return permissions_of(session, grove.read.actor), may_cross(session, grove.read.actor)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"


def _made(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {} for name in names}, "required": list(names)}


GROVE_TOOLS: tuple[GroveTool, ...] = (
    GroveTool(
        name="trees",
        title="List trees",
        description="The trees of this grove, the newest first.",
        permission=Permission.LOOM_AWARE,
        taken=_Page,
        output=_listing("trees"),
        run=_trees,
    ),
    GroveTool(
        name="new_tree",
        title="Plant a tree",
        description="Begin a conversation or a text.",
        permission=Permission.LOOM_WRITE,
        taken=_NewTree,
        output=_made("id", "title", "root", "mode", "uri"),
        run=_new_tree,
        writes=True,
    ),
    GroveTool(
        name="documents",
        title="List documents",
        description="The documents of this grove, the newest first.",
        permission=Permission.DOC_READ,
        taken=_Page,
        output=_listing("documents"),
        run=_documents,
    ),
    GroveTool(
        name="new_document",
        title="Begin a document",
        description="A new document; `link` it to a node or tree to read and write it there.",
        permission=Permission.DOC_WRITE,
        taken=_NewDocument,
        output=_made("id", "title", "revision", "uri"),
        run=_new_document,
        writes=True,
    ),
    GroveTool(
        name="agents",
        title="List agents",
        description="People and models that take part, for `continue`.",
        permission=Permission.LOOM_AWARE,
        taken=Arguments,
        output=_made("agents"),
        run=_agents,
    ),
    GroveTool(
        name="context",
        title="What a model would see",
        description="Exactly what a model would be sent at a node, with the account of what was left out and why.",
        permission=Permission.LOOM_AWARE,
        taken=_Seen,
        output=_made("tokens", "account", "node", "tree"),
        run=_context,
    ),
    GroveTool(
        name="help",
        title="Help",
        description="What you may do here, and how.",
        permission=Permission.LOOM_AWARE,
        taken=_HelpArguments,
        output=_made("permissions"),
        run=_help,
    ),
)
