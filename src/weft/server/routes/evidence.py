"""The evidence of a node as it is kept: request, response, probabilities of tokens, a bundle; statistics of a tree."""

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from weft.argument_checks import Options, option
from weft.errors import NotFoundError
from weft.grove.grove import Grove
from weft.server.query import query_of, read_query
from weft.server.routes.operations import path_parameters, path_values
from weft.server.wire import ERRORS, AuthenticatedClient, JsonAnswer, answer, operation
from weft.server.worker_threads import in_thread

router = APIRouter(prefix="/api/trees/{tree}", tags=["evidence"], responses=ERRORS)

_NODE = "/nodes/{node}"
_AT_NODE = {"parameters": path_parameters(["tree", "node"])}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsOptions(Options):
    """Which branch the statistics are of."""

    path: str | None = option(None, "The branch that ends at this node; default: where you are.")
    agent: str | None = option(None, "The agent whose settings are tried.")


def _as_kept(body: bytes | None, name: str) -> object:
    if body is None:
        raise NotFoundError(f"there is no {name}: no model wrote this node here")
    return {
        "text": body.decode("utf-8", "replace"),
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }


def _tokens(grove: Grove, tree: str, node: str) -> object:
    from weft.runtime.evidence.token_chances import tokens_of  # noqa: PLC0415 - read when it is looked at

    body = grove.evidence.raw_response(tree, node)
    return {"tokens": [] if body is None else tokens_of(body, grove.read.node(tree, node).text)}


@router.get(
    f"{_NODE}/request",
    **operation(
        "readRequest",
        "Read the request that a node answers, as it was sent",
        "The body of the request.",
        text="string",
        bytes="integer",
        sha256="string",
    ),
    openapi_extra=_AT_NODE,
)
async def read_request(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    at = path_values(request)
    return await answer(
        request, lambda: _as_kept(client.grove.evidence.request(at["tree"], at["node"]), "request")
    )


@router.get(
    f"{_NODE}/response",
    **operation(
        "readResponse",
        "Read the response that a node came from, as it was received",
        "The response, with its head where it is kept.",
        text="string",
        bytes="integer",
        sha256="string",
    ),
    openapi_extra=_AT_NODE,
)
async def read_response(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    at = path_values(request)
    return await answer(
        request, lambda: _as_kept(client.grove.evidence.raw_response(at["tree"], at["node"]), "response")
    )


@router.get(
    f"{_NODE}/tokens",
    **operation(
        "readTokens",
        "Read the probabilities of a node's tokens",
        "The tokens with their alternatives; none where none were asked for.",
        tokens="array",
    ),
    openapi_extra=_AT_NODE,
)
async def read_tokens(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    at = path_values(request)
    return await answer(request, lambda: _tokens(client.grove, at["tree"], at["node"]))


@router.get(
    f"{_NODE}/bundle",
    operation_id="readBundle",
    summary="Download everything needed to check a node elsewhere",
    responses={200: {"description": "The bundle.", "content": {"application/zip": {}}}},
    openapi_extra=_AT_NODE,
)
async def read_bundle(request: Request, client: AuthenticatedClient) -> Response:
    at = path_values(request)

    def work() -> Response:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bundle.zip"
            client.grove.evidence.write_bundle(at["tree"], at["node"], path)
            name = client.grove.read.node(at["tree"], at["node"]).local_id.replace("'", "-")
            headers = {"Content-Disposition": f'attachment; filename="weft-{name}.zip"'}
            return Response(path.read_bytes(), media_type="application/zip", headers=headers)

    return await in_thread(request, work)


@router.get(
    "/stats",
    **operation(
        "readStatistics",
        "Read what a tree's requests consisted of, and how much of them was cached",
        "Sums of all requests, of each branch, and what other settings would have cost.",
        requests="object",
        branches="array",
        unstable="array",
        variants="array",
        notes="array",
    ),
    openapi_extra={"parameters": [*path_parameters(["tree"]), *query_of(StatisticsOptions)["parameters"]]},
)
async def read_statistics(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    at, options = path_values(request), read_query(request, StatisticsOptions)

    def work() -> object:
        from weft.runtime.contexts.options import ContextOptions  # noqa: PLC0415 - loads with contexts
        from weft.runtime.contexts.statistics import tree_stats  # noqa: PLC0415

        chosen = None if options.agent is None else ContextOptions(agent=options.agent)
        return tree_stats(client.grove.layers, at["tree"], chosen, node=options.path)

    return await answer(request, work)
