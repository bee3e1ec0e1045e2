"""Trees and nodes: list, plant, read a path, add a node, show a context, collapse ranges."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request

from weft.argument_checks import Options, option
from weft.errors import InvalidInputError
from weft.runtime.runners.options import PreviewOptions
from weft.server.idempotency import KeyedRoute
from weft.server.query import query_of, read_query
from weft.server.wire import (
    BOOLEAN,
    ERRORS,
    TEXT,
    AuthenticatedClient,
    JsonAnswer,
    answer,
    body_of,
    object_of,
    operation,
    read_object,
    text,
)
from weft.tree.content import Content, content_from_wire, is_storable
from weft.tree.json import JsonObject, JsonValue

router = APIRouter(route_class=KeyedRoute, prefix="/api/trees", tags=["trees"], responses=ERRORS)

_PLANT = object_of(
    title=TEXT, text=TEXT, mode={"enum": ["dialogue", "buffer"]}, systemContext=TEXT, description=TEXT
)
_SAY = object_of(
    "content",
    content={"anyOf": [TEXT, {"type": "object", "description": "Any content of the tree."}]},
    author=text("The agent that wrote it; default: the client's own."),
)
_COLLAPSE = object_of(
    "first",
    "last",
    "name",
    first=text("The first node of the range."),
    last=text("The last node of the range."),
    name={"type": "string", "minLength": 1, "maxLength": 200},
    description=text("The placeholder's text; default: how the range begins and ends."),
)
_EXPAND = object_of("name", name=TEXT, remove=BOOLEAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeListOptions(Options):
    """Which trees are listed."""

    archived: bool = option(False, "Include archived trees.")
    limit: int = option(100, "How many trees, at most.", least=1, most=1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOptions(Options):
    """How much of a path is read."""

    tail: int = option(1_000, "The last N nodes.", least=1, most=10_000)


TreeId = Annotated[str, Path(description="A tree's id.", min_length=1)]
NodeId = Annotated[str, Path(description="A node's id or local id.", min_length=1)]


def _text(body: JsonObject, name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a string", path=name)
    if value is not None and not is_storable(value):
        raise InvalidInputError(f"{name} has a NUL or a lone surrogate", path=name)
    return value


def _required(body: JsonObject, name: str) -> str:
    value = _text(body, name)
    if not value:
        raise InvalidInputError(f"{name} is missing", path=name)
    return value


def _content(value: JsonValue) -> str | Content:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise InvalidInputError("content must be a string or an object", path="content")
    try:
        return content_from_wire(value)
    except InvalidInputError as error:
        raise InvalidInputError(f"content: {error.message}", hint=error.hint, path="content") from None


@router.get(
    "",
    **operation("listTrees", "List trees", "The trees.", trees="Tree[]"),
    openapi_extra=query_of(TreeListOptions),
)
async def list_trees(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """The most recently changed first."""
    options = read_query(request, TreeListOptions)
    read = client.grove.read
    return await answer(request, lambda: {"trees": read.trees(**options.keywords())})


@router.post(
    "",
    **operation("plantTree", "Plant a tree", "The tree.", "Tree"),
    openapi_extra=body_of(_PLANT, {"title": "Marie", "text": "Why does she hesitate?"}),
)
async def plant_tree(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    body = await read_object(request, required=True)
    title, first, mode = _text(body, "title"), _text(body, "text") or "", _text(body, "mode") or "dialogue"
    system, description = _text(body, "systemContext") or "", _text(body, "description") or ""
    plant = client.grove.plant
    return await answer(
        request,
        lambda: plant(title, first, mode=mode, system_context=system, description=description).value,
    )


@router.get(
    "/{tree}/nodes/{node}/path",
    **operation("readPath", "Read the path to a node", "The nodes, root first.", nodes="Node[]"),
    openapi_extra=query_of(PathOptions),
)
async def read_path(request: Request, client: AuthenticatedClient, tree: TreeId, node: NodeId) -> JsonAnswer:
    options = read_query(request, PathOptions)
    read = client.grove.read
    return await answer(request, lambda: {"nodes": read.path(tree, node, tail=options.tail).nodes})


@router.post(
    "/{tree}/nodes/{node}/children",
    **operation("appendNode", "Add a node below a node", "The node.", "Node"),
    openapi_extra=body_of(_SAY, {"content": "Because of the fog."}),
)
async def append_node(
    request: Request, client: AuthenticatedClient, tree: TreeId, node: NodeId
) -> JsonAnswer:
    body = await read_object(request)
    content, author = _content(body.get("content")), _text(body, "author")
    grove = client.grove
    return await answer(request, lambda: grove.tree(tree).node(node).say(content, author=author).value)


@router.get(
    "/{tree}/nodes/{node}/context",
    **operation(
        "readContext",
        "Show what a model would see at a node",
        "The request and its manifest.",
        messages="array",
        tokens="integer",
        manifest="object",
    ),
    openapi_extra=query_of(PreviewOptions),
)
async def read_context(
    request: Request, client: AuthenticatedClient, tree: TreeId, node: NodeId
) -> JsonAnswer:
    options = read_query(request, PreviewOptions)
    grove = client.grove
    return await answer(request, lambda: grove.tree(tree).node(node).context(**options.keywords()).to_wire())


@router.get(
    "/{tree}/groups",
    **operation(
        "listFolds", "List the collapsed ranges of a tree", "The collapsed ranges.", groups="CollapsedRange[]"
    ),
)
async def list_folds(request: Request, client: AuthenticatedClient, tree: TreeId) -> JsonAnswer:
    read = client.grove.read
    return await answer(request, lambda: {"groups": read.groups(tree)})


@router.post(
    "/{tree}/groups",
    **operation(
        "foldRange",
        "Collapse a range of a path",
        "The collapsed range.",
        id="string",
        name="string",
        description="string",
    ),
    openapi_extra=body_of(_COLLAPSE),
)
async def fold_range(request: Request, client: AuthenticatedClient, tree: TreeId) -> JsonAnswer:
    """Contexts have a placeholder in its place; the tree keeps every node."""
    body = await read_object(request)
    first, last, name = (_required(body, each) for each in ("first", "last", "name"))
    description = _text(body, "description") or ""
    grove = client.grove
    return await answer(request, lambda: grove.tree(tree).collapse(first, last, name, description))


@router.post(
    "/{tree}/groups/expand",
    **operation(
        "expandRange",
        "Expand a collapsed range, or delete it",
        "The collapsed ranges.",
        groups="CollapsedRange[]",
    ),
    openapi_extra=body_of(_EXPAND),
)
async def expand_range(request: Request, client: AuthenticatedClient, tree: TreeId) -> JsonAnswer:
    body = await read_object(request)
    name, remove = _required(body, "name"), body.get("remove", False)
    if not isinstance(remove, bool):
        raise InvalidInputError("remove must be true or false", path="remove")

    def work() -> object:
        handle = client.grove.tree(tree)
        (handle.uncollapse if remove else handle.expand)(name)
        return {"groups": handle.groups}

    return await answer(request, work)
