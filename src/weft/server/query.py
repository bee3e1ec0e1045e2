"""Query options: one options class reads, checks and describes the query of a route."""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from starlette.requests import Request

from weft.argument_checks import LazyCheck, Options, OptionSpec, check_option, option_checks, refuse_unknown
from weft.errors import InvalidInputError
from weft.tree.json import camel

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
_INTEGER = re.compile(r"-?[0-9]{1,400}")


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
                    "name": _wire(name, spec),
                    "in": "query",
                    "required": defaults[name] is MISSING,
                    "description": spec.help,
                    **(form if schema.get("type") == "object" else {"schema": schema}),
                }
            )
    return {"parameters": parameters}


def read_query(request: Request, options: type[T]) -> T:
    """The options that a query gives; an error names the parameter."""
    required = {each.name for each in fields(options) if each.default is MISSING}
    given: dict[str, Any] = {}
    for name, (check, spec) in option_checks(options).items():
        wire = _wire(name, spec)
        texts = request.query_params.getlist(wire)
        if texts:
            given[name] = next(filter(check, _readings(texts)), texts[0])
            if len(texts) > 1 and given[name] is texts[0]:
                raise InvalidInputError(f"{wire} is given {len(texts)} times", hint="give it once", path=wire)
            check_option(wire, given[name], check, spec)
        elif name in required:
            raise InvalidInputError(f"{wire} is missing", hint=spec.help, path=wire)
    return options(**given)


def refuse_unknown_query(request: Request) -> None:
    """Raise for a query parameter that the description of the route does not name."""
    described: dict[str, Any] = getattr(request.scope.get("route"), "openapi_extra", None) or {}
    known = [each["name"] for each in described.get("parameters", ())]
    refuse_unknown(request.query_params, known, "query parameter")


def _readings(texts: Sequence[str]) -> Iterator[object]:
    """What the texts of one parameter can mean, the narrowest type first; the option's type decides."""
    if len(texts) == 1:
        text = texts[0]
        if text in {"true", "false"}:
            yield text == "true"
        if _INTEGER.fullmatch(text):
            yield int(text)
        with contextlib.suppress(ValueError):
            yield float(text)
        yield text
        if text.startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                yield json.loads(text)
    yield tuple(texts)


def _accepts(check: LazyCheck, probe: object) -> bool:
    # A number is offered once: a whole number if the option takes no other.
    return check(probe) and not (probe == 0 and check(0.5))


def _schema(schema: dict[str, Any], spec: OptionSpec) -> dict[str, Any]:
    bounds = zip(_BOUNDS.get(schema["type"], ()), (spec.least, spec.most), strict=False)
    return schema | {word: bound for word, bound in bounds if bound is not None}


def _wire(name: str, spec: OptionSpec) -> str:
    return spec.wire or camel(name)
