"""Records in and out."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request

from weft.errors import InvalidInputError, PermissionDeniedError
from weft.runtime.records.streams import APPEND_LIMIT, LIST_LIMIT
from weft.server.auth import Client
from weft.server.dependencies import ERRORS, Asking, answer_of, answered, body_of
from weft.server.wire import JsonAnswer, read_object
from weft.tree.json import JsonObject
from weft.tree.record import RecordDraft, draft_from_wire, record_to_wire

router = APIRouter(prefix="/api/records", tags=["records"], responses=ERRORS)

_RECORD: dict[str, Any] = {
    "type": "object",
    "required": ["name", "value"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The stream."},
        "value": {"description": "Any JSON value; a message, for `messages`."},
        "document": {"type": "object", "description": "All that is kept, where that is more."},
        "id": {"type": "string", "minLength": 1, "maxLength": 1000},
        "createTime": {"type": "number", "description": "Seconds since 1970."},
        "sessionId": {"type": "string", "minLength": 1},
        "topicId": {"type": "string", "minLength": 1},
        "projectId": {"type": "string", "minLength": 1},
        "userId": {"type": "string", "minLength": 1, "description": "For service tokens."},
        "cost": {},
        "execId": {},
    },
}
_BODY: dict[str, Any] = {
    "type": "object",
    "required": ["records"],
    "properties": {
        "userId": {"type": "string", "description": "For service tokens: whose records."},
        "records": {"type": "array", "minItems": 1, "maxItems": APPEND_LIMIT, "items": _RECORD},
    },
}
_EXAMPLE = {
    "records": [
        {"name": "messages", "sessionId": "s1", "value": {"role": "user", "content": "Can we cross?"}}
    ]
}


def _drafts(caller: Client, body: JsonObject) -> list[RecordDraft]:
    listed = body.get("records")
    if not isinstance(listed, list | tuple) or not listed:
        raise InvalidInputError("records must be an array of at least one record", path="records")
    default = caller.user_for(body.get("userId"))
    found: list[RecordDraft] = []
    for index, value in enumerate(listed):
        path = f"records[{index}]"
        draft = draft_from_wire(value, path, user=default)
        if draft.place.user != default:
            try:
                caller.user_for(draft.place.user)
            except PermissionDeniedError as error:
                raise PermissionDeniedError(f"{path}.userId: {error.message}", hint=error.hint) from None
        found.append(draft)
    return found


@router.post(
    "",
    operation_id="appendRecords",
    summary="Append records",
    openapi_extra=body_of(_BODY, _EXAMPLE),
    responses=answer_of("The records as they are kept.", records="array"),
)
async def append_records(request: Request, caller: Asking) -> JsonAnswer:
    """All or none. Appending the same again changes nothing; the same id with another value is a conflict."""
    body = await read_object(request)

    def work() -> JsonObject:
        kept = caller.grove.records.append_all(_drafts(caller, body))
        return {"records": [record_to_wire(record) for record in kept]}

    return await answered(request, work)


@router.get(
    "",
    operation_id="listRecords",
    summary="List a stream's records",
    responses=answer_of("The records, the oldest first.", records="array"),
)
async def list_records(
    *,
    request: Request,
    caller: Asking,
    name: Annotated[str, Query(min_length=1, max_length=200, description="The stream.")],
    userId: Annotated[str | None, Query(description="For service tokens.")] = None,  # noqa: N803 - the wire's word
    projectId: Annotated[str | None, Query()] = None,  # noqa: N803
    sessionId: Annotated[str | None, Query()] = None,  # noqa: N803
    topicId: Annotated[str | None, Query()] = None,  # noqa: N803
    begin: Annotated[float | None, Query(description="After this time.", allow_inf_nan=False)] = None,
    end: Annotated[float | None, Query(description="Up to and including this.", allow_inf_nan=False)] = None,
    after: Annotated[str | None, Query(description="The id of the last one seen.")] = None,
    limit: Annotated[int, Query(ge=1, le=LIST_LIMIT)] = 100,
    newest: Annotated[bool, Query(description="The newest first.")] = False,
    fallback: Annotated[
        bool, Query(description="Where there are none: the user's of no project, then nobody's.")
    ] = False,
) -> JsonAnswer:
    """Records with begin < time ≤ end."""
    user = caller.user_for(userId)

    def work() -> JsonObject:
        found = caller.grove.records.list(
            name,
            user=user,
            project=projectId,
            session=sessionId,
            topic=topicId,
            begin=begin,
            end=end,
            after=after,
            limit=limit,
            newest=newest,
            fallback=fallback,
        )
        return {"records": [record_to_wire(record) for record in found]}

    return await answered(request, work)


@router.get(
    "/streams",
    operation_id="listStreams",
    summary="List the streams of a user",
    responses=answer_of("The streams.", streams="array"),
)
async def list_streams(
    request: Request,
    caller: Asking,
    userId: Annotated[str | None, Query(description="For service tokens.")] = None,  # noqa: N803
    sessionId: Annotated[str | None, Query()] = None,  # noqa: N803
    topicId: Annotated[str | None, Query()] = None,  # noqa: N803
) -> JsonAnswer:
    """Each with how many records it has, and when the first and the last of them were made."""
    user = caller.user_for(userId)
    streams = caller.grove.records.streams
    return await answered(request, lambda: {"streams": streams(user=user, session=sessionId, topic=topicId)})
