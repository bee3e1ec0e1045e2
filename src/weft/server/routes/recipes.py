"""The two endpoints that clients of such a service call, and the state of groups beside them."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from weft.context.filters.pipeline import FilterError
from weft.context.group_index import read_removal_request
from weft.errors import WeftError
from weft.runtime.records.group_index import GroupIndex
from weft.server.dependencies import ERRORS, Asking, answer_of, answered, body_of
from weft.server.wire import JsonAnswer, answer_error, error_body, read_object
from weft.tree.json import JsonObject, JsonValue

router = APIRouter(tags=["recipes"], responses=ERRORS)

_KALA: dict[str, Any] = {
    "type": "object",
    "required": ["kind"],
    "properties": {
        "kind": {"type": "string", "minLength": 1},
        "sessionId": {"type": "string"},
        "topicId": {"type": "string"},
        "end": {"type": "number"},
        "windowSeconds": {"type": "number"},
        "sessionEnd": {"type": "number"},
        "weekEnd": {"type": "number"},
        "begin": {"type": "number"},
        "treeId": {"type": "string"},
        "nodeId": {"type": "string"},
    },
}
_COMPONENT: dict[str, Any] = {
    "type": "object",
    "required": ["kind"],
    "properties": {
        "kind": {"enum": ["yoj", "ista", "literal"]},
        "name": {"type": "string"},
        "framing": {"type": "string"},
        "value": {"type": "string"},
        "children": {"type": "array", "maxItems": 128, "items": {"type": "object"}},
    },
}
_FILTER: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "options": {"type": "object"}},
        },
    ]
}
RECIPE: dict[str, Any] = {
    "type": "object",
    "required": ["kala"],
    "properties": {
        "userId": {"type": "string", "description": "For service tokens: whose records."},
        "projectId": {"type": "string"},
        "kala": _KALA,
        "model": {
            "type": "object",
            "properties": {
                "intro": {"type": "object", "properties": {"system": {"type": "string"}}},
                "promoteUpstream": {"type": "boolean"},
                "components": {"type": "array", "maxItems": 128, "items": _COMPONENT},
                "filters": {"type": "array", "items": _FILTER},
            },
        },
        "presetId": {"type": "string"},
        "includeDocId": {"type": "boolean"},
        "onFilterError": {"enum": ["fail", "skip"]},
    },
}
_GROUP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"type": {"enum": ["message", "collapsed"]}, "id": {"type": "string"}},
            },
        },
    },
}
_INDEX: dict[str, Any] = {
    "type": "object",
    "required": ["sessionId"],
    "properties": {
        "userId": {"type": "string"},
        "sessionId": {"type": "string", "minLength": 1},
        "responseId": {"type": "string"},
        "groups": {"type": "array", "items": _GROUP},
        "includeResponseToGroups": {"type": "boolean"},
    },
}
_STATE: dict[str, Any] = {
    "type": "object",
    "required": ["sessionId", "group", "expanded"],
    "properties": {
        "userId": {"type": "string"},
        "sessionId": {"type": "string", "minLength": 1},
        "group": {"type": "string", "minLength": 1},
        "expanded": {"type": "boolean"},
        "responseId": {"type": "string"},
    },
}
_REMOVAL: dict[str, Any] = {
    "type": "object",
    "required": ["sessionId", "responseId"],
    "properties": {
        "userId": {"type": "string"},
        "sessionId": {"type": "string", "minLength": 1},
        "responseId": {"type": "string", "minLength": 1},
    },
}
_EXAMPLE = {
    "kala": {"kind": "SegKala", "sessionId": "s1", "end": 1700000000, "windowSeconds": 3600},
    "presetId": "TopicContext",
}


def _named(request: Request, body: JsonObject) -> JsonValue:
    """The user that a service names: in the body, the query or a header."""
    return body.get("userId") or request.query_params.get("userId") or request.headers.get("x-user-id")


async def _followed(request: Request, work: Callable[[], object]) -> JsonAnswer:
    try:
        return await answered(request, work)
    except FilterError as error:
        return JsonAnswer(error_body(error, "model."), status_code=error.row.http)


@router.post(
    "/context/topicContextYoj/run",
    operation_id="runRecipe",
    summary="Follow a recipe",
    openapi_extra=body_of(RECIPE, _EXAMPLE),
    responses=answer_of("The messages.", yoj="array"),
)
async def run_recipe(request: Request, caller: Asking) -> JsonAnswer:
    """The messages that a recipe makes of a user's records, or of a path of a tree."""
    body = await read_object(request)
    user = caller.known_user(_named(request, body))
    run = caller.grove.recipes.run
    return await _followed(request, lambda: {"yoj": run(body, user=user).messages})


@router.post(
    "/api/recipes/run",
    operation_id="explainRecipe",
    summary="Follow a recipe, with the account of it",
    openapi_extra=body_of(RECIPE, _EXAMPLE),
    responses=answer_of(
        "The messages, and how they came to be these.", messages="array", manifest="object", steps="array"
    ),
)
async def explain_recipe(request: Request, caller: Asking) -> JsonAnswer:
    """The same with its manifest: every source, and what each filter did."""
    body = await read_object(request)
    user = caller.known_user(_named(request, body))

    def work() -> dict[str, object]:
        done = caller.grove.recipes.run(body, user=user)
        return {
            "messages": list(done.messages),
            "manifest": done.manifest.to_wire(),
            "steps": [step.to_wire() for step in done.steps],
        }

    return await _followed(request, work)


async def _indexed(
    request: Request, caller: Asking, act: Callable[[GroupIndex, JsonObject, str | None], JsonObject]
) -> JsonAnswer:
    """Answers of the index say `ok`, also where they are errors."""
    try:
        body = await read_object(request)
        user = caller.known_user(_named(request, body))
        return await answered(request, lambda: act(caller.grove.groups, body, user))
    except WeftError as error:
        return answer_error(error, {"ok": False})


@router.post(
    "/jobs/context/collapse/indexer/run",
    operation_id="indexGroups",
    summary="Index collapsed groups",
    openapi_extra=body_of(_INDEX),
    responses=answer_of(
        "How much was indexed.",
        ok="boolean",
        indexed_groups="integer",
        indexed_messages="integer",
        batches="integer",
    ),
)
async def index_groups(request: Request, caller: Asking) -> JsonAnswer:
    """Index the groups given, or those of a response kept in the session's stream `collapsed`."""
    return await _indexed(request, caller, lambda groups, body, user: groups.index(body, user=user))


@router.post(
    "/context/collapse/state/set",
    operation_id="setGroupState",
    summary="Open or close a collapsed group",
    openapi_extra=body_of(_STATE),
    responses=answer_of(
        "The group as it is now.", ok="boolean", group="string", expanded="boolean", updated_at="number"
    ),
)
async def set_group_state(request: Request, caller: Asking) -> JsonAnswer:
    """An open group's messages are shown themselves; a closed one's placeholder is."""
    return await _indexed(request, caller, lambda groups, body, user: groups.set_state(body, user=user))


@router.post(
    "/context/collapse/indexer/remove",
    operation_id="removeGroups",
    summary="Take a response's groups out of the index",
    openapi_extra=body_of(_REMOVAL),
    responses=answer_of("How many groups it had.", ok="boolean", removed_groups="integer"),
)
async def remove_groups(request: Request, caller: Asking) -> JsonAnswer:
    """As far as they still are its own: the last response to index a name has it."""

    def remove(groups: GroupIndex, body: JsonObject, user: str | None) -> JsonObject:
        session, response = read_removal_request(body)
        return groups.remove(session, response, user=user)

    return await _indexed(request, caller, remove)
