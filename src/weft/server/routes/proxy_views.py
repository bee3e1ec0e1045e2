"""What the proxy recorded: sessions, their requests, what compactions lost, and the policies of tokens."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request

from weft.argument_checks import Options, option
from weft.runtime.proxy.sessions import ProxyRecords
from weft.server.auth import Client
from weft.server.query import query_of, read_query
from weft.server.routes.proxy import ProxyService
from weft.server.routes.trees import TreeId
from weft.server.wire import ERRORS, AuthenticatedClient, JsonAnswer, answer, operation

router = APIRouter(prefix="/api", tags=["proxy"], responses=ERRORS)
SessionId = Annotated[int, Path(description="A session's number.", ge=1, le=2**31 - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySessionOptions(Options):
    """Which sessions are listed."""

    limit: int = option(100, "How many sessions, at most.", least=1, most=1_000)
    before: int | None = option(None, "Only sessions with a lower number: the next page.", least=1)
    tree: str | None = option(None, "Only sessions in this tree.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequestOptions(Options):
    """Which requests of a session are listed."""

    limit: int = option(200, "How many requests, at most.", least=1, most=1_000)
    after: int = option(0, "Only requests with a higher number: the next page.", least=0)


def _records(client: Client) -> ProxyRecords:
    return ProxyRecords(client.grove.caller)


@router.get(
    "/proxy",
    **operation(
        "readProxy",
        "Show how the proxy is used",
        "Figures of the last day, the policy of each token, and what could not be recorded.",
        day="object",
        tokens="array",
        notRecorded="array",
    ),
)
async def read_proxy(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    service: ProxyService = request.app.state.proxy
    failures = [
        each for each in service.recorder.failures if client.name is None or each.token == client.token_key
    ]

    def work() -> object:
        usage = _records(client).usage()
        return {"day": usage.day, "tokens": usage.tokens, "notRecorded": failures}

    return await answer(request, work)


@router.get(
    "/proxy/sessions",
    **operation("listProxySessions", "List sessions of the proxy", "The newest first.", sessions="array"),
    openapi_extra=query_of(ProxySessionOptions),
)
async def list_sessions(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """Sessions of sub-agents name the session and the call that started them."""
    options = read_query(request, ProxySessionOptions)
    return await answer(request, lambda: {"sessions": _records(client).sessions(**options.keywords())})


@router.get(
    "/proxy/sessions/{session}",
    **operation(
        "readProxySession", "Show a session of the proxy", "The session.", id="integer", client="string"
    ),
)
async def read_session(request: Request, client: AuthenticatedClient, session: SessionId) -> JsonAnswer:
    return await answer(request, lambda: _records(client).session(session))


@router.get(
    "/proxy/sessions/{session}/requests",
    **operation("listProxyRequests", "List the requests of a session", "In order.", requests="array"),
    openapi_extra=query_of(ProxyRequestOptions),
)
async def list_requests(request: Request, client: AuthenticatedClient, session: SessionId) -> JsonAnswer:
    """Side requests are among them, marked by their purpose."""
    options = read_query(request, ProxyRequestOptions)
    records = _records(client)
    return await answer(request, lambda: {"requests": records.requests(session, **options.keywords())})


@router.get(
    "/trees/{tree}/compactions",
    **operation(
        "listCompactions",
        "Show what a client's own compactions lost",
        "The compactions of the tree, each with its ledger.",
        compactions="array",
    ),
)
async def list_compactions(request: Request, client: AuthenticatedClient, tree: TreeId) -> JsonAnswer:
    """Exact texts are compared: paths, ids, numbers and errors that the summary lacks."""
    return await answer(request, lambda: {"compactions": _records(client).compactions(tree)})
