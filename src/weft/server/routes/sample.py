"""The sample tree: planted on request, once."""

from fastapi import APIRouter
from starlette.requests import Request

from weft.sample.lowmoor import TITLE, plant_lowmoor
from weft.server.idempotency import KeyedRoute
from weft.server.wire import ERRORS, AuthenticatedClient, JsonAnswer, answer, operation
from weft.tree.tree import Tree

router = APIRouter(route_class=KeyedRoute, prefix="/api", tags=["trees"], responses=ERRORS)


@router.post(
    "/sample",
    **operation(
        "plantSample",
        "Plant the sample tree",
        "The sample tree: the one that is there, or a new one.",
        id="string",
        title="string",
    ),
)
async def plant_sample(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """A story in the making, with agents of its own, to walk through."""

    def work() -> Tree:
        known = next((tree for tree in client.grove.trees() if tree.title == TITLE), None)
        return (known or plant_lowmoor(client.grove)).value

    return await answer(request, work)
