"""A recipe as data: where messages come from, in which order, and which filters run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from weft.context.recipes.filters.base import FilterEntry, entry_of
from weft.context.recipes.filters.pipeline import OnFilterError
from weft.context.recipes.js_compat import is_truthy, string_of
from weft.context.recipes.record_streams import KINDS
from weft.errors import InvalidInputError
from weft.tree.json import JsonObject, JsonValue

MAX_DEPTH = 6
MAX_COMPONENTS = 128
MAX_FILTERS = 128
"""Each of them may look at every message."""


class RecipeError(InvalidInputError):
    """A recipe that cannot be followed, with the field that is wrong."""

    def __init__(self, path: str, message: str, *, limit: int | None = None, got: object = None) -> None:
        super().__init__(message, path=path)
        self.limit = limit
        self.got = got


class ComponentKind(StrEnum):
    """Words of the wire: two that read a stream of records, and one that is its own text."""

    YOJ = "yoj"
    ISTA = "ista"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One source of messages, or a group of them: one with children says nothing itself."""

    kind: ComponentKind
    name: str = ""
    framing: str = ""
    value: str = ""
    children: tuple["Component", ...] = ()

    def leaves(self) -> Iterator["Component"]:
        """What speaks, depth first and left to right."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def to_wire(self) -> JsonObject:
        if self.kind is ComponentKind.LITERAL:
            return {"kind": self.kind.value, "value": self.value}
        wire: dict[str, JsonValue] = {"kind": self.kind.value, "name": self.name, "framing": self.framing}
        if self.children:
            wire["children"] = [child.to_wire() for child in self.children]
        return wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What to gather and how to filter it."""

    intro: JsonObject | Sequence[JsonValue] | None = None
    """`{system}`, as it was given; a list says nothing."""
    promote_upstream: bool = False
    components: tuple[Component, ...] = ()
    filters: tuple[FilterEntry, ...] = ()

    def leaves(self) -> Iterator[Component]:
        for component in self.components:
            yield from component.leaves()

    @property
    def opening(self) -> JsonValue:
        """What the first message says; None where there is none."""
        return (self.intro.get("system") if isinstance(self.intro, Mapping) else None) or None

    def to_wire(self) -> JsonObject:
        wire: dict[str, JsonValue] = {} if self.intro is None else {"intro": self.intro}
        return {
            **wire,
            "promoteUpstream": self.promote_upstream,
            "components": [component.to_wire() for component in self.components],
            "filters": [_filter_to_wire(entry) for entry in self.filters],
        }


def _filter_to_wire(entry: FilterEntry) -> JsonObject:
    if entry.options is None:
        return {"name": entry.name}
    # Options were read from JSON; a tokenizer of one's own cannot be in a recipe.
    return {"name": entry.name, "options": entry.options}  # type: ignore[dict-item]


DEFAULT_FILTERS = (
    FilterEntry(name="sizeLimiter", options={"maxTokens": 24_000}),
    FilterEntry(name="toolCallBackfill"),
)

ASSEMBLED = ("dialogue", "buffer", "layered")
"""Streams of a path that are assembled to a budget: each is a built-in recipe, and a part of others."""


def _assembled(name: str) -> Model:
    return Model(components=(Component(kind=ComponentKind.YOJ, name=name),))


