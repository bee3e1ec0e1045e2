"""Tokens of users: an owner makes one, and its secret is answered once."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request

from weft.errors import InvalidInputError
from weft.server.wire import (
    BOOLEAN,
    ERRORS,
    TEXT,
    AuthenticatedClient,
    JsonAnswer,
    answer,
    body_of,
    object_of,
    operation,
    read_object,
)

router = APIRouter(prefix="/api/users", tags=["users"], responses=ERRORS)

_FIELDS = {"secret": "string", "token": "object"}
_BODY = object_of(label=TEXT, service=BOOLEAN)
UserName = Annotated[str, Path(description="A user's name or id.", min_length=1, max_length=200)]


@router.post(
    "/{user}/tokens",
    **operation("addToken", "Make a token for a user", "Its secret, once.", **_FIELDS),
    openapi_extra=body_of(_BODY, {"label": "laptop"}),
)
async def add_token(request: Request, client: AuthenticatedClient, user: UserName) -> JsonAnswer:
    body = await read_object(request)
    label, service = body.get("label", ""), body.get("service", False)
    if not isinstance(label, str) or not isinstance(service, bool):
        wrong = "service" if isinstance(label, str) else "label"
        raise InvalidInputError(
            f"{wrong} must be {'text' if wrong == 'label' else 'true or false'}", path=wrong
        )

    def work() -> object:
        secret, token = client.grove.users.issue(user, label=label, service=service)
        return {"secret": secret, "token": token}

    return await answer(request, work)
