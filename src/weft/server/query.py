"""Query options: one options class reads, checks and describes the query of a route."""

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from starlette.requests import Request

from weft.argument_checks import (
    LazyCheck,
    Options,
    OptionSpec,
    option_checks,
    options_from_texts,
    refuse_unknown,
    wire_name,
)

T = TypeVar("T", bound=Options)

_PROBES: Sequence[tuple[dict[str, Any], object]] = (
    ({"type": "boolean"}, True),
    ({"type": "integer"}, 0),
    ({"type": "number"}, 0.5),
    ({"type": "string"}, ""),
    ({"type": "array", "items": {"type": "string"}}, ("",)),
    ({"type": "object"}, {"": ""}),
)
"""For each JSON type a value that an option of this type accepts."""
_BOUNDS = {
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
}


def query_of(options: type[Options]) -> dict[str, Any]:
    """Describe the query of a route: every option that a query can express."""
    defaults = {each.name: each.default for each in fields(options)}
    parameters: list[dict[str, Any]] = []
    for name, (check, spec) in option_checks(options).items():
        if schemas := [_schema(schema, spec) for schema, probe in _PROBES if _accepts(check, probe)]:
            schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
            form = {"content": {"application/json": {"schema": schema}}}
            parameters.append(
                {
                    "name": wire_name(name, spec),
                    "in": "query",
                    "required": defaults[name] is MISSING,
                    "description": spec.help,
                    **(form if schema.get("type") == "object" else {"schema": schema}),
                }
            )
    return {"parameters": parameters}


def read_query(request: Request, options: type[T]) -> T:
    """The options that a query gives; an error names the parameter."""
    return options_from_texts(options, request.query_params.multi_items())


def refuse_unknown_query(request: Request) -> None:
    """Raise for a query parameter that the description of the route does not name."""
    described: dict[str, Any] = getattr(request.scope.get("route"), "openapi_extra", None) or {}
    known = [each["name"] for each in described.get("parameters", ())]
    refuse_unknown(request.query_params, known, "query parameter")


def _accepts(check: LazyCheck, probe: object) -> bool:
    # A number is offered once: a whole number if the option takes no other.
    return check(probe) and not (probe == 0 and check(0.5))


def _schema(schema: dict[str, Any], spec: OptionSpec) -> dict[str, Any]:
    bounds = zip(_BOUNDS.get(schema["type"], ()), (spec.least, spec.most), strict=False)
    return schema | {word: bound for word, bound in bounds if bound is not None}
