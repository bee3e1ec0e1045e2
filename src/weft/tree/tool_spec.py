"""Tools that a model may call: names, descriptions and JSON schemas, as every provider is given them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast

from weft.errors import InvalidInputError, LimitExceededError
from weft.tree.content import check_text
from weft.tree.json import JsonObject, JsonValue

MOST_TOOLS = 128
"""Of one request: the least that a provider allows."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_DESCRIPTION_LIMIT = 16_384
_SCHEMA_LIMIT = 65_536


def _no_arguments() -> JsonObject:
    return {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool that a model may call."""

    name: str
    """Letters, digits, `_` and `-`, at most 64: what all providers take."""
    description: str
    schema: JsonObject = field(default_factory=_no_arguments)
    """JSON schema of its arguments."""

    def __post_init__(self) -> None:
        if _NAME.match(self.name) is None:
            raise InvalidInputError(
                f"{self.name!r} cannot be the name of a tool",
                hint="use 1 to 64 letters, digits, _ and -",
                path="tools.name",
            )
        check_text(self.description, what="a tool's description", limit=_DESCRIPTION_LIMIT)
        if self.schema.get("type") != "object":
            raise InvalidInputError(
                f"the schema of {self.name} must describe an object",
                hint='begin it with {"type": "object", "properties": {…}}',
                path="tools.schema",
            )
        check_text(self.json, what=f"the schema of {self.name}", limit=_SCHEMA_LIMIT)

    @property
    def json(self) -> str:
        """One text for one tool: what is counted and compared."""
        try:
            return json.dumps(self.to_wire(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise InvalidInputError(f"the schema of {self.name} is not JSON", path="tools.schema") from None

    def to_wire(self) -> JsonObject:
        return {"name": self.name, "description": self.description, "schema": self.schema}

    @classmethod
    def from_wire(cls, value: JsonValue, *, path: str = "tools") -> "ToolSpec":
        """Read `{name, description, schema}`; an error names the field."""
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{path} must be an object", path=path)
        name, description = value.get("name"), value.get("description", "")
        schema = value.get("schema", _no_arguments())
        for field_name, given, kind in (
            ("name", name, str),
            ("description", description, str),
            ("schema", schema, Mapping),
        ):
            if not isinstance(given, kind):
                wanted = "a string" if kind is str else "an object"
                raise InvalidInputError(f"{path}.{field_name} must be {wanted}", path=f"{path}.{field_name}")
        return cls(name=str(name), description=str(description), schema=cast("JsonObject", schema))


class ToolChoice(StrEnum):
    """Whether a model may call its tools."""

    AUTO = "auto"
    NONE = "none"
    """It answers in words; the tools stay in the request, and its prefix with them."""
    REQUIRED = "required"
    """It calls at least one."""


def check_tools(tools: Sequence[ToolSpec]) -> None:
    """Refuse two tools of one name, and more than providers take."""
    if len(tools) > MOST_TOOLS:
        raise LimitExceededError(f"{len(tools):,} tools in one request; the most is {MOST_TOOLS}")
    names = [tool.name for tool in tools]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInputError(f"two tools are called {twice!r}", path="tools")
