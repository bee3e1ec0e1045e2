"""Providers, their keys and endpoints: for owners only. A key is written here and never read back."""

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request

from weft.errors import InvalidInputError, NotFoundError, StorageError
from weft.grove.grove import Grove
from weft.providers.keys import ADDRESSES, VARIABLES, FoundKey, Keys, host_of
from weft.providers.saved_endpoints import SavedEndpoints
from weft.runtime.operations.permissions import require_access
from weft.server.idempotency import KeyedRoute
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
from weft.tree.access import MemberRole
from weft.tree.json import JsonObject

router = APIRouter(route_class=KeyedRoute, prefix="/api", tags=["providers"], responses=ERRORS)

_LOCAL = "local"
ProviderName = Annotated[str, Path(description="A provider's name.", min_length=1, max_length=200)]
EndpointName = Annotated[str, Path(description="An endpoint's name.", min_length=1, max_length=200)]
_KEY = object_of("key", key=TEXT)
_ENDPOINT = object_of("name", "url", name=TEXT, url=TEXT, private=BOOLEAN, key=TEXT)


def _require_owner(grove: Grove) -> None:
    """Keys and addresses belong to the machine: who may set them may spend its owner's money."""
    with grove.caller.store.read() as session:
        require_access(session, grove.caller.actor, MemberRole.OWNER)


def _key(found: FoundKey | None) -> object:
    return None if found is None else {"place": found.place, "where": found.where, "host": found.host}


def _providers(grove: Grove) -> object:
    from weft.providers.compatible import Compatible  # noqa: PLC0415 - loads with the providers
    from weft.providers.local.engine import installed  # noqa: PLC0415 - as above

    _require_owner(grove)
    keys, endpoints = Keys(), SavedEndpoints()
    added: JsonObject = {}
    problem = keys.problem
    with suppress(StorageError):
        added = {name: each.url for name, each in endpoints.all().items()}
    return {
        "providers": [
            {"name": _LOCAL, "needsKey": False, "key": None, "installed": installed(), "url": None},
            *(
                {
                    "name": name,
                    "needsKey": True,
                    "key": _key(keys.place(name)),
                    "installed": True,
                    "url": ADDRESSES.get(name),
                }
                for name in sorted(VARIABLES)
            ),
        ],
        "endpoints": [
            {
                "name": name,
                "url": each.url,
                "private": each.private,
                "added": name in added,
                "key": _key(keys.place(name, host_of(each.url))),
            }
            for name, each in sorted(Compatible().endpoints().items())
        ],
        "problem": None if problem is None else problem.message,
    }


def _text(body: JsonObject, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{name} must be text", path=name)
    return value.strip()


@router.get(
    "/providers",
    **operation(
        "listProviders",
        "List providers and endpoints, and where their keys are",
        "Names, addresses and places of keys; no key.",
        providers="array",
        endpoints="array",
    ),
)
async def list_providers(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    return await answer(request, lambda: _providers(client.grove))


@router.put(
    "/providers/{provider}/key",
    **operation("setKey", "Keep the key of a provider", "Where it is kept.", place="string", where="string"),
    openapi_extra=body_of(_KEY, {"key": "…"}),
)
async def set_key(request: Request, client: AuthenticatedClient, provider: ProviderName) -> JsonAnswer:
    body = await read_object(request)

    def work() -> object:
        _require_owner(client.grove)
        if provider not in VARIABLES:
            raise NotFoundError(f"no provider {provider!r} needs a key")
        return _key(Keys().set(provider, _text(body, "key")))

    return await answer(request, work)


@router.post(
    "/providers/{provider}/key/remove",
    **operation("removeKey", "Forget the stored key of a provider", "Nothing."),
)
async def remove_key(request: Request, client: AuthenticatedClient, provider: ProviderName) -> JsonAnswer:
    def work() -> object:
        _require_owner(client.grove)
        Keys().delete(provider)
        return {}

    return await answer(request, work)


@router.post(
    "/endpoints",
    **operation(
        "addEndpoint", "Keep the address of an OpenAI-compatible server", "It.", name="string", url="string"
    ),
    openapi_extra=body_of(_ENDPOINT, {"name": "lab", "url": "https://lab.example/v1"}),
)
async def add_endpoint(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    body = await read_object(request)

    def work() -> object:
        _require_owner(client.grove)
        name, key = _text(body, "name"), body.get("key")
        added = SavedEndpoints().add(name, _text(body, "url"), private=body.get("private") is True)
        if isinstance(key, str) and key.strip():
            Keys().set(name, key, added.host)
        return {"name": name, "url": added.url, "private": added.private}

    return await answer(request, work)


@router.post(
    "/endpoints/{endpoint}/remove",
    **operation("removeEndpoint", "Remove an endpoint that was added, and its key", "Nothing."),
)
async def remove_endpoint(
    request: Request, client: AuthenticatedClient, endpoint: EndpointName
) -> JsonAnswer:
    def work() -> object:
        _require_owner(client.grove)
        removed = SavedEndpoints().remove(endpoint)
        with suppress(NotFoundError):
            Keys().delete(endpoint, removed.host)
        return {}

    return await answer(request, work)
