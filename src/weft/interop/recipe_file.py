"""A recipe as people write it: JSON or YAML."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn, cast

import yaml

from weft.errors import InvalidInputError, LimitExceededError
from weft.tree.json import JsonValue

__all__ = ["LIMIT", "read_recipe_text"]

LIMIT = 4 * 1024 * 1024
"""Characters: a recipe says where things are, it does not hold them."""
_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_FLOAT = "tag:yaml.org,2002:float"
_WITH_EXPONENT = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+\Z")


class _Plain(yaml.SafeLoader):
    """YAML that means JSON: no aliases, which could stand for endless text, and no dates."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        events = cast("Any", self)
        if events.check_event(yaml.AliasEvent):
            line = events.peek_event().start_mark.line + 1
            raise InvalidInputError(f"line {line}: aliases are not taken here")
        return super().compose_node(parent, index)


_Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# The loader is of a YAML in which 1e9 was a word; to everybody else it is a number.
for _first in "+-.0123456789":
    _Plain.yaml_implicit_resolvers.setdefault(_first, []).append((_FLOAT, _WITH_EXPONENT))


def read_recipe_text(text: str) -> JsonValue:
    """The value that a text writes in JSON or YAML; a mistake is named with its line."""
    if len(text) > LIMIT:
        raise LimitExceededError(f"the recipe has {len(text):,} characters, the limit is {LIMIT:,}")
    try:
        # JSON is not quite YAML: tabs, halves of characters and 1e9 are read otherwise there, or not at all.
        return cast("JsonValue", json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse))
    except (ValueError, RecursionError):
        return _read_yaml(text)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _read_yaml(text: str) -> JsonValue:
    try:
        return _json(cast("object", yaml.load(text, Loader=_Plain)))  # noqa: S506 - a safe loader, and safer
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
            raise InvalidInputError(f"{type(value).__name__} has no place in a recipe")


def _name(name: object) -> str:
    return name if isinstance(name, str) else str(name).lower() if isinstance(name, bool) else str(name)
