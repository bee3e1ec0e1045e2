"""Settings of contexts and their layers, at three levels: the grove's, the tree's and the call's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from weft.context.checks import checked_words
from weft.context.fit import Strategy
from weft.context.masking import MASK_ABOVE
from weft.errors import ContextLimitError, InvalidInputError
from weft.tree.json import JsonValue, camel, snake
from weft.tree.tree import Mode

DIALOGUE_MARKER = "[{levels} earlier messages, about {tokens} tokens, left out: {first} to {last}]"
BUFFER_MARKER = "\n[…]\n"
_AUTO_STEP = 0.25
_LIFETIMES = ("5m", "1h")


class Instructions(StrEnum):
    """Which edges' instruction sources count."""

    PATH = "path"
    LAST = "last"


class LoomLayout(StrEnum):
    """How a loom-aware agent is shown its surroundings."""

    SPEC = "spec"
    """Times that have passed and counts above each node, memory after the system prompt."""
    CACHE = "cache"
    """Nothing that changes above the nodes; memory and counts in the tail, so that the prefix stays."""


class Placement(StrEnum):
    """Where items of earlier turns are."""

    SYSTEM = "system"
    """All together in the system message: the library."""
    INLINE = "inline"
    """Each in the message that introduced it, so that nothing ever moves."""


class Changed(StrEnum):
    """What becomes of an item whose content has changed."""

    REFRESH = "refresh"
    """The current content at the old place."""
    APPEND = "append"
    """The old content stays; the new one is a revision at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """The settings of a context. `None` leaves it to the mode or to the provider."""

    truncation_strategy: Strategy = Strategy.TRUNCATE_MIDDLE
    minimum_recent_nodes: int = 4
    token_buffer: int = 1024
    truncation_step: float | None = None
    """Share of the window by which a cut moves; 0 cuts exactly; None: 0.25 where a prefix cache helps."""
    truncation_marker: str | None = None
    """Empty for none. `{levels}`, `{tokens}`, `{first}` and `{last}` describe the cut."""
    mask_tool_results: int | None = None
    """How many of the newest tool results stay whole; older ones become one line each. None: all of them."""
    mask_above: int = MASK_ABOVE
    """Tool results of at most so many tokens are never masked."""
    instructions: Instructions = Instructions.PATH
    name_authors: bool = False
    merge_share: float = 0.25
    """How much of the budget each further source of a merge may take."""
    estimator: str = "default"
    loom_layout: LoomLayout = LoomLayout.SPEC

    def step(self, *, prefix_cache: bool) -> float:
        if self.truncation_step is not None:
            return self.truncation_step
        return _AUTO_STEP if prefix_cache else 0.0

    def marker(self, mode: Mode) -> str:
        """The marker's template. rollingWindow has one only if it is set."""
        if self.truncation_marker is not None:
            return self.truncation_marker
        if self.truncation_strategy is not Strategy.TRUNCATE_MIDDLE:
            return ""
        return BUFFER_MARKER if mode is Mode.BUFFER else DIALOGUE_MARKER


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSettings:
    """The settings of a request's layers."""

    library: Placement = Placement.SYSTEM
    changed: Changed = Changed.REFRESH
    library_share: float = 0.5
    """The share of the budget over which the library is compacted."""
    strip_turns: int | None = None
    """History as a strip: how many turns stay as they were, after a summary of the rest. None: all of them."""
    user_memory: str | None = None
    """The title or id of the document that every request begins with, after the system context."""
    put_aside_above: int | None = 1_000
    """Tokens above which the result of a tool is put aside: its turn shows the beginning. None: never."""
    cache_lifetime: str | None = None
    """How long a provider keeps what it cached, where a request can say so: `5m` or `1h`. Where caches are
    created, one is then created for what is stable."""
    record_payload: bool = False
    """Log each request in layers, as it is sent."""


def _choice(kind: type[StrEnum], value: JsonValue, path: str) -> StrEnum:
    try:
        return kind(str(value))
    except ValueError:
        raise InvalidInputError(
            f"{path} is {value!r}", hint=f"use one of {', '.join(each.value for each in kind)}"
        ) from None


def _count(value: JsonValue, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"{path} must be a whole number of at least 0, got {value!r}")
    return value


def _count_or_off(value: JsonValue, path: str) -> int | None:
    if value is None or value == "off":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"{path} must be off or a whole number of at least 0, got {value!r}")
    return value


