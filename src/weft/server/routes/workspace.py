"""What a client needs to work in a tree: opening it, drafts, read marks, plans of requests, media, exports."""

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, BinaryIO, cast

from fastapi import APIRouter, Path
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from weft.argument_checks import Options, option
from weft.errors import InvalidInputError, NotFoundError, WeftError
from weft.grove.grove import Grove
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.operations.permissions import tree_for
from weft.runtime.runners.options import PreviewOptions
from weft.runtime.transfer.tree_export import WRITERS, export_tree
from weft.runtime.views.opening import TreeOpener
from weft.server.idempotency import KeyedRoute
from weft.server.query import query_of, read_body, read_query
from weft.server.route_table import TableRoute, add_routes
from weft.server.routes.trees import TreeId
from weft.server.wire import (
    BOOLEAN,
    ERRORS,
    NUMBER,
    TEXT,
    AuthenticatedClient,
    JsonAnswer,
    array,
    described,
    object_of,
    reference_to,
)
from weft.server.worker_threads import in_thread
from weft.store.blobs import media_of_tree
from weft.tree.json import JsonValue

router = APIRouter(route_class=KeyedRoute, prefix="/api", tags=["workspace"], responses=ERRORS)

_TREE, _NODE = "/trees/{tree}", "/trees/{tree}/nodes/{node}"
_WHOLE = {"type": "integer"}
_PIECE = 64 * 1024
MediaRef = Annotated[str, Path(description="The ref of an image or a recording.", min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions(Options):
    """How much of a tree is opened."""

    node: str | None = option(None, "Open it at this node; default: at your cursor.")
    tail: int = option(60, "The last N nodes of the path.", least=1, most=1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftOptions(Options):
    """What is typed."""

    text: str = option("", "What is typed now; empty: nothing is.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(Options):
    """What was read."""

    nodes: tuple[str, ...] | None = option(None, "Ids of nodes; default: all of the tree.")
    read: bool = option(True, "False: they are to be read again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions(PreviewOptions):
    """What a request would be, with these settings."""

    first: int = option(0, "The first row of the manifest that is given.", least=0)
    rows: int = option(150, "How many rows of the manifest, at most.", least=0, most=10_000)
    agents: tuple[str, ...] = option((), "Several agents, to compare.")
    price: bool = option(False, "With the price and the cached share of n answers by each agent.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDiffOptions(ContextOptions):
    """What the request from a node is compared with."""

    other: str | None = option(None, "Another node of the tree; default: the same one.")
    other_settings: Mapping[str, object] | None = option(None, "Options of the other request.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(Options):
    """How a tree is written."""

    format: str = option("markdown", f"weft, or one of {', '.join(WRITERS)}.")
    node: str | None = option(None, "Only the path to this node.")


def _open(grove: Grove, at: dict[str, str], options: OpenOptions) -> object:
    """The tree with its counters, your cursor, and the end of the path with its texts and surroundings."""
    caller = grove.caller
    return TreeOpener(caller.store, caller.actor).open(at["tree"], options.node, tail=options.tail)


def _plan(grove: Grove, at: dict[str, str], options: PlanOptions) -> object:
    """What the next request would be, without its texts: for settings that are tried out."""
    given = options.keywords()
    page = {name: given.pop(name) for name in ("first", "rows", "agents", "price") if name in given}
    agents: tuple[str, ...] = page.get("agents", ())
    if agents and "agent" not in given:
        given["agent"] = agents[0]
    context = grove.tree(at["tree"]).node(at["node"]).context(**given)
    prediction = context.prediction
    first, count = page.get("first", 0), page.get("rows", 150)
    entries = context.manifest
    answer: dict[str, object] = {
        "tokens": context.tokens,
        "budget": context.budget,
        "truncated": context.truncated,
        "removedNodes": context.removed_nodes,
        "removedTokens": context.removed_tokens,
        "layers": [layer.to_line() for layer in context.layers],
        "agent": None if context.agent is None else context.agent.name,
        "model": context.provider or None,
        "cached": None if prediction is None else prediction.cached,
        "warnings": list(context.warnings),
        "hash": entries.facts.hash,
        "rows": [entry.to_wire() for entry in islice(entries, first, first + count)],
        "price": None,
    }
    if page.get("price"):
        answer["price"] = _price(grove, at, given, agents)
    return answer


def _price(grove: Grove, at: dict[str, str], given: dict[str, Any], agents: tuple[str, ...]) -> object:
    """What n answers of each agent cost at most, and how much of the request is cached already."""
    chosen: dict[str, Any] = {
        name: value for name, value in given.items() if name in GenerationOptions.specs()
    }
    if agents:
        chosen = {**chosen, "agents": agents, "agent": None}
    for name in ("text", "items"):
        # What is typed is priced with the request that it makes longer.
        chosen.pop(name, None)
    flight = grove.generations.preflight(at["tree"], at["node"], GenerationOptions(**chosen))
    return {
        "dollars": flight.dollars,
        "tokens": flight.tokens,
        "cachedShare": flight.cached_share,
        "agents": flight.agents,
    }


def _compare(grove: Grove, at: dict[str, str], options: ContextDiffOptions) -> object:
    """What the request would be, against that from another node or with other settings."""
    given = options.keywords()
    other, settings = given.pop("other", None), options_from_wire(given.pop("other_settings", None))
    tree = grove.tree(at["tree"])
    one = tree.node(at["node"]).context(**given)
    another = tree.node(other or at["node"]).context(**{**given, **settings})
    changes = one.diff(another)
    return {"changes": list(changes), "tokens": [one.tokens, another.tokens]}


def _keep_draft(grove: Grove, at: dict[str, str], options: DraftOptions) -> object:
    """It is yours alone, and stays until it becomes a node by generate, by commit, or by saying it."""
    return {"text": grove.drafts.keep(at["tree"], at["node"], options.text)}


def _commit_draft(grove: Grove, at: dict[str, str], _: object) -> object:
    """Make a node of what you are typing there."""
    return {"node": grove.drafts.commit(at["tree"], at["node"])}


def options_from_wire(settings: object) -> dict[str, Any]:
    """Options of a context as a query's JSON gives them."""
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        raise InvalidInputError("otherSettings must be an object", path="otherSettings")
    return read_body(cast("Mapping[str, JsonValue]", settings), ContextOptions).keywords()


_READ = object_of("read", "unread", read=TEXT, unread=_WHOLE)
_DRAFT = object_of("text", text=TEXT)
_PRICE = object_of(
    dollars={"anyOf": [TEXT, {"type": "null"}]},
    tokens=_WHOLE,
    cachedShare={"anyOf": [NUMBER, {"type": "null"}]},
    agents=array({"type": "object"}),
)
_PLAN = object_of(
    *("tokens", "budget", "truncated", "layers", "rows", "price", "cached", "hash"),
    tokens=_WHOLE,
    budget={"anyOf": [_WHOLE, {"type": "null"}]},
    truncated=BOOLEAN,
    removedNodes=_WHOLE,
    removedTokens=_WHOLE,
    layers=array({}),
    agent={"anyOf": [TEXT, {"type": "null"}]},
    model={"anyOf": [TEXT, {"type": "null"}]},
    cached={"anyOf": [_WHOLE, {"type": "null"}]},
    warnings=array(TEXT),
    hash=TEXT,
    rows=array({"type": "object"}),
    price={"anyOf": [_PRICE, {"type": "null"}]},
)
add_routes(
    router,
    TableRoute(
        path=f"{_TREE}/open",
        name="openTree",
        summary="Open a tree at your cursor",
        answers=reference_to("OpenedTree"),
        work=_open,
        options=OpenOptions,
    ),
    TableRoute(
        path=f"{_NODE}/plan",
        name="planRequest",
        summary="Plan the request from a node with live settings",
        answers=_PLAN,
        work=_plan,
        options=PlanOptions,
    ),
    TableRoute(
        path=f"{_NODE}/context/diff",
        name="compareContexts",
        summary="Compare two requests",
        answers=object_of("changes", "tokens", changes=array({"type": "object"}), tokens=array(_WHOLE)),
        work=_compare,
        options=ContextDiffOptions,
    ),
    TableRoute(
        path=f"{_TREE}/drafts",
        name="listDrafts",
        summary="List what you are typing in a tree",
        answers=object_of("drafts", drafts=array(reference_to("DraftText"))),
        work=lambda grove, at, _: {"drafts": grove.drafts.all(at["tree"])},
    ),
    TableRoute(
        path=f"{_NODE}/draft",
        name="readDraft",
        summary="Read what you are typing at a node",
        answers=_DRAFT,
        work=lambda grove, at, _: {"text": grove.drafts.read(at["tree"], at["node"])},
    ),
    TableRoute(
        method="PUT",
        path=f"{_NODE}/draft",
        name="keepDraft",
        summary="Keep what you are typing at a node",
        answers=_DRAFT,
        work=_keep_draft,
        options=DraftOptions,
        example={"text": "It was late, and"},
    ),
    TableRoute(
        method="POST",
        path=f"{_NODE}/draft/commit",
        name="commitDraft",
        summary="Make a node of what you are typing",
        answers=object_of("node", node={"anyOf": [reference_to("Node"), {"type": "null"}]}),
        work=_commit_draft,
    ),
    TableRoute(
        path=f"{_TREE}/read",
        name="readReadMarks",
        summary="Read what you have read of a tree",
        answers=_READ,
        work=lambda grove, at, _: grove.read_marks.state(at["tree"]),
    ),
    TableRoute(
        method="POST",
        path=f"{_TREE}/read",
        name="markRead",
        summary="Note what you have read",
        answers=_READ,
        work=lambda grove, at, o: grove.read_marks.mark(at["tree"], o.nodes, read=o.read),
        options=ReadOptions,
        example={"nodes": []},
    ),
)


@router.post(
    "/media",
    **described(
        "uploadMedia",
        "Upload an image or a recording",
        "The ref of what is stored.",
        object_of("ref", "bytes", ref=TEXT, bytes=_WHOLE),
    ),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload_media(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """The ref is the sha256 of the bytes: use it in the content of a node."""
    data = await request.body()
    if not data:
        raise InvalidInputError("the body is empty", hint="send the bytes as the body")
    ref = await in_thread(request, lambda: client.grove.put_blob(data))
    return JsonAnswer({"ref": ref, "bytes": len(data)})


@router.get(
    "/trees/{tree}/media/{ref}",
    operation_id="readMedia",
    summary="Read an image or a recording of a tree",
    response_class=Response,
    responses={200: {"description": "Its bytes.", "content": {"application/octet-stream": {}}}},
)
async def read_media(request: Request, client: AuthenticatedClient, tree: TreeId, ref: MediaRef) -> Response:
    """Only what nodes of the tree show."""
    grove = client.grove

    def work() -> bytes:
        with grove.caller.reading() as session:
            key = tree_for(session, grove.caller.actor, tree)
            if ref not in media_of_tree(session, key):
                raise NotFoundError("nothing in this tree shows this image or recording")
        return grove.blob(ref)

    data = await in_thread(request, work)
    headers = {"Cache-Control": "private, max-age=31536000, immutable", "ETag": f'"{ref}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    # Never as a page of this site, whatever the bytes are.
    headers["Content-Disposition"] = "attachment"
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.get(
    "/trees/{tree}/export",
    operation_id="exportTree",
    summary="Export a tree",
    response_class=StreamingResponse,
    responses={200: {"description": "The file.", "content": {"application/octet-stream": {}}}},
    openapi_extra=query_of(ExportOptions),
)
async def export(request: Request, client: AuthenticatedClient, tree: TreeId) -> Response:
    """In Weft's own JSON (`weft`), or in a format of another program; as a stream."""
    options = read_query(request, ExportOptions)
    grove = client.grove
    if options.format == "weft":
        if options.node is not None:
            raise InvalidInputError("the format weft is of whole trees", path="node")
        await in_thread(request, lambda: grove.read.tree(tree))
        pieces = _weft_file(grove, tree)
    else:
        texts = await in_thread(
            request, lambda: export_tree(grove.caller, tree, options.format, node=options.node)
        )
        pieces = (piece.encode("utf-8", "surrogatepass") for piece in texts)
    name = f"{tree[:60]}.{_EXTENSIONS.get(options.format, 'txt')}"
    safe = "".join(each if each.isascii() and (each.isalnum() or each in "-_.") else "_" for each in name)
    headers = {"Content-Disposition": f'attachment; filename="{safe}"'}
    return StreamingResponse(
        iterate_in_threadpool(pieces), media_type="application/octet-stream", headers=headers
    )


_EXTENSIONS = {
    "weft": "weft.json",
    "markdown": "md",
    "html": "html",
    "messages": "jsonl",
    "pairs": "jsonl",
    "chatgpt": "json",
    "open-webui": "json",
}


def _weft_file(grove: Grove, tree: str) -> Iterator[bytes]:
    """Piece by piece, through a pipe: the file is never whole in memory."""
    reading, writing = os.pipe()
    problems: list[WeftError] = []

    def write() -> None:
        with os.fdopen(writing, "wb") as file, contextlib.suppress(BrokenPipeError):
            try:
                grove.export(cast("BinaryIO", file), [tree])
            except WeftError as error:
                problems.append(error)

    thread = threading.Thread(target=write, name="weft-export", daemon=True)
    thread.start()
    with os.fdopen(reading, "rb") as file:
        while piece := file.read(_PIECE):
            yield piece
    thread.join()
    if problems:
        # The stream is cut: a client must not take half a file for a whole one.
        raise problems[0]
