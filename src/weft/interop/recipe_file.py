"""Recipe files: JSON or YAML."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn, cast

import yaml

from weft.errors import InvalidInputError, LimitExceededError
from weft.tree.json import JsonValue

LIMIT = 4 * 1024 * 1024
"""Characters. A recipe names its sources, it does not contain them."""
_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_FLOAT = "tag:yaml.org,2002:float"
_WITH_EXPONENT = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+\Z")


class _JsonLoader(yaml.SafeLoader):
    """YAML with the types of JSON: no aliases, which could expand without end, and no dates."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        events = cast("Any", self)
        if events.check_event(yaml.AliasEvent):
            line = events.peek_event().start_mark.line + 1
            raise InvalidInputError(f"line {line}: aliases are not supported")
        return super().compose_node(parent, index)


_JsonLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# The loader implements YAML 1.1, where 1e9 is a string; in JSON and YAML 1.2 it is a number.
for _first in "+-.0123456789":
    _JsonLoader.yaml_implicit_resolvers.setdefault(_first, []).append((_FLOAT, _WITH_EXPONENT))


def read_recipe_text(text: str) -> JsonValue:
    """Parse JSON or YAML. Errors name the line."""
    if len(text) > LIMIT:
        raise LimitExceededError(f"the recipe has {len(text):,} characters, the limit is {LIMIT:,}")
    try:
        # JSON is not quite a subset of YAML: tabs, lone surrogates and 1e9 differ.
        return cast("JsonValue", json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse))
    except (ValueError, RecursionError):
        return _read_yaml(text)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _read_yaml(text: str) -> JsonValue:
    try:
        return _json(cast("object", yaml.load(text, Loader=_JsonLoader)))  # noqa: S506 - a safe loader, and safer
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = "" if mark is None else f"line {mark.line + 1}: "
        raise InvalidInputError(f"{line}{error.problem or 'this is neither JSON nor YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"this is neither JSON nor YAML: {error}") from None


def _json(value: object) -> JsonValue:
    match value:
        case None | str() | bool() | int() | float():
            return value
        case list():
            return [_json(item) for item in cast("list[object]", value)]
        case dict():
            fields = cast("Mapping[object, object]", value)
            return {_name(name): _json(inner) for name, inner in fields.items()}
        case _:
            raise InvalidInputError(f"{type(value).__name__} is not allowed in a recipe")


def _name(name: object) -> str:
    return name if isinstance(name, str) else str(name).lower() if isinstance(name, bool) else str(name)
