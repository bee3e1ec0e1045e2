"""Trees and nodes: list, plant, read a path, say something, see a context."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.requests import Request

from weft.errors import InvalidInputError
from weft.server.dependencies import ERRORS, Asking, answer_of, answered, body_of
from weft.server.wire import JsonAnswer, read_object
from weft.tree.content import Content, can_be_kept, content_from_wire
from weft.tree.json import JsonObject, JsonValue

router = APIRouter(prefix="/api/trees", tags=["trees"], responses=ERRORS)

_TEXT = {"type": "string"}
_PLANT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": _TEXT,
        "text": _TEXT,
        "mode": {"enum": ["dialogue", "buffer"]},
        "systemContext": _TEXT,
        "description": _TEXT,
    },
}
_SAY: dict[str, Any] = {
    "type": "object",
    "required": ["content"],
    "properties": {
        "content": {"anyOf": [_TEXT, {"type": "object", "description": "Any content of the tree."}]},
        "author": {"type": "string", "description": "The agent that said it; else whoever asks."},
    },
}
_FOLD: dict[str, Any] = {
    "type": "object",
    "required": ["first", "last", "name"],
    "properties": {
        "first": {"type": "string", "description": "The range's upper end."},
        "last": {"type": "string", "description": "Its lower end."},
        "name": {"type": "string", "minLength": 1, "maxLength": 200},
        "description": {"type": "string", "description": "Else how it begins and ends."},
    },
}
_OPENED: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "remove": {"type": "boolean"}},
}
TreeName = Annotated[str, Path(description="A tree's id.", min_length=1)]
NodeName = Annotated[str, Path(description="A node's id or local id.", min_length=1)]


def _text(body: JsonObject, name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a string", path=name)
    if value is not None and not can_be_kept(value):
        raise InvalidInputError(f"{name} has a NUL or half a character in it", path=name)
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
    "", operation_id="listTrees", summary="List trees", responses=answer_of("The trees.", trees="array")
)
async def list_trees(
    request: Request,
    caller: Asking,
    archived: Annotated[bool, Query()] = False,  # noqa: FBT002 - a query's switch
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> JsonAnswer:
    """The most recently changed first."""
    read = caller.grove.read
    return await answered(request, lambda: {"trees": read.trees(archived=archived, limit=limit)})


@router.post(
    "",
    operation_id="plantTree",
    summary="Plant a tree",
    openapi_extra=body_of(_PLANT, {"title": "Marie", "text": "Why does she hesitate?"}),
    responses=answer_of("The tree.", id="string", title="string", root="string"),
)
async def plant_tree(request: Request, caller: Asking) -> JsonAnswer:
    body = await read_object(request)
    title, text, mode = _text(body, "title"), _text(body, "text") or "", _text(body, "mode") or "dialogue"
    system, description = _text(body, "systemContext") or "", _text(body, "description") or ""
    plant = caller.grove.plant
    return await answered(
        request,
        lambda: plant(title, text, mode=mode, system_context=system, description=description).value,
    )


@router.get(
    "/{tree}/nodes/{node}/path",
    operation_id="readPath",
    summary="Read the path to a node",
    responses=answer_of("The nodes, root first.", nodes="array"),
)
async def read_path(
    request: Request,
    caller: Asking,
    tree: TreeName,
    node: NodeName,
    tail: Annotated[int, Query(ge=1, le=10_000, description="At most so many, from the end.")] = 1_000,
) -> JsonAnswer:
    read = caller.grove.read
    return await answered(request, lambda: {"nodes": read.path(tree, node, tail=tail).nodes})


@router.post(
    "/{tree}/nodes/{node}/children",
    operation_id="appendNode",
    summary="Say something below a node",
    openapi_extra=body_of(_SAY, {"content": "Because of the fog."}),
    responses=answer_of("The node.", id="string", localId="string", content="object"),
)
async def append_node(request: Request, caller: Asking, tree: TreeName, node: NodeName) -> JsonAnswer:
    body = await read_object(request)
    content, author = _content(body.get("content")), _text(body, "author")
    grove = caller.grove
    return await answered(request, lambda: grove.tree(tree).node(node).say(content, author=author).value)


@router.get(
    "/{tree}/nodes/{node}/context",
    operation_id="readContext",
    summary="What a model would see at a node",
    responses=answer_of(
        "The request, and the account of it.", messages="array", tokens="integer", manifest="object"
    ),
)
async def read_context(
    *,
    request: Request,
    caller: Asking,
    tree: TreeName,
    node: NodeName,
    limit: Annotated[int | None, Query(ge=0, le=2**53 - 1, description="The budget in tokens.")] = None,
    strategy: Annotated[str | None, Query()] = None,
) -> JsonAnswer:
    grove = caller.grove
    return await answered(
        request, lambda: grove.tree(tree).node(node).context(limit=limit, strategy=strategy).to_wire()
    )


@router.get(
    "/{tree}/groups",
    operation_id="listFolds",
    summary="List the folded ranges of a tree",
    responses=answer_of("The folded ranges.", groups="array"),
)
async def list_folds(request: Request, caller: Asking, tree: TreeName) -> JsonAnswer:
    read = caller.grove.read
    return await answered(request, lambda: {"groups": read.groups(tree)})


@router.post(
    "/{tree}/groups",
    operation_id="foldRange",
    summary="Fold a range of a path",
    openapi_extra=body_of(_FOLD),
    responses=answer_of("The folded range.", id="string", name="string", description="string"),
)
async def fold_range(request: Request, caller: Asking, tree: TreeName) -> JsonAnswer:
    """Contexts carry a placeholder in its place; the tree keeps every node."""
    body = await read_object(request)
    first, last, name = (_needed(body, each) for each in ("first", "last", "name"))
    description = _text(body, "description") or ""
    grove = caller.grove
    return await answered(request, lambda: grove.tree(tree).collapse(first, last, name, description))


@router.post(
    "/{tree}/groups/expand",
    operation_id="expandRange",
    summary="Show a folded range again, or forget it",
    openapi_extra=body_of(_OPENED),
    responses=answer_of("What is folded now.", groups="array"),
)
async def expand_range(request: Request, caller: Asking, tree: TreeName) -> JsonAnswer:
    body = await read_object(request)
    name, forget = _needed(body, "name"), body.get("remove", False)
    if not isinstance(forget, bool):
        raise InvalidInputError("remove must be true or false", path="remove")

    def work() -> object:
        handle = caller.grove.tree(tree)
        (handle.uncollapse if forget else handle.expand)(name)
        return {"groups": handle.groups}

    return await answered(request, work)


def _needed(body: JsonObject, name: str) -> str:
    found = _text(body, name)
    if not found:
        raise InvalidInputError(f"{name} is missing", path=name)
    return found
