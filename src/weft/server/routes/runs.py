"""Generations and runs: they belong to the server, and any client with rights follows or stops them."""

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.requests import Request

from weft.argument_checks import Options, option
from weft.errors import InvalidInputError
from weft.grove.grove import Grove
from weft.grove.runs import CollaborationOptions
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.live.runs import KINDS
from weft.server.idempotency import KeyedRoute
from weft.server.query import body_schema, read_body
from weft.server.route_table import TableRoute, add_routes
from weft.server.routes.operations import path_parameters, path_values
from weft.server.run_wire import ATTEMPT_TEXT, RUN, STEP, run_to_wire
from weft.server.wire import (
    ERRORS,
    AuthenticatedClient,
    JsonAnswer,
    array,
    body_of,
    described,
    object_of,
    read_object,
)
from weft.server.worker_threads import in_thread
from weft.tree.json import JsonObject

router = APIRouter(route_class=KeyedRoute, prefix="/api", tags=["runs"], responses=ERRORS)

_BODY = body_schema(GenerationOptions)
for _name in ("idempotencyKey",):
    # It is a header.
    _BODY["properties"].pop(_name, None)
_ACCEPTED = object_of("run", run=RUN)


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


def _text(grove: Grove, at: dict[str, str], options: AttemptTextOptions) -> object:
    """Offsets count characters, not bytes; the text so far while it comes, and of its node afterwards."""
    if options.kind not in KINDS:
        raise InvalidInputError("kind must be text or thinking", path="kind")
    return grove.runs.text(at["attempt"], offset=options.offset, choice=options.choice, kind=options.kind)


def _collaborate(grove: Grove, at: dict[str, str], options: CollaborationOptions) -> object:
    """A loom-aware agent answers in turns, with commands in between, which `turn` events tell."""
    return {"run": run_to_wire(grove.runs.collaborate(at["tree"], options.attended()))}


add_routes(
    router,
    TableRoute(
        method="POST",
        path="/trees/{tree}/collaborate",
        name="collaborate",
        summary="Let a collaborator work on something",
        answers=_ACCEPTED,
        work=_collaborate,
        options=CollaborationOptions,
        example={"text": "Look around.", "agent": "Muse"},
        status=202,
    ),
    TableRoute(
        path="/runs",
        name="listRuns",
        summary="List the runs under way",
        answers=object_of("runs", runs=array(RUN)),
        work=lambda grove, _, o: {"runs": [run_to_wire(run) for run in grove.runs.active(o.tree)]},
        options=RunListOptions,
    ),
    TableRoute(
        path="/runs/{run}",
        name="readRun",
        summary="Read a run",
        answers=RUN,
        work=lambda grove, at, _: run_to_wire(grove.runs.read(at["run"])),
    ),
    TableRoute(
        path="/runs/{run}/steps",
        name="readRunSteps",
        summary="Read what a collaborator's or a runner's run did",
        answers=object_of("steps", steps=array(STEP)),
        work=lambda grove, at, o: {"steps": grove.runs.steps(at["run"], o.after, o.limit)},
        options=StepOptions,
    ),
    TableRoute(
        method="POST",
        path="/runs/{run}/stop",
        name="stopRun",
        summary="Stop a run",
        answers=RUN,
        work=lambda grove, at, _: run_to_wire(grove.runs.stop(at["run"])),
    ),
    TableRoute(
        method="POST",
        path="/attempts/{attempt}/stop",
        name="stopAttempt",
        summary="Stop one call of a run",
        answers=RUN,
        work=lambda grove, at, _: run_to_wire(grove.runs.stop_attempt(at["attempt"])),
    ),
    TableRoute(
        path="/attempts/{attempt}/text",
        name="readAttemptText",
        summary="Read the text of an attempt from an offset on",
        answers=ATTEMPT_TEXT,
        work=_text,
        options=AttemptTextOptions,
    ),
)
