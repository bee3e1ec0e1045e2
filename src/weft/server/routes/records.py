"""Records: append, list, streams."""

from dataclasses import replace

from fastapi import APIRouter
from starlette.requests import Request

from weft.errors import InvalidInputError, PermissionDeniedError
from weft.runtime.records.options import RecordListOptions, StreamListOptions
from weft.runtime.records.streams import APPEND_LIMIT
from weft.server.auth import Client
from weft.server.idempotency import KeyedRoute
from weft.server.query import query_of, read_query
from weft.server.wire import (
    ERRORS,
    NAME,
    AuthenticatedClient,
    JsonAnswer,
    answer,
    array,
    body_of,
    object_of,
    operation,
    read_object,
    text,
)
from weft.tree.json import JsonObject
from weft.tree.record import RecordDraft, draft_from_wire, record_to_wire

router = APIRouter(route_class=KeyedRoute, prefix="/api/records", tags=["records"], responses=ERRORS)

_RECORD = {
    **object_of(
        "name",
        "value",
        name=text("The stream.", minLength=1, maxLength=200),
        value={"description": "Any JSON value; a message, for `messages`."},
        document={"type": "object", "description": "The whole document, if it is more than the value."},
        id={"type": "string", "minLength": 1, "maxLength": 1000},
        createTime={"type": "number", "description": "Seconds since 1970."},
        sessionId=NAME,
        topicId=NAME,
        projectId=NAME,
        userId=text("For service tokens.", minLength=1),
        cost={},
        execId={},
    ),
    "additionalProperties": False,
}
_BODY = object_of(
    "records",
    userId=text("For service tokens: the user of the records."),
    records=array(_RECORD, minItems=1, maxItems=APPEND_LIMIT),
)
_EXAMPLE = {
    "records": [
        {"name": "messages", "sessionId": "s1", "value": {"role": "user", "content": "Can we cross?"}}
    ]
}


def _drafts(client: Client, body: JsonObject) -> list[RecordDraft]:
    listed = body.get("records")
    if not isinstance(listed, list | tuple) or not listed:
        raise InvalidInputError("records must be an array of at least one record", path="records")
    default = client.user_for(body.get("userId"))
    drafts: list[RecordDraft] = []
    for index, value in enumerate(listed):
        path = f"records[{index}]"
        draft = draft_from_wire(value, path, user=default)
        if draft.place.user != default:
            try:
                client.user_for(draft.place.user)
            except PermissionDeniedError as error:
                raise PermissionDeniedError(f"{path}.userId: {error.message}", hint=error.hint) from None
        drafts.append(draft)
    return drafts


@router.post(
    "",
    **operation("appendRecords", "Append records", "The stored records.", records="array"),
    openapi_extra=body_of(_BODY, _EXAMPLE),
)
async def append_records(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """All or none. Repeating it changes nothing; the same id with another value is a conflict."""
    body = await read_object(request)

    def work() -> JsonObject:
        records = client.grove.records.append_all(_drafts(client, body))
        return {"records": [record_to_wire(record) for record in records]}

    return await answer(request, work)


@router.get(
    "",
    **operation("listRecords", "List a stream's records", "The records, the oldest first.", records="array"),
    openapi_extra=query_of(RecordListOptions),
)
async def list_records(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """Records with begin < time ≤ end. Only a service token names the user."""
    options = read_query(request, RecordListOptions)
    keywords = replace(options, user=client.user_for(options.user)).keywords()
    records = client.grove.records
    return await answer(
        request, lambda: {"records": [record_to_wire(each) for each in records.list(**keywords)]}
    )


@router.get(
    "/streams",
    **operation("listStreams", "List a user's streams", "The streams.", streams="array"),
    openapi_extra=query_of(StreamListOptions),
)
async def list_streams(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """Each with the number of its records and the times of the first and the last."""
    options = read_query(request, StreamListOptions)
    keywords = replace(options, user=client.user_for(options.user)).keywords()
    streams = client.grove.records.streams
    return await answer(request, lambda: {"streams": streams(**keywords)})
