"""What a filter is, what it is told, and how its options are read."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, cast

from weft.context.recipes.collapsed_groups import DocumentReader, Documents, GroupReader
from weft.context.recipes.filters.trace import Trace
from weft.context.recipes.js_compat import is_truthy, number_of
from weft.context.tokens import Estimator, EstimatorLike, estimator_of
from weft.errors import InvalidInputError
from weft.plugins import Plugins

if TYPE_CHECKING:
    pass


Options: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterContext:
    """What a filter may know besides the messages: for whom, of which session, and what is collapsed there."""

    session_id: str | None = None
    user_id: str | None = None
    groups: GroupReader | None = None
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    """All else that the caller gave."""
    trace: Trace = field(default_factory=Trace, compare=False)


Filter: TypeAlias = Callable[
    [Sequence[object], Options, FilterContext], Sequence[object] | Awaitable[Sequence[object]]
]
"""Messages, options and context in, messages out. It may be asynchronous; it never changes what it is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterEntry:
    """One step of a pipeline as it was asked for."""

    name: str
    options: Options | Sequence[object] | None = None
    """As they were given: a list sets nothing."""

    @property
    def settings(self) -> Options:
        return self.options if isinstance(self.options, Mapping) else {}


FilterLike: TypeAlias = FilterEntry | Mapping[str, object] | str
"""A filter's name, or an object with its name and perhaps options."""


def entry_of(value: object, path: str) -> FilterEntry:
    """Read `"name"` or `{name, options}`; anything else about it is of no interest."""
    if isinstance(value, FilterEntry):
        return value
    if isinstance(value, str):
        return FilterEntry(name=value)
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{path} must be a string or an object {{ name, options? }}")
    fields = cast("Mapping[str, object]", value)
    name, options = fields.get("name"), fields.get("options")
    if not isinstance(name, str):
        raise InvalidInputError(
            f"{path} must be a string or an object {{ name, options? }}: {path}.name must be a filter's name"
        )
    if options is not None and not isinstance(options, Mapping | list | tuple):
        raise InvalidInputError(f"{path}.options must be an object")
    return FilterEntry(name=name, options=cast("Options | Sequence[object] | None", options))


def context_of(value: FilterContext | Mapping[str, object] | None) -> FilterContext:
    """A context, or a dictionary with `sessionId`, `userId` and perhaps `store`: documents by path, or a reader."""
    if isinstance(value, FilterContext):
        return value
    given = {} if value is None else dict(value)
    store = given.pop("store", None)
    return FilterContext(
        session_id=_id(given.get("sessionId"), "sessionId"),
        user_id=_id(given.get("userId"), "userId"),
        groups=_reader(store),
        values=given,
    )


def _id(value: object, name: str) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidInputError(f"context.{name} must be a string")
    return value


def _reader(store: object) -> GroupReader | None:
    if store is None:
        return None
    if isinstance(store, Mapping):
        return DocumentReader(cast("Documents", store))
    if isinstance(store, GroupReader):
        return store
    raise InvalidInputError("context.store must be documents by path, or read groups")


def flag(options: Options, name: str, *, default: bool) -> bool:
    """A switch: absent means the default, anything else whether JavaScript takes it for true."""
    return is_truthy(options[name]) if name in options else default


def unless_false(options: Options, name: str) -> bool:
    """A switch that is on unless it is `false` itself."""
    return options.get(name) is not False


def number(options: Options, name: str, default: float) -> float:
    """A number as JavaScript would compare it; what is no number compares with nothing."""
    value = options.get(name, default)
    return number_of(value) if not isinstance(value, bool) else float(value)


def text(options: Options, name: str, default: str) -> str:
    value = options.get(name)
    return value if isinstance(value, str) else default


def estimator(options: Options, name: str, default: Estimator) -> Estimator:
    """A way of counting tokens: by name, or in Python a callable."""
    value = options.get(name)
    if value is None:
        return default
    if isinstance(value, Estimator | str) or callable(value):
        return estimator_of(cast("EstimatorLike", value))
    path = f"options.{name}"
    raise InvalidInputError(
        f"{path} must be the name of an estimator, or a callable, got {value!r}", path=path
    )


def whole(options: Options, name: str, default: int) -> float:
    """A whole number; what is none means the default."""
    value = options.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return default
    return value


GROUP = "weft.filters"


class Registry(Plugins[Filter]):
    """Filters by name."""

    __slots__ = ()

    GROUP = GROUP
    KIND = "filter"

    def with_filter(self, name: str, made: Filter) -> "Registry":
        """A registry that has one more; this one stays as it is."""
        return self._with(name, made)

    def filter_of(self, name: str) -> Filter:
        """The filter of that name, loaded when it is first asked for."""
        return self._named(name)


@lru_cache(maxsize=1)
def installed_filters() -> Registry:
    """Everything that installed packages offer. Found once: packages do not come and go while we run."""
    return Registry.installed()
