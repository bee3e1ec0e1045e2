"""Recipes and collapsed groups: the endpoints that clients of the context service call."""

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import APIRouter
from starlette.requests import Request

from weft.argument_checks import Options, option
from weft.context.recipes.filters.pipeline import FilterError
from weft.context.recipes.group_index import read_removal_request
from weft.errors import WeftError
from weft.runtime.records.group_index import GroupIndex
from weft.server.idempotency import KeyedRoute
from weft.server.query import query_of, read_query
from weft.server.wire import (
    BOOLEAN,
    ERRORS,
    NAME,
    NUMBER,
    TEXT,
    AuthenticatedClient,
    JsonAnswer,
    answer,
    answer_error,
    array,
    body_of,
    error_body,
    object_of,
    operation,
    read_object,
    text,
)
from weft.tree.json import JsonObject, JsonValue

router = APIRouter(route_class=KeyedRoute, tags=["recipes"], responses=ERRORS)

_KALA = object_of(
    "kind",
    kind=NAME,
    sessionId=TEXT,
    topicId=TEXT,
    end=NUMBER,
    windowSeconds=NUMBER,
    sessionEnd=NUMBER,
    weekEnd=NUMBER,
    begin=NUMBER,
    treeId=TEXT,
    nodeId=TEXT,
)
_COMPONENT = object_of(
    "kind",
    kind={"enum": ["yoj", "ista", "literal"]},
    name=TEXT,
    framing=TEXT,
    value=TEXT,
    children=array({"type": "object"}, maxItems=128),
)
_FILTER = {"anyOf": [TEXT, object_of("name", name=TEXT, options={"type": "object"})]}
_MODEL = object_of(
    intro=object_of(system=TEXT),
    promoteUpstream=BOOLEAN,
    components=array(_COMPONENT, maxItems=128),
    filters=array(_FILTER),
)
_RECIPE = object_of(
    "kala",
    userId=text("For service tokens: the user of the records."),
    projectId=TEXT,
    kala=_KALA,
    model=_MODEL,
    presetId=TEXT,
    includeDocId=BOOLEAN,
    onFilterError={"enum": ["fail", "skip"]},
)
_GROUP = object_of(
    name=TEXT,
    description=TEXT,
    items=array(object_of(type={"enum": ["message", "collapsed"]}, id=TEXT)),
)
_INDEX = object_of(
    "sessionId",
    userId=TEXT,
    sessionId=NAME,
    responseId=TEXT,
    groups=array(_GROUP),
    includeResponseToGroups=BOOLEAN,
)
_STATE = object_of(
    "sessionId",
    "group",
    "expanded",
    userId=TEXT,
    sessionId=NAME,
    group=NAME,
    expanded=BOOLEAN,
    responseId=TEXT,
)
_REMOVAL = object_of("sessionId", "responseId", userId=TEXT, sessionId=NAME, responseId=NAME)
_EXAMPLE = {
    "kala": {"kind": "SegKala", "sessionId": "s1", "end": 1700000000, "windowSeconds": 3600},
    "presetId": "TopicContext",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOptions(Options):
    """Whose records a request is about."""

    user: str | None = option(None, "For service tokens: the user of the records.", wire="userId")


_USER = query_of(UserOptions)


def _named(request: Request, body: JsonObject) -> JsonValue:
    """The user that a service names: in the body, the query or a header."""
    named = body.get("userId") or read_query(request, UserOptions).user
    return named or request.headers.get("x-user-id")


async def _recipe_answer(request: Request, work: Callable[[], object]) -> JsonAnswer:
    try:
        return await answer(request, work)
    except FilterError as error:
        return JsonAnswer(error_body(error, "model."), status_code=error.row.http)


@router.post(
    "/context/topicContextYoj/run",
    **operation("runRecipe", "Run a recipe", "The messages.", yoj="array"),
    openapi_extra=body_of(_RECIPE, _EXAMPLE) | _USER,
)
async def run_recipe(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """The messages that a recipe makes from a user's records, or from a path of a tree."""
    body = await read_object(request)
    user = client.known_user(_named(request, body))
    run = client.grove.recipes.run
    return await _recipe_answer(request, lambda: {"yoj": run(body, user=user).messages})


@router.post(
    "/api/recipes/run",
    **operation(
        "explainRecipe",
        "Run a recipe, with its manifest",
        "The messages, the manifest and the steps.",
        messages="array",
        manifest="object",
        steps="array",
    ),
    openapi_extra=body_of(_RECIPE, _EXAMPLE) | _USER,
)
async def explain_recipe(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """The same, with every source and what each filter did."""
    body = await read_object(request)
    user = client.known_user(_named(request, body))

    def work() -> dict[str, object]:
        done = client.grove.recipes.run(body, user=user)
        return {
            "messages": list(done.messages),
            "manifest": done.manifest.to_wire(),
            "steps": [step.to_wire() for step in done.steps],
        }

    return await _recipe_answer(request, work)


async def _indexed(
    request: Request,
    client: AuthenticatedClient,
    act: Callable[[GroupIndex, JsonObject, str | None], JsonObject],
) -> JsonAnswer:
    """Answers of the index have `ok`, errors too."""
    try:
        body = await read_object(request)
        user = client.known_user(_named(request, body))
        return await answer(request, lambda: act(client.grove.groups, body, user))
    except WeftError as error:
        return answer_error(error, {"ok": False})


@router.post(
    "/jobs/context/collapse/indexer/run",
    **operation(
        "indexGroups",
        "Index collapsed groups",
        "The numbers of what was indexed.",
        ok="boolean",
        indexed_groups="integer",
        indexed_messages="integer",
        batches="integer",
    ),
    openapi_extra=body_of(_INDEX) | _USER,
)
async def index_groups(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """Index the given groups, or those of a response in the session's stream `collapsed`."""
    return await _indexed(request, client, lambda groups, body, user: groups.index(body, user=user))


@router.post(
    "/context/collapse/state/set",
    **operation(
        "setGroupState",
        "Open or close a collapsed group",
        "The group.",
        ok="boolean",
        group="string",
        expanded="boolean",
        updated_at="number",
    ),
    openapi_extra=body_of(_STATE) | _USER,
)
async def set_group_state(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """Recipes show the messages of an open group, and the placeholder of a closed one."""
    return await _indexed(request, client, lambda groups, body, user: groups.set_state(body, user=user))


@router.post(
    "/context/collapse/indexer/remove",
    **operation(
        "removeGroups",
        "Remove a response's groups from the index",
        "The number of groups removed.",
        ok="boolean",
        removed_groups="integer",
    ),
    openapi_extra=body_of(_REMOVAL) | _USER,
)
async def remove_groups(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """Only groups that no later response has indexed again."""

    def remove(groups: GroupIndex, body: JsonObject, user: str | None) -> JsonObject:
        session, response = read_removal_request(body)
        return groups.remove(session, response, user=user)

    return await _indexed(request, client, remove)
