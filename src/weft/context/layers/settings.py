"""What people may prefer about layers, at the same levels as about contexts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from weft.errors import InvalidInputError
from weft.tree.json import JsonValue
from weft.tree.wire import camel, snake

__all__ = ["Changed", "LayerSettings", "Placement", "read_layer_settings", "resolve_layer_settings"]


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


_FIELDS = {field.name for field in fields(LayerSettings)}


def resolve_layer_settings(*levels: Mapping[str, JsonValue]) -> LayerSettings:
    """The grove's settings, overridden by the tree's, and those by the call's."""
    found = LayerSettings()
    for level in levels:
        found = replace(found, **read_layer_settings(level))
    return found


def read_layer_settings(
    values: Mapping[str, JsonValue], *, path: str = "preferences"
) -> dict[str, Placement | Changed | float]:
    """The settings of layers among a level's, each checked; what belongs to others is left alone."""
    return {
        name: _read(name, value, f"{path}.{camel(name)}")
        for name, value in ((snake(key), value) for key, value in values.items())
        if name in _FIELDS
    }


def _read(name: str, value: JsonValue, path: str) -> Placement | Changed | float:
    if name == "library_share":
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InvalidInputError(f"{path} must be between 0 and 1, got {value!r}")
        return float(value)
    kind = Placement if name == "library" else Changed
    try:
        return kind(str(value))
    except ValueError:
        raise InvalidInputError(
            f"{path} is {value!r}", hint=f"use one of {', '.join(each.value for each in kind)}"
        ) from None
