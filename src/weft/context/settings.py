"""What people may prefer about contexts, at three levels: the grove's, the tree's and the call's."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from weft.context.checks import checked_words
from weft.context.layers.settings import LAYER_FIELDS
from weft.context.strategy import Strategy
from weft.errors import ContextLimitError, InvalidInputError
from weft.tree.json import JsonValue, camel, snake
from weft.tree.tree import Mode

__all__ = [
    "Instructions",
    "LoomLayout",
    "Preferences",
    "Strategy",
    "check_names",
    "input_budget",
    "read_preferences",
    "resolve_preferences",
]

DIALOGUE_MARKER = "[{levels} earlier messages, about {tokens} tokens, left out: {first} to {last}]"
BUFFER_MARKER = "\n[…]\n"
_AUTO_STEP = 0.25


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """The settings of a context. `None` leaves it to the mode or to the provider."""

    truncation_strategy: Strategy = Strategy.TRUNCATE_MIDDLE
    minimum_recent_nodes: int = 4
    token_buffer: int = 1024
    truncation_step: float | None = None
    """Share of the window by which a cut moves; 0 cuts exactly; None: 0.25 where a prefix cache helps."""
    truncation_marker: str | None = None
    """Empty for none. `{levels}`, `{tokens}`, `{first}` and `{last}` say what follows from the cut."""
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
        """The marker's template. rollingWindow has one only if somebody asked for it."""
        if self.truncation_marker is not None:
            return self.truncation_marker
        if self.truncation_strategy is not Strategy.TRUNCATE_MIDDLE:
            return ""
        return BUFFER_MARKER if mode is Mode.BUFFER else DIALOGUE_MARKER


_FIELDS = {field.name for field in fields(Preferences)}


def check_names(values: Mapping[str, JsonValue]) -> None:
    """Refuse what is no preference: somebody who sets one wants it to count."""
    for key in values:
        if snake(key) not in _FIELDS | LAYER_FIELDS:
            known = ", ".join(sorted(map(camel, _FIELDS | LAYER_FIELDS)))
            raise InvalidInputError(f"there is no preference {key!r}", hint=f"there are {known}")


def resolve_preferences(*levels: Mapping[str, JsonValue]) -> Preferences:
    """The grove's settings, overridden by the tree's, and those by the call's."""
    found = Preferences()
    for level in levels:
        found = replace(found, **read_preferences(level))
    return found


def read_preferences(values: Mapping[str, JsonValue], *, path: str = "preferences") -> dict[str, object]:
    """The settings of a context among a level's, each checked; what belongs to others is left alone."""
    return {
        name: _read(name, value, f"{path}.{camel(name)}")
        for name, value in ((snake(key), value) for key, value in values.items())
        if name in _FIELDS
    }


def _read(name: str, value: JsonValue, path: str) -> object:
    match name:
        case "truncation_strategy":
            return _choice(Strategy, value, path)
        case "instructions":
            return _choice(Instructions, value, path)
        case "loom_layout":
            return _choice(LoomLayout, value, path)
        case "minimum_recent_nodes" | "token_buffer":
            return _count(value, path)
        case "truncation_step":
            return None if value == "auto" or value is None else _share(value, path, ", or auto")
        case "merge_share":
            return _share(value, path)
        case "truncation_marker":
            return None if value is None or value == "auto" else _text(value, path)
        case "name_authors":
            if not isinstance(value, bool):
                raise InvalidInputError(f"{path} must be true or false, got {value!r}")
            return value
        case _:
            return _text(value, path)


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


def _share(value: JsonValue, path: str, otherwise: str = "") -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(f"{path} must be between 0 and 1{otherwise}, got {value!r}")
    return float(value)


def _text(value: JsonValue, path: str) -> str:
    return checked_words(path, value)


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
