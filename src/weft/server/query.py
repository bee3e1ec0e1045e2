"""Query options: one options class reads, checks and describes the query of a route."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from starlette.requests import Request

from weft.argument_checks import (
    LazyCheck,
    Options,
    OptionSpec,
    check_option,
    option_checks,
    options_from_texts,
    refuse_unknown,
    wire_name,
)
from weft.errors import InvalidInputError
from weft.tree.json import JsonValue

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
    parameters: list[dict[str, Any]] = []
    for name, schema, required, spec in _described(options):
        form = {"content": {"application/json": {"schema": schema}}}
        parameters.append(
            {
                "name": name,
                "in": "query",
                "required": required,
                "description": spec.help,
                **(form if schema.get("type") == "object" else {"schema": schema}),
            }
        )
    return {"parameters": parameters}


def body_schema(options: type[Options], **more: dict[str, Any]) -> dict[str, Any]:
    """Describe a JSON body: every option that JSON can express, and fields of the route's own."""
    described = list(_described(options))
    properties = {name: {**schema, "description": spec.help} for name, schema, _, spec in described}
    required = [name for name, _, needed, _ in described if needed]
    schema: dict[str, Any] = {"type": "object", "properties": {**properties, **more}}
    return {**schema, "required": required} if required else schema


def read_body(body: Mapping[str, JsonValue], options: type[T]) -> T:
    """The options that a body gives; an error names the field."""
    named = {wire_name(name, spec): name for name, (_, spec) in option_checks(options).items()}
    refuse_unknown(body, list(named), "field")
    read: dict[str, Any] = {}
    for wire, value in body.items():
        check, spec = option_checks(options)[named[wire]]
        read[named[wire]] = tuple(value) if isinstance(value, list) else value
        check_option(wire, read[named[wire]], check, spec)
    for name, _, needed, spec in _described(options):
        if needed and named[name] not in read:
            raise InvalidInputError(f"{name} is missing", hint=spec.help, path=name)
    return options(**read)


def _described(options: type[Options]) -> Iterator[tuple[str, dict[str, Any], bool, OptionSpec]]:
    """Of every option its name on the wire, its schema, whether it is required, and its description."""
    defaults = {each.name: each.default for each in fields(options)}
    for name, (check, spec) in option_checks(options).items():
        if schemas := [_schema(schema, spec) for schema, probe in _PROBES if _accepts(check, probe)]:
            schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
            yield wire_name(name, spec), schema, defaults[name] is MISSING, spec


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