PRESETS: Mapping[str, Model] = {
    **{name: _assembled(name) for name in ASSEMBLED},
    "TopicContext": Model(
        intro={
            "system": "These are the previously extracted topic information, "
            "as well as the conversation context: \r"
        },
        promote_upstream=True,
        components=(
            Component(
                kind=ComponentKind.YOJ, name="topicInfos", framing="Previously extracted topic info:\r"
            ),
            Component(kind=ComponentKind.YOJ, name="summaries", framing="Previous convo summaries:\r"),
            Component(
                kind=ComponentKind.YOJ, name="messages", framing="Summary of older conversation messages:\r"
            ),
        ),
        filters=(
            FilterEntry(name="collapseGroupReplacer"),
            FilterEntry(name="fileContentsLimiter", options={"filesLimit": 7, "versionsPerFile": 2}),
            FilterEntry(name="sizeLimiter", options={"maxTokens": 20_000}),
            FilterEntry(name="toolCallBackfill"),
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A recipe that was read and checked."""

    kala: JsonObject
    model: Model
    include_doc_id: bool = False
    on_filter_error: OnFilterError = OnFilterError.FAIL

    def to_wire(self) -> JsonObject:
        return {"kala": self.kala, "model": self.model.to_wire()}


def decode_recipe(body: JsonValue) -> Recipe:
    """Read a recipe; the first thing wrong with it is a `RecipeError` that names the field.

    An explicit model wins over `presetId`; with neither there are no components, and the
    general filters.
    """
    if not isinstance(body, Mapping):
        why = f"a recipe must be an object, got {_type_of(body)}"
        raise RecipeError("kala.kind", f"Missing required field: kala.kind; {why}")
    kala = body.get("kala")
    if not isinstance(kala, Mapping) or not is_truthy(kala.get("kind")):
        raise RecipeError("kala.kind", "Missing required field: kala.kind")
    _check_kala(kala)
    given, preset = body.get("model"), body.get("presetId")
    if isinstance(given, Mapping | list | tuple):
        # A list is an object to JavaScript: a model that says nothing, but a model.
        model = _model(given if isinstance(given, Mapping) else {})
    else:
        model = _preset(preset) if isinstance(preset, str) else Model(filters=DEFAULT_FILTERS)
    return Recipe(
        kala=kala,
        model=model,
        include_doc_id=is_truthy(body.get("includeDocId")),
        on_filter_error=_on_filter_error(body.get("onFilterError")),
    )


def _check_kala(kala: JsonObject) -> None:
    kind = kala["kind"]
    if kind not in KINDS:
        raise RecipeError(
            "kala.kind", f"Unknown kala.kind: {string_of(kind)}; kinds are {', '.join(KINDS)}", got=kind
        )
    if kind == "Topic" and kala.get("topicId") is None:
        raise RecipeError("kala.topicId", "kala.topicId is required for kind='Topic'")


def _preset(name: str) -> Model:
    preset = PRESETS.get(name)
    if preset is None:
        raise RecipeError(
            "presetId", f"Unknown presetId: {name}; presets are {', '.join(sorted(PRESETS))}", got=name
        )
    return preset


def _on_filter_error(value: JsonValue) -> OnFilterError:
    if value is None:
        return OnFilterError.FAIL
    try:
        return OnFilterError(str(value))
    except ValueError:
        raise RecipeError(
            "onFilterError", f"onFilterError must be fail or skip, got {value!r}", got=value
        ) from None


def _model(value: JsonObject) -> Model:
    intro, components = value.get("intro"), value.get("components")
    if isinstance(intro, Mapping):
        _text(intro, "system", "model.intro")
    return Model(
        intro=intro if isinstance(intro, Mapping | list | tuple) else None,
        promote_upstream=is_truthy(value.get("promoteUpstream")),
        components=_Components().decode(components) if isinstance(components, list | tuple) else (),
        filters=_filters(value.get("filters")),
    )


def _filters(value: JsonValue) -> tuple[FilterEntry, ...]:
    if value is None:
        return DEFAULT_FILTERS
    if not isinstance(value, list | tuple):
        kind = _type_of(value)
        raise RecipeError("model.filters", f"model.filters must be an array, got {kind}", got=kind)
    if len(value) > MAX_FILTERS:
        raise RecipeError(
            f"model.filters[{MAX_FILTERS}]",
            f"Too many filters at model.filters[{MAX_FILTERS}]: there must be <= {MAX_FILTERS}, got {len(value)}",
            limit=MAX_FILTERS,
            got=len(value),
        )
    entries: list[FilterEntry] = []
    for index, entry in enumerate(value):
        path = f"model.filters[{index}]"
        options = entry.get("options") if isinstance(entry, Mapping) else None
        if options is not None and not isinstance(options, Mapping):
            raise RecipeError(f"{path}.options", f"{path}.options must be an object, got {_type_of(options)}")
        try:
            entries.append(entry_of(entry, path))
        except InvalidInputError as error:
            raise RecipeError(path, error.message, got=entry) from None
    return tuple(entries)


class _Components:
    """The components of one model: they are counted across all levels."""

    def __init__(self) -> None:
        self.count = 0

    def decode(
        self, values: Sequence[JsonValue], above: str = "model.components", depth: int = 1
    ) -> tuple[Component, ...]:
        return tuple(self._component(value, f"{above}[{index}]", depth) for index, value in enumerate(values))

    def _component(self, value: JsonValue, path: str, depth: int) -> Component:
        if not isinstance(value, Mapping | list | tuple):
            raise RecipeError(path, f"{path} must be an object", got=_type_of(value))
        self._count(path, depth)
        fields: JsonObject = value if isinstance(value, Mapping) else {}
        said = fields.get("kind")
        if not is_truthy(said):
            raise RecipeError(f"{path}.kind", f"{path}.kind is required")
        given = fields.get("children")
        # Children are looked at before their parent, so that the innermost mistake is the one that is told.
        children = (
            self.decode(given, f"{path}[children]", depth + 1) if isinstance(given, list | tuple) else ()
        )
        kind = _kind(said, path)
        if kind is ComponentKind.LITERAL:
            return _literal(fields, path, children)
        name = fields.get("name")
        if not isinstance(name, str) or not name:
            raise RecipeError(f"{path}.name", f"{path}.name is required for kind='{kind}'", got=name)
        return Component(kind=kind, name=name, framing=_text(fields, "framing", path), children=children)

    def _count(self, path: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise RecipeError(
                path,
                f"Maximum nesting depth exceeded at {path}: depth must be <= {MAX_DEPTH}, got {depth}",
                limit=MAX_DEPTH,
                got=depth,
            )
        self.count += 1
        if self.count > MAX_COMPONENTS:
            raise RecipeError(
                path,
                f"Maximum number of components exceeded at {path}: there must be <= {MAX_COMPONENTS}, "
                f"got {self.count} or more",
                limit=MAX_COMPONENTS,
                got=self.count,
            )


def _text(fields: JsonObject, name: str, above: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        path, kind = f"{above}.{name}", _type_of(value)
        raise RecipeError(path, f"{path} must be a string, got {kind}", got=kind)
    return value


def _kind(said: JsonValue, path: str) -> ComponentKind:
    try:
        return ComponentKind(str(said))
    except ValueError:
        known = ", ".join(ComponentKind)
        raise RecipeError(
            f"{path}.kind",
            f"Unsupported component kind: {string_of(said)} at {path}.kind; kinds are {known}",
            got=said,
        ) from None


def _literal(fields: JsonObject, path: str, children: Sequence[Component]) -> Component:
    said = fields.get("value")
    if not isinstance(said, str):
        raise RecipeError(
            f"{path}.value",
            f"{path}.value must be a string for kind='literal', got {_type_of(said)}",
            got=_type_of(said),
        )
    if children:
        raise RecipeError(
            f"{path}.children",
            f"{path}.children: a literal cannot have children, got {len(children)}",
            got=len(children),
        )
    return Component(kind=ComponentKind.LITERAL, value=said)


def _type_of(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"
