"""Run a tool: its output as a model would get it."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request

from weft.errors import InvalidInputError
from weft.server.idempotency import KeyedRoute
from weft.server.wire import (
    ERRORS,
    AuthenticatedClient,
    JsonAnswer,
    answer,
    body_of,
    object_of,
    operation,
    read_object,
    text,
)
from weft.tree.content import ToolCall, is_storable

router = APIRouter(route_class=KeyedRoute, prefix="/api/tools", tags=["tools"], responses=ERRORS)

_RUN = object_of(
    arguments={"type": "object", "description": "As the tool's schema says."},
    at=text(
        "The turn that it runs for: what is on its path is not found again, a large result is put aside."
    ),
)
ToolName = Annotated[str, Path(description="A tool's name.", min_length=1, max_length=200)]


@router.post(
    "/{tool}/run",
    **operation(
        "runTool",
        "Run a tool",
        "Its output.",
        name="string",
        content="string",
        attributes="object",
        sources="array",
        rendered="string",
    ),
    openapi_extra=body_of(_RUN, {"arguments": {"query": "the lamp"}}),
)
async def run_tool(request: Request, client: AuthenticatedClient, tool: ToolName) -> JsonAnswer:
    """Nobody can be asked over HTTP: a tool with effects runs only where its policy is allow."""
    body = await read_object(request)
    arguments, at = body.get("arguments") or {}, body.get("at")
    if not isinstance(arguments, Mapping):
        raise InvalidInputError("arguments must be an object", path="arguments")
    if at is not None and (not isinstance(at, str) or not is_storable(at)):
        raise InvalidInputError("at must be the id of a node", path="at")
    call = ToolCall(id="1", name=tool, arguments=dict(arguments))

    def work() -> object:
        output = client.grove.tools.run_all([call], at=at)[0]
        return {
            "name": output.name,
            "content": output.whole,
            "attributes": dict(output.attributes),
            "sources": [each._asdict() for each in output.sources],
            "rendered": output.render(),
        }

    return await answer(request, work)
