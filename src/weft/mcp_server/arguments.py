"""What a tool takes: its arguments as a model, the schema that clients see, and the reading of what they send."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from weft.errors import InvalidInputError
from weft.tree.json_names import camel

MOST = 1_000
"""Of anything that is listed or counted in one call."""
_NAME = 300
_REFERENCE = 100

Tree = Annotated[
    str,
    Field(min_length=1, max_length=_NAME, description="The tree's id or title."),
]
Node = Annotated[
    str, Field(min_length=1, max_length=_REFERENCE, description="A node's local id, such as a7x2.")
]
Title = Annotated[str, Field(min_length=1, max_length=_NAME)]
Text = Annotated[str, Field(min_length=1, description="The text.")]


class Arguments(BaseModel):
    """The arguments of one tool. Nothing is guessed: what is not known here is refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", strict=True, frozen=True, alias_generator=camel, validate_by_name=False
    )

    @classmethod
    def input_schema(cls) -> dict[str, Any]:
        """As clients see it: plain, without what only Python needs."""
        found = _plain(cls.model_json_schema(by_alias=True))
        return {"type": "object", "properties": {}, **found, "additionalProperties": False}

    @classmethod
    def read(cls, given: Mapping[str, Any] | None) -> Self:
        """The arguments as they came, checked; the first that is wrong is named."""
        try:
            return cls.model_validate(dict(given or {}))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            path = ".".join(str(part) for part in first["loc"])[:200]
            raise InvalidInputError(
                f"{path}: {_said(first)}" if path else _said(first),
                hint="the tool's schema says what it takes",
                path=path,
            ) from None


class TreeArguments(Arguments):
    tree: Tree


def _said(wrong: Mapping[str, Any]) -> str:
    """What pydantic found, in our words where they are shorter."""
    match wrong["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "is no argument of this tool"
        case _:
            return str(wrong["msg"])[:1].lower() + str(wrong["msg"])[1:]


def _plain(schema: Any) -> Any:
    """Without titles that only repeat names; what may be left out is not also null.

    Every word here is read by a model with every request, so what is said of a list is not said of its items.
    """
    if isinstance(schema, list):
        return [_plain(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    found = {key: value for key, value in cast("dict[str, Any]", schema).items() if not _is_noise(key, value)}
    kinds = found.get("anyOf")
    if isinstance(kinds, list):
        left = [each for each in cast("list[Any]", kinds) if each != {"type": "null"}]
        if len(left) == 1:
            del found["anyOf"]
            found = {**left[0], **found}
    if "items" in found:
        items = cast("dict[str, Any]", found["items"])
        found["items"] = {name: value for name, value in items.items() if name != "description"}
    if "properties" in found:
        inner = cast("dict[str, Any]", found["properties"])
        found["properties"] = {name: _plain(value) for name, value in inner.items()}
    return {key: value if key == "properties" else _plain(value) for key, value in found.items()}


def _is_noise(key: str, value: Any) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value is None)
