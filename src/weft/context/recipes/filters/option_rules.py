"""Which options a filter accepts, and of which types."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeGuard, TypeVar, cast

from weft.context.fit import Strategy
from weft.context.tokens import Estimator, estimator_of
from weft.errors import InvalidInputError

_F = TypeVar("_F", bound=Callable[..., object])
_ACCEPTS = "accepts"


@dataclass(frozen=True, slots=True)
class OptionRule:
    """The values that an option may have; `required` where the filter has no default."""

    wanted: str
    allows: Callable[[object], bool]
    required: bool = False


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_estimator(name: str) -> bool:
    try:
        estimator_of(name)
    except InvalidInputError:
        return False
    return True


NUMBER = OptionRule("a number", _is_number)
TEXT = OptionRule("a string", _is_text)
SWITCH = OptionRule("true or false", lambda value: isinstance(value, bool))
VERSIONS = OptionRule("a number", lambda value: _is_number(value) or _is_text(value))
"""The recorded service read `"1"` here, as its default."""
COUNTER = OptionRule(
    "the name of an estimator, or a callable",
    lambda value: (
        _is_estimator(value) if isinstance(value, str) else callable(value) or isinstance(value, Estimator)
    ),
)
LIMIT = OptionRule("a whole number of at least 0", _is_count, required=True)
_FITTING: Mapping[str, OptionRule] = {
    "truncationStrategy": OptionRule(f"one of {', '.join(Strategy)}", lambda value: value in list(Strategy)),
    "truncationStep": OptionRule(
        "a number between 0 and 1", lambda value: _is_number(value) and 0 <= value <= 1
    ),
    "truncationMarker": TEXT,
    "minimumRecentNodes": OptionRule("a whole number of at least 0", _is_count),
    "window": OptionRule("a whole number of at least 1", lambda value: _is_count(value) and value != 0),
    "maskToolResults": OptionRule(
        "a whole number of at least 0, or off", lambda value: _is_count(value) or value == "off"
    ),
    "maskAbove": OptionRule("a whole number of at least 0", _is_count),
    "estimator": COUNTER,
}


def fitting_rules(*names: str) -> Mapping[str, OptionRule]:
    """Those options of fitting; null means the default."""
    return {
        name: OptionRule(_FITTING[name].wanted, _or_none(_FITTING[name].allows))
        for name in (names or _FITTING)
    }


def _or_none(allows: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or allows(value)


def accepts(rules: Mapping[str, OptionRule] | None = None, **more: OptionRule) -> Callable[[_F], _F]:
    """Declare the options of a filter: recipes refuse every other one before anything is read."""

    def declared(made: _F) -> _F:
        setattr(made, _ACCEPTS, {**(rules or {}), **more})
        return made

    return declared


@dataclass(frozen=True, slots=True)
class WrongOption:
    """An option that a filter does not accept."""

    name: str
    why: str
    got: object = None


def wrong_option(made: object, options: Mapping[str, object]) -> WrongOption | None:
    """The first wrong option of a filter; None also where the filter declares no options."""
    rules = cast("Mapping[str, OptionRule] | None", getattr(made, _ACCEPTS, None))
    if rules is None:
        return None
    for name, value in options.items():
        rule = rules.get(name)
        if rule is None:
            return WrongOption(name, f"is unknown; its options are {', '.join(rules)}", value)
        if not rule.allows(value):
            return WrongOption(name, f"must be {rule.wanted}", value)
    missing = next((name for name, rule in rules.items() if rule.required and name not in options), None)
    return None if missing is None else WrongOption(missing, f"is required: {rules[missing].wanted}")