def _count_if_given(value: JsonValue, path: str) -> int | None:
    return None if value is None else _count(value, path)


def _share(value: JsonValue, path: str, otherwise: str = "") -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(f"{path} must be between 0 and 1{otherwise}, got {value!r}")
    return float(value)


def _step(value: JsonValue, path: str) -> float | None:
    return None if value == "auto" or value is None else _share(value, path, ", or auto")


def _marker(value: JsonValue, path: str) -> str | None:
    return None if value is None or value == "auto" else checked_words(path, value)


def _flag(value: JsonValue, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"{path} must be true or false, got {value!r}")
    return value


def _words(value: JsonValue, path: str) -> str:
    return checked_words(path, value)


def _lifetime(value: JsonValue, path: str) -> JsonValue:
    if value is not None and value not in _LIFETIMES:
        raise InvalidInputError(f"{path} is {value!r}", hint=f"use one of {', '.join(_LIFETIMES)}")
    return value


def _title(value: JsonValue, path: str) -> JsonValue:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise InvalidInputError(f"{path} must be a string, got {value!r}")
    return value


_READERS: Mapping[str, Callable[[JsonValue, str], object]] = {
    "truncation_strategy": partial(_choice, Strategy),
    "minimum_recent_nodes": _count,
    "token_buffer": _count,
    "truncation_step": _step,
    "truncation_marker": _marker,
    "mask_tool_results": _count_or_off,
    "mask_above": _count,
    "instructions": partial(_choice, Instructions),
    "name_authors": _flag,
    "merge_share": _share,
    "estimator": _words,
    "loom_layout": partial(_choice, LoomLayout),
    "library": partial(_choice, Placement),
    "changed": partial(_choice, Changed),
    "library_share": _share,
    "strip_turns": _count_if_given,
    "user_memory": _title,
    "cache_lifetime": _lifetime,
    "record_payload": _flag,
    "put_aside_above": _count_or_off,
}


def check_names(values: Mapping[str, JsonValue]) -> None:
    """Refuse names that are no preference."""
    for key in values:
        if snake(key) not in _READERS:
            known = ", ".join(sorted(map(camel, _READERS)))
            raise InvalidInputError(f"there is no preference {key!r}", hint=f"there are {known}")


def resolve_preferences(*levels: Mapping[str, JsonValue]) -> Preferences:
    """The grove's settings, overridden by the tree's, and those by the call's."""
    resolved: dict[str, Any] = {}
    for level in levels:
        resolved |= read_preferences(level)
    return Preferences(**resolved)


def resolve_layer_settings(*levels: Mapping[str, JsonValue]) -> LayerSettings:
    """The same for the settings of layers."""
    resolved: dict[str, Any] = {}
    for level in levels:
        resolved |= read_layer_settings(level)
    return LayerSettings(**resolved)


def read_preferences(values: Mapping[str, JsonValue], *, path: str = "preferences") -> dict[str, Any]:
    """The settings of a context among a level's, each checked; other settings are ignored."""
    return _read(Preferences, values, path)


def read_layer_settings(values: Mapping[str, JsonValue], *, path: str = "preferences") -> dict[str, Any]:
    """The same for the settings of layers."""
    return _read(LayerSettings, values, path)


def _read(
    kind: type[Preferences | LayerSettings], values: Mapping[str, JsonValue], path: str
) -> dict[str, Any]:
    own = kind.__dataclass_fields__
    named = ((snake(key), value) for key, value in values.items())
    return {name: _READERS[name](value, f"{path}.{camel(name)}") for name, value in named if name in own}


def input_budget(
    preferences: Preferences, *, window: int | None, max_tokens: int | None = None, limit: int | None = None
) -> int:
    """How many tokens a request may take: a given limit, or the window less what the response needs."""
    if limit is not None:
        if limit < 0:
            raise InvalidInputError(f"the limit must be at least 0, got {limit:,}")
        return limit
    if window is None:
        raise InvalidInputError("neither a limit nor the model's window is known", hint="give a limit")
    reserve = max(preferences.token_buffer, max_tokens or 0)
    if window <= reserve:
        raise ContextLimitError(
            f"a window of {window:,} tokens has no room beside {reserve:,} for the response",
            hint="ask for fewer tokens, lower tokenBuffer, or choose a model with a larger window",
        )
    return window - reserve
