"""Sign in with a token in a browser, read who is signed in, sign out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from weft.errors import InvalidInputError
from weft.server.auth import COOKIE, COOKIE_DAYS, Authenticator, Client, token_in
from weft.server.wire import (
    ERRORS,
    TEXT,
    AuthenticatedClient,
    JsonAnswer,
    address_of,
    body_of,
    object_of,
    operation,
    read_object,
)
from weft.server.worker_threads import in_thread

router = APIRouter(prefix="/api/session", tags=["sessions"], responses=ERRORS)

_BODY = object_of("token", token=TEXT)


def set_cookie(request: Request, answer: Response, value: str) -> None:
    """Only this server reads it, only for requests of its own pages, and only over TLS if it came over TLS."""
    answer.set_cookie(
        COOKIE,
        value,
        max_age=COOKIE_DAYS * 24 * 3600,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )


@router.post(
    "",
    **operation("signIn", "Sign in", "Who is signed in; the cookie is set.", owner="boolean"),
    openapi_extra=body_of(_BODY, {"token": "weft_…"}),
)
async def sign_in(request: Request) -> JsonAnswer:
    """Exchange a token for a cookie of this browser, which has the same rights for 30 days."""
    token = (await read_object(request)).get("token")
    if not isinstance(token, str) or not token:
        raise InvalidInputError("token is missing", path="token")
    authenticator: Authenticator = request.app.state.authenticator

    def work() -> tuple[Client, str]:
        client = authenticator.client(token.strip(), address_of(request))
        return client, authenticator.open_session(client)

    client, cookie = await in_thread(request, work)
    answer = JsonAnswer(_described(client))
    set_cookie(request, answer, cookie)
    return answer


@router.get("", **operation("readSession", "Read who is signed in", "Who is signed in.", owner="boolean"))
async def read_session(client: AuthenticatedClient) -> JsonAnswer:
    """The user's name, or null for the grove's owner on this machine."""
    return JsonAnswer(_described(client))


@router.delete("", **operation("signOut", "Sign out", "The cookie is not accepted any more."))
async def sign_out(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """End this browser's session. A token that was not made by signing in stays valid: revoke it instead."""
    authenticator: Authenticator = request.app.state.authenticator
    cookie = request.cookies.get(COOKIE)
    if cookie and token_in(request) == cookie:
        await in_thread(request, lambda: authenticator.end_session(client, cookie))
    answer = JsonAnswer({})
    answer.delete_cookie(COOKIE, path="/")
    return answer


def _described(client: Client) -> dict[str, str | bool | None]:
    return {"user": client.name, "owner": client.admitted is None}
