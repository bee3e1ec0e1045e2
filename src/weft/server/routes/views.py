"""Every view as a route: trees, nodes, documents, projects, agents, users, settings, evidence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from weft.argument_checks import Options, option
from weft.grove.grove import Grove
from weft.runtime.operations.references import TargetRef
from weft.runtime.search.options import SearchOptions
from weft.server.idempotency import KeyedRoute
from weft.server.json_fields import form_of
from weft.server.query import query_of, read_query
from weft.server.routes.operations import parameters_in, path_parameters, path_values, whole_number
from weft.server.wire import ERRORS, AuthenticatedClient, answer, compressed, operation
from weft.server.worker_threads import in_thread
from weft.tree.reference import TargetKind

router = APIRouter(route_class=KeyedRoute, prefix="/api", tags=["views"], responses=ERRORS)

_TREE, _NODE = "/trees/{tree}", "/trees/{tree}/nodes/{node}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedOptions(Options):
    """Whether what is archived is listed too."""

    archived: bool = option(False, "Include what is archived.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeOptions(Options):
    """Which nodes of the skeleton."""

    first: int = option(1, "The number of the first node.", least=1)
    last: int = option(1, "The number of the last node; at most 1,000 nodes.", least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkeletonOptions(Options):
    """How much of the skeleton."""

    first: int = option(
        1, "The number of the first node: a client that knows the others reads the rest.", least=1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineOptions(Options):
    """How much of the outline."""

    node: str | None = option(None, "Only below this node.")
    limit: int = option(2_000, "How many nodes, at most.", least=1, most=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions(Options):
    """Which operations of the history."""

    limit: int = option(50, "How many operations, at most.", least=1, most=1_000)
    before: int | None = option(None, "Only before this event.", least=1)
    agent: str | None = option(None, "Only what this agent did.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceOptions(Options):
    """What to compare a node with."""

    other: str = option("", "The other node.", least=1)
    paths: bool = option(False, "Compare the paths, not only the nodes.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionOptions(Options):
    """Which revision of a document."""

    revision: int | None = option(None, "The revision; default: the latest.", least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOptions(Options):
    """What is referred to."""

    kind: TargetKind | str = option(TargetKind.TREE, "node, tree or document.")
    name: str = option("", "Its id or title.", least=1)
    tree: str | None = option(None, "The tree of a node.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageOptions(Options):
    """What to look for in the notes of mounted vaults."""

    query: str = option("", "The question, or words of it.", least=1)
    vault: str | None = option(None, "Only in this vault.")
    limit: int = option(8, "How many passages, at most.", least=1, most=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalOptions(Options):
    """Which requests of agents."""

    tree: str | None = option(None, "Only in this tree.")
    decided: bool = option(False, "Include those that were decided in the last day.")


View = Callable[[Grove, dict[str, str], Any], object]


@dataclass(frozen=True, slots=True)
class ViewRoute:
    """Where a view is read."""

    path: str
    name: str
    summary: str
    read: View
    fields: dict[str, str] | str
    """The fields of the answer with their types; or what the answer is."""
    options: type[Options] | None = None
    etag: View | None = None
    """What the answer depends on: a client that has it already is told so."""


def _listed(name: str, read: View) -> View:
    return lambda grove, at, options: {name: read(grove, at, options)}


def _target(options: TargetOptions) -> TargetRef:
    return TargetRef(form_of(TargetKind).read(options.kind, "kind"), options.name, options.tree)


def _passages(grove: Grove, options: PassageOptions) -> object:
    vaults = None if options.vault is None else [options.vault]
    passages, warnings, semantic = grove.vaults.search(options.query, vaults=vaults, limit=options.limit)
    return {
        "passages": [
            {
                "id": each.item.id,
                "vault": each.vault,
                "path": each.source,
                "title": each.title,
                "headings": list(each.headings),
                "startLine": each.start,
                "endLine": each.end,
                "text": each.text,
                "score": each.score,
            }
            for each in passages
        ],
        "warnings": list(warnings),
        "semantic": semantic,
    }


_OBJECT = {"id": "string"}
VIEWS: tuple[ViewRoute, ...] = (
    ViewRoute(_TREE, "readTree", "Read a tree", lambda grove, at, _: grove.read.tree(at["tree"]), "Tree"),
    ViewRoute(
        f"{_TREE}/skeleton",
        "readSkeleton",
        "Read the shape of a tree",
        lambda grove, at, o: grove.read.skeleton(at["tree"], first=o.first),
        "Skeleton",
        SkeletonOptions,
        etag=lambda grove, at, o: f"{grove.read.revision(at['tree'])}-{o.first}",
    ),
    ViewRoute(
        f"{_TREE}/nodes",
        "readNodes",
        "Read nodes by their numbers",
        _listed("nodes", lambda grove, at, o: grove.read.numbered(at["tree"], o.first, o.last)),
        {"nodes": "Node[]"},
        RangeOptions,
    ),
    ViewRoute(
        f"{_TREE}/outline",
        "readOutline",
        "Read the outline of a tree",
        _listed("rows", lambda grove, at, o: grove.read.outline(at["tree"], node=o.node, limit=o.limit)),
        {"rows": "array"},
        OutlineOptions,
    ),
    ViewRoute(
        f"{_TREE}/cursor",
        "readCursor",
        "Read your cursor in a tree",
        lambda grove, at, _: grove.read.cursor(at["tree"]),
        "Cursor",
    ),
    ViewRoute(
        f"{_TREE}/presence",
        "readPresence",
        "Read who is where in a tree",
        lambda grove, at, _: {
            "agents": [
                {"agent": agent, "node": node, "at": seen}
                for agent, node, seen in grove.read.presence(at["tree"])
            ]
        },
        {"agents": "array"},
    ),
    ViewRoute(
        f"{_TREE}/leaves",
        "readLeaves",
        "Read the leaves of a tree",
        _listed("nodes", lambda grove, at, _: grove.read.leaves(at["tree"])),
        {"nodes": "Node[]"},
    ),
    ViewRoute(
        f"{_TREE}/branch-points",
        "readBranchPoints",
        "Read the branch points of a tree",
        _listed("nodes", lambda grove, at, _: grove.read.branch_points(at["tree"])),
        {"nodes": "Node[]"},
    ),
    ViewRoute(
        f"{_TREE}/bookmarks",
        "readBookmarks",
        "Read the bookmarked nodes of a tree",
        _listed("nodes", lambda grove, at, _: grove.read.bookmarks(at["tree"])),
        {"nodes": "array"},
    ),
    ViewRoute(
        f"{_TREE}/history",
        "readTreeHistory",
        "Read the latest operations in a tree",
        _listed("entries", lambda grove, at, o: grove.read.history(at["tree"], **o.keywords())),
        {"entries": "HistoryEntry[]"},
        HistoryOptions,
    ),
    ViewRoute(
        f"{_TREE}/buffer",
        "readBuffer",
        "Read your uncommitted text in a tree",
        _listed("text", lambda grove, at, _: grove.read.working_buffer(at["tree"])),
        {"text": "string"},
    ),
    ViewRoute(
        _NODE,
        "readNode",
        "Read a node",
        lambda grove, at, _: grove.read.node(at["tree"], at["node"]),
        "Node",
    ),
    *(
        ViewRoute(
            f"{_NODE}/{name}",
            f"read{name.title()}",
            f"Read the {name} of a node",
            _listed(
                "nodes", lambda grove, at, _, name=name: getattr(grove.read, name)(at["tree"], at["node"])
            ),
            {"nodes": "Node[]"},
        )
        for name in ("children", "siblings", "versions")
    ),
    ViewRoute(
        f"{_NODE}/annotations",
        "readAnnotations",
        "Read the annotations of a node",
        _listed("nodes", lambda grove, at, _: grove.read.children(at["tree"], at["node"], annotations=True)),
        {"nodes": "Node[]"},
    ),
    ViewRoute(
        f"{_NODE}/authorship",
        "readAuthorship",
        "Read who wrote which characters of a node",
        _listed("spans", lambda grove, at, _: grove.read.authorship(at["tree"], at["node"])),
        {"spans": "AuthorSpan[]"},
    ),
    ViewRoute(
        f"{_NODE}/diff",
        "compareNodes",
        "Compare two nodes",
        lambda grove, at, o: grove.read.difference(at["tree"], at["node"], o.other, paths=o.paths),
        "Difference",
        DifferenceOptions,
    ),
    ViewRoute(
        f"{_NODE}/provenance",
        "readProvenance",
        "Read where a node comes from",
        lambda grove, at, _: grove.evidence.provenance(at["tree"], at["node"]),
        "Provenance",
    ),
    ViewRoute(
        "/history",
        "readHistory",
        "Read the latest operations in the grove itself",
        _listed("entries", lambda grove, _, o: grove.read.history(None, **o.keywords())),
        {"entries": "HistoryEntry[]"},
        HistoryOptions,
    ),
    ViewRoute(
        "/documents",
        "listDocuments",
        "List documents",
        _listed("documents", lambda grove, _, o: grove.read.documents(archived=o.archived, contents=False)),
        {"documents": "Document[]"},
        ArchivedOptions,
    ),
    ViewRoute(
        "/documents/{document}",
        "readDocument",
        "Read a document",
        lambda grove, at, o: grove.read.document(at["document"], o.revision),
        "Document",
        RevisionOptions,
        etag=lambda grove, at, o: grove.read.document(at["document"], o.revision).revision,
    ),
    ViewRoute(
        "/documents/{document}/revisions",
        "listRevisions",
        "List the revisions of a document",
        _listed("revisions", lambda grove, at, _: grove.read.revisions(at["document"])),
        {"revisions": "Revision[]"},
    ),
    ViewRoute(
        "/projects",
        "listProjects",
        "List projects",
        _listed("projects", lambda grove, _, o: grove.read.projects(archived=o.archived)),
        {"projects": "Project[]"},
        ArchivedOptions,
    ),
    ViewRoute(
        "/projects/{project}",
        "readProject",
        "Read a project",
        lambda grove, at, o: grove.read.project(at["project"], o.revision),
        "Project",
        RevisionOptions,
    ),
    ViewRoute(
        "/vaults",
        "listVaults",
        "List mounted vaults",
        _listed("vaults", lambda grove, _at, _: [each.value for each in grove.vaults.all()]),
        {"vaults": "Vault[]"},
    ),
    ViewRoute(
        "/tools",
        "listTools",
        "List the tools of a turn",
        _listed("tools", lambda grove, _at, _: [each.described() for each in grove.tools]),
        {"tools": "array"},
    ),
    ViewRoute(
        "/approvals",
        "listApprovals",
        "List what agents wait for a person to allow",
        _listed("approvals", lambda grove, _, o: grove.approvals.all(o.tree, decided=o.decided)),
        {"approvals": "array"},
        ApprovalOptions,
    ),
    ViewRoute(
        "/approvals/{approval}",
        "readApproval",
        "Read what an agent asked for, and what became of it",
        lambda grove, at, _: grove.approvals[at["approval"]],
        _OBJECT,
    ),
    ViewRoute(
        f"{_TREE}/grants",
        "listGrants",
        "List what agents may do in a tree without being asked",
        _listed("grants", lambda grove, at, _: grove.approvals.grants(at["tree"])),
        {"grants": "array"},
    ),
    ViewRoute(
        f"{_TREE}/results/{{number}}",
        "readToolResult",
        "Read a tool's result that was put aside",
        _listed(
            "text",
            lambda grove, at, _: grove.read.tool_result(at["tree"], whole_number(at["number"], "number")),
        ),
        {"text": "string"},
    ),
    ViewRoute(
        "/vaults/{vault}",
        "readVaultStatus",
        "Read how much of a vault is indexed, and what was skipped",
        lambda grove, at, _: grove.vaults[at["vault"]].status(),
        _OBJECT,
    ),
    ViewRoute(
        "/passages",
        "searchNotes",
        "Find passages of notes about a question",
        lambda grove, _, o: _passages(grove, o),
        {"passages": "array", "warnings": "array", "semantic": "boolean"},
        PassageOptions,
    ),
    ViewRoute(
        "/agents",
        "listAgents",
        "List agents",
        _listed("agents", lambda grove, _, o: grove.read.agents(archived=o.archived)),
        {"agents": "Agent[]"},
        ArchivedOptions,
    ),
    ViewRoute(
        "/agents/{agent}",
        "readAgent",
        "Read an agent",
        lambda grove, at, _: grove.read.agent(at["agent"]),
        "Agent",
    ),
    ViewRoute("/me", "readMe", "Read the agent that you are", lambda grove, _at, _: grove.me, "Agent"),
    ViewRoute(
        "/users",
        "listUsers",
        "List users",
        _listed("users", lambda grove, _, o: grove.users.list(archived=o.archived)),
        {"users": "User[]"},
        ArchivedOptions,
    ),
    ViewRoute(
        "/users/{user}/roles",
        "listRoles",
        "List the roles of a user",
        _listed("roles", lambda grove, at, _: grove.users.roles(at["user"])),
        {"roles": "Membership[]"},
    ),
    ViewRoute(
        "/users/{user}/tokens",
        "listTokens",
        "List the tokens of a user, without their secrets",
        _listed("tokens", lambda grove, at, _: grove.users.tokens(at["user"])),
        {"tokens": "Token[]"},
    ),
    ViewRoute(
        "/preferences",
        "readPreferences",
        "Read the grove's preferences",
        _listed("preferences", lambda grove, _at, _: dict(grove.preferences)),
        {"preferences": "object"},
    ),
    ViewRoute(
        "/links",
        "listLinks",
        "List the links of a node, tree or document",
        _listed("links", lambda grove, _, o: grove.read.links(_target(o))),
        {"links": "Link[]"},
        TargetOptions,
    ),
    ViewRoute(
        "/tags",
        "listTags",
        "List the tags of a node, tree or document; without a name, all tags of the grove",
        _listed("tags", lambda grove, _, o: grove.read.tags(_target(o) if o.name else None)),
        {"tags": "Tag[]"},
        TargetOptions,
    ),
    ViewRoute(
        "/search",
        "search",
        "Search the grove",
        lambda grove, _, o: _found(grove, o),
        {"hits": "Hit[]", "complete": "boolean"},
        SearchOptions,
    ),
)


def _found(grove: Grove, options: SearchOptions) -> object:
    from weft.runtime.search.search import search  # noqa: PLC0415 - loads the search when it is first used

    hits = search(grove.caller.store, grove.caller.actor, options)
    return {"hits": hits.hits, "nextOffset": hits.next_offset, "complete": hits.complete}


def _add(view: ViewRoute) -> None:
    names = parameters_in(view.path)

    async def endpoint(request: Request, client: AuthenticatedClient) -> Response:
        at = path_values(request)
        options = None if view.options is None else read_query(request, view.options)
        etag = view.etag
        if etag is None:
            return await answer(request, lambda: view.read(client.grove, at, options))
        tag = await in_thread(request, lambda: f'"{etag(client.grove, at, options)}"')
        if tag in {each.strip() for each in request.headers.get("if-none-match", "").split(",")}:
            return Response(status_code=304, headers={"ETag": tag})
        response = await answer(request, lambda: view.read(client.grove, at, options))
        # A browser may keep it, and asks whether it is still the same.
        response.headers.update({"ETag": tag, "Cache-Control": "private, no-cache"})
        return await in_thread(request, lambda: compressed(request, response))

    query: dict[str, Any] = {"parameters": []} if view.options is None else query_of(view.options)
    router.add_api_route(
        view.path,
        endpoint,
        methods=["GET"],
        **_described(view),
        openapi_extra={"parameters": [*path_parameters(names), *query["parameters"]]},
    )


def _described(view: ViewRoute) -> dict[str, Any]:
    if isinstance(view.fields, str):
        return operation(view.name, view.summary, "The answer.", view.fields)
    return operation(view.name, view.summary, "The answer.", **view.fields)


for _view in VIEWS:
    _add(_view)
