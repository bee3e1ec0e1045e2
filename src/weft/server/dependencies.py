"""What routes are made of: who asks, work in a thread, and what the document says of bodies."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Depends
from starlette.requests import Request

from weft.server.auth import Client, Door, token_in
from weft.server.wire import JsonAnswer

R = TypeVar("R")

_ERROR = {
    "type": "object",
    "required": ["error", "code"],
    "properties": {
        "error": {"type": "string", "description": "What went wrong, in a person's words."},
        "code": {"type": "string"},
        "path": {"type": "string", "description": "The field that is wrong."},
        "hint": {"type": "string", "description": "The way out."},
        "retry": {"type": "string"},
        "limit": {"type": "integer"},
        "got": {},
    },
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": said, "content": {"application/json": {"schema": _ERROR}}}
    for status, said in {
        400: "Bad input, with the path of the field.",
        401: "Nobody is known to be asking.",
        403: "Whoever asks may not.",
        404: "It does not exist.",
        409: "Somebody's change stands in the way.",
        413: "More than is taken at once.",
        422: "The part that may not be cut is larger than the budget.",
        503: "Something needed is not there just now.",
        507: "The database cannot keep it.",
    }.items()
}
"""What any route may answer."""


async def in_thread(request: Request, work: Callable[[], R]) -> R:
    """Run what asks the store in a worker thread, so that the loop goes on; few at a time."""
    limiter: CapacityLimiter = request.app.state.limiter
    return await anyio.to_thread.run_sync(work, limiter=limiter)


async def answered(request: Request, work: Callable[[], object]) -> JsonAnswer:
    """What the work comes to, as JSON: written in the thread too, for it may be much."""
    return await in_thread(request, lambda: JsonAnswer(work()))


async def _caller(request: Request) -> Client:
    door: Door = request.app.state.door
    token = token_in(request)
    return await in_thread(request, lambda: door.caller(token))


Asking = Annotated[Client, Depends(_caller)]
"""Whoever asks; nobody gets past without a token."""


def answer_of(description: str, /, **fields: str) -> dict[int | str, dict[str, Any]]:
    """An object with these fields (name → kind), for the document."""
    properties = {name: {"type": kind} for name, kind in fields.items()}
    schema = {"type": "object", "properties": properties, "required": sorted(fields)}
    return {200: {"description": description, "content": {"application/json": {"schema": schema}}}}


def body_of(schema: dict[str, Any], example: object = None) -> dict[str, Any]:
    """A body that we read ourselves, for the document."""
    content: dict[str, Any] = {"schema": schema}
    if example is not None:
        content["example"] = example
    return {"requestBody": {"required": True, "content": {"application/json": content}}}
