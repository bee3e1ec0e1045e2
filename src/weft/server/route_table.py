"""Routes that call one function of the grove: path, query and body are read, checked and described alike."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from weft.argument_checks import Options
from weft.grove.grove import Grove
from weft.server.query import body_schema, query_of, read_body, read_query
from weft.server.routes.operations import parameters_in, path_parameters, path_values
from weft.server.wire import AuthenticatedClient, JsonAnswer, Schema, answer, body_of, described, read_object

Work = Callable[[Grove, dict[str, str], Any], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRoute:
    """One route of a table."""

    method: str = "GET"
    path: str
    name: str
    summary: str
    answers: Schema
    """The schema of the answer."""
    work: Work
    """Called with the grove, what the path names, and the options of the query or of the body."""
    options: type[Options] | None = None
    example: dict[str, Any] | None = None
    status: int = 200


def add_routes(router: APIRouter, *routes: TableRoute) -> None:
    for route in routes:
        _add(router, route)


def _add(router: APIRouter, route: TableRoute) -> None:
    options, writes = route.options, route.method != "GET"

    async def endpoint(request: Request, client: AuthenticatedClient) -> JsonAnswer:
        at, chosen = path_values(request), None
        if options is not None:
            chosen = (
                read_body(await read_object(request), options) if writes else read_query(request, options)
            )
        response = await answer(request, lambda: route.work(client.grove, at, chosen))
        response.status_code = route.status
        return response

    endpoint.__doc__ = route.work.__doc__
    extra: dict[str, Any] = {"parameters": path_parameters(parameters_in(route.path))}
    if options is not None and not writes:
        extra["parameters"] += query_of(options)["parameters"]
    if writes:
        schema = {"type": "object"} if options is None else body_schema(options)
        extra |= body_of(schema, route.example)
        extra["requestBody"]["required"] = bool(schema.get("required"))
    router.add_api_route(
        route.path,
        endpoint,
        methods=[route.method],
        status_code=route.status,
        **described(route.name, route.summary, "The answer.", route.answers, route.status),
        openapi_extra=extra,
    )
