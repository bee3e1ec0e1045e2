"""What people may prefer about layers, at the same levels as about contexts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from weft.errors import InvalidInputError
from weft.tree.json import JsonValue, camel, snake


class Placement(StrEnum):
    """Where items of earlier turns stand."""

    SYSTEM = "system"
    """All together in the system message: the library."""
    INLINE = "inline"
    """Each in the message that introduced it, so that nothing ever moves."""


class Changed(StrEnum):
    """What becomes of an item whose content is another now."""

    REFRESH = "refresh"
    """The current content at the old place."""
    APPEND = "append"
    """The old content stays; the new one is a revision at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSettings:
    library: Placement = Placement.SYSTEM
    changed: Changed = Changed.REFRESH
    library_share: float = 0.5
    """The share of the budget over which the library is compacted."""
    strip_turns: int | None = None
    """History as a strip: how many turns stay as they were, before which summaries stand. None: all of them."""
    user_memory: str | None = None
    """The title or id of the document that every request begins with, after the system context."""
    cache_lifetime: str | None = None
    """How long a provider keeps what it cached, where it can be told: `5m` or `1h`. Gemini is then asked for
    a cache of its own for what is stable."""


_LIFETIMES = ("5m", "1h")
LAYER_FIELDS = frozenset(field.name for field in fields(LayerSettings))


def resolve_layer_settings(*levels: Mapping[str, JsonValue]) -> LayerSettings:
    """The grove's settings, overridden by the tree's, and those by the call's."""
    found = LayerSettings()
    for level in levels:
        found = replace(found, **read_layer_settings(level))
    return found


def read_layer_settings(values: Mapping[str, JsonValue], *, path: str = "preferences") -> dict[str, Any]:
    """The settings of layers among a level's, each checked; what belongs to others is left alone."""
    return {
        name: _read(name, value, f"{path}.{camel(name)}")
        for name, value in ((snake(key), value) for key, value in values.items())
        if name in LAYER_FIELDS
    }


def _read(name: str, value: JsonValue, path: str) -> object:
    match name:
        case "library_share":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InvalidInputError(f"{path} must be between 0 and 1, got {value!r}")
            return float(value)
        case "strip_turns":
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise InvalidInputError(f"{path} must be a whole number of at least 0, got {value!r}")
            return value
        case "cache_lifetime":
            if value is not None and value not in _LIFETIMES:
                raise InvalidInputError(f"{path} is {value!r}", hint=f"use one of {', '.join(_LIFETIMES)}")
            return value
        case "user_memory":
            if value is not None and (not isinstance(value, str) or not value.strip()):
                raise InvalidInputError(f"{path} must be a string, got {value!r}")
            return value
        case _:
            return _choice(Placement if name == "library" else Changed, value, path)


def _choice(kind: type[StrEnum], value: JsonValue, path: str) -> StrEnum:
    try:
        return kind(str(value))
    except ValueError:
        raise InvalidInputError(
            f"{path} is {value!r}", hint=f"use one of {', '.join(each.value for each in kind)}"
        ) from None
