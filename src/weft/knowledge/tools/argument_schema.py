"""Arguments of a tool against its JSON Schema: tools of MCP servers and of plug-ins bring their own.

The library is `jsonschema`, which the MCP client needs anyway. A schema comes from outside: nothing is
fetched for it, and its regular expressions are not run, because one can stop the whole process.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from weft.errors import InvalidInputError
from weft.tree.json import JsonObject, JsonValue

_LONGEST = 300
"""Characters of the library's message; it quotes the value."""


def check_against_schema(name: str, schema: JsonObject, arguments: Mapping[str, JsonValue]) -> None:
    """Raise for arguments that do not match, or for a schema that cannot be used; the error names the field."""
    # Loaded by name: few tools bring a schema, and the library is only partly typed.
    library: Any = import_module("jsonschema")
    references: Any = import_module("referencing")
    checker = _validator(library)
    try:
        checker.check_schema(schema)
        errors = checker(schema, registry=references.Registry()).iter_errors(dict(arguments))
        error: Any = library.exceptions.best_match(errors)
    except (
        library.SchemaError,
        references.exceptions.Unresolvable,
        RecursionError,
        ValueError,
        TypeError,
    ) as problem:
        raise InvalidInputError(
            f"{name}: its argument schema cannot be used: {type(problem).__name__}",
            hint="the package or server that brings the tool has to correct it",
        ) from None
    if error is None:
        return
    path = ".".join(map(str, error.absolute_path))
    message = ": ".join(filter(None, [name, path, str(error.message)[:_LONGEST]]))
    properties = schema.get("properties")
    names = ", ".join(properties) if isinstance(properties, Mapping) and properties else "nothing"
    raise InvalidInputError(message, hint=f"it takes {names}"[:_LONGEST], path=path)


def _validator(library: Any) -> Any:
    newest = library.Draft202012Validator
    kept: Any = newest.VALIDATORS
    skipped = dict.fromkeys(("pattern", "patternProperties"), _skip)
    extra = {
        name: _without_patterns(kept[name]) for name in ("additionalProperties", "unevaluatedProperties")
    }
    return library.validators.extend(newest, {**skipped, **extra})


def _skip(*_given: object) -> Iterator[object]:
    return iter(())


def _without_patterns(rule: Any) -> Any:
    """The rule, where no patterns say which names it is about."""

    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return _skip() if "patternProperties" in schema else rule(validator, value, instance, schema)

    return check
