"""Generations and runs: they belong to the server, and any client with rights follows or stops them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from weft.argument_checks import Options, option
from weft.errors import InvalidInputError
from weft.grove.grove import Grove
from weft.grove.runs import CollaborationOptions
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.live.runs import KINDS
from weft.server.query import body_schema, query_of, read_body, read_query
from weft.server.routes.operations import path_parameters, path_values
from weft.server.routes.trees import TreeId
from weft.server.run_wire import RUN, run_to_wire
from weft.server.wire import (
    ERRORS,
    TEXT,
    AuthenticatedClient,
    JsonAnswer,
    Schema,
    answer,
    body_of,
    described,
    object_of,
    read_object,
)
from weft.server.worker_threads import in_thread
from weft.tree.json import JsonObject

router = APIRouter(prefix="/api", tags=["runs"], responses=ERRORS)

_BODY = body_schema(GenerationOptions)
for _name in ("idempotencyKey",):
    # It is a header.
    _BODY["properties"].pop(_name, None)
_ACCEPTED = object_of("run", run=RUN)
_TEXT = object_of(
    *("attempt", "choice", "kind", "offset", "end", "text", "status"),
    attempt=TEXT,
    choice={"type": "integer"},
    kind={"enum": list(KINDS)},
    offset={"type": "integer"},
    end={"type": "integer"},
    text=TEXT,
    status=TEXT,
    node={"anyOf": [TEXT, {"type": "null"}]},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunListOptions(Options):
    """Which runs are listed."""

    tree: str | None = option(None, "Only of this tree.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions(Options):
    """Which steps of a run."""

    after: int = option(0, "Only after this step.", least=0)
    limit: int = option(1_000, "How many steps, at most.", least=1, most=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptTextOptions(Options):
    """Which text of an attempt."""

    offset: int = option(0, "From this character on.", least=0)
    choice: int = option(0, "Of this choice of the call.", least=0)
    kind: str = option("text", "text or thinking.")


def generation_options(body: JsonObject) -> GenerationOptions:
    if "idempotencyKey" in body:
        raise InvalidInputError(
            "idempotencyKey is a header here", hint="send it as Idempotency-Key", path="idempotencyKey"
        )
    return read_body(body, GenerationOptions)


async def _generate(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """The generation goes on when the client leaves: follow it on /api/events, or read its text."""
    at = path_values(request)
    options = generation_options(await read_object(request))

    def work() -> JsonAnswer:
        run = client.grove.runs.generate(at["tree"], at.get("node"), options)
        return JsonAnswer({"run": run_to_wire(run)}, status_code=202)

    return await in_thread(request, work)


_COLLABORATE = body_schema(CollaborationOptions)


@router.post(
    "/trees/{tree}/collaborate",
    status_code=202,
    **described(
        "collaborate", "Let a collaborator work on something", "The run, which goes on.", _ACCEPTED, 202
    ),
    openapi_extra=body_of(_COLLABORATE, {"text": "Look around.", "agent": "Muse"}),
)
async def collaborate(request: Request, client: AuthenticatedClient, tree: TreeId) -> JsonAnswer:
    """A loom-aware agent answers in turns, with commands in between, which `turn` events tell."""
    options = read_body(await read_object(request), CollaborationOptions)

    def work() -> JsonAnswer:
        run = client.grove.runs.collaborate(tree, options)
        return JsonAnswer({"run": run_to_wire(run)}, status_code=202)

    return await in_thread(request, work)


for _path, _named, _where in (
    ("/trees/{tree}/generate", "generateAtCursor", "at your cursor"),
    ("/trees/{tree}/nodes/{node}/generate", "generate", "below a node"),
):
    router.add_api_route(
        _path,
        _generate,
        methods=["POST"],
        status_code=202,
        **described(_named, f"Generate continuations {_where}", "The run, which goes on.", _ACCEPTED, 202),
        openapi_extra={
            "parameters": path_parameters(["tree", *(["node"] if "{node}" in _path else [])]),
            **body_of(_BODY, {"n": 2}),
        },
    )


def _read_route(
    path: str,
    name: str,
    summary: str,
    schema: Schema,
    read: Callable[[Grove, dict[str, str], Any], object],
    *,
    method: str = "GET",
    options: type[Options] | None = None,
) -> None:
    async def endpoint(request: Request, client: AuthenticatedClient) -> JsonAnswer:
        at = path_values(request)
        chosen = None if options is None else read_query(request, options)
        return await answer(request, lambda: read(client.grove, at, chosen))

    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    query: list[dict[str, Any]] = [] if options is None else query_of(options)["parameters"]
    body = {} if method == "GET" else body_of(object_of())
    if body:
        body["requestBody"]["required"] = False
    router.add_api_route(
        path,
        endpoint,
        methods=[method],
        **described(name, summary, "The answer.", schema),
        openapi_extra={"parameters": [*path_parameters(names), *query], **body},
    )


_read_route(
    "/runs",
    "listRuns",
    "List the runs under way",
    object_of("runs", runs={"type": "array", "items": RUN}),
    lambda grove, _, o: {"runs": [run_to_wire(run) for run in grove.runs.active(o.tree)]},
    options=RunListOptions,
)
_read_route(
    "/runs/{run}", "readRun", "Read a run", RUN, lambda grove, at, _: run_to_wire(grove.runs.read(at["run"]))
)
_read_route(
    "/runs/{run}/steps",
    "readRunSteps",
    "Read what a collaborator's or a runner's run did",
    object_of("steps", steps={"type": "array", "items": {"type": "object"}}),
    lambda grove, at, o: {"steps": grove.runs.steps(at["run"], o.after, o.limit)},
    options=StepOptions,
)
_read_route(
    "/runs/{run}/stop",
    "stopRun",
    "Stop a run",
    RUN,
    lambda grove, at, _: run_to_wire(grove.runs.stop(at["run"])),
    method="POST",
)
_read_route(
    "/attempts/{attempt}/stop",
    "stopAttempt",
    "Stop one call of a run",
    RUN,
    lambda grove, at, _: run_to_wire(grove.runs.stop_attempt(at["attempt"])),
    method="POST",
)


def _text(grove: Grove, attempt: str, options: AttemptTextOptions) -> object:
    if options.kind not in KINDS:
        raise InvalidInputError("kind must be text or thinking", path="kind")
    return grove.runs.text(attempt, offset=options.offset, choice=options.choice, kind=options.kind)


_read_route(
    "/attempts/{attempt}/text",
    "readAttemptText",
    "Read the text of an attempt from an offset on",
    _TEXT,
    lambda grove, at, o: _text(grove, at["attempt"], o),
    options=AttemptTextOptions,
)
