"""Check the arguments of the Python face against their annotations: a wrong type is named, not stumbled over."""

import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import ParamSpec, TypeVar, Union, cast

from weft.errors import InvalidInputError

P = ParamSpec("P")
T = TypeVar("T")
_Check = Callable[[object], bool]
_LARGEST = 2**63
"""Databases keep whole numbers of 64 bits."""
_SHOWN = 60


def checks_arguments(cls: type[T]) -> type[T]:
    """Class decorator: check the arguments of every public method."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, types.FunctionType) and not name.startswith("_"):
            setattr(cls, name, check_arguments(member))
    return cls


def check_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Raise `InvalidInputError`, with the argument's name, where a value is of another type than annotated."""
    signature = inspect.signature(function)

    @functools.cache
    def checks() -> dict[str, tuple[_Check, str]]:
        return {
            parameter.name: (
                _each(_check(hint)) if parameter.kind is parameter.VAR_POSITIONAL else _check(hint),
                _told(parameter.annotation),
            )
            for parameter in signature.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
            and (hint := _resolved(parameter.annotation, function)) is not inspect.Parameter.empty
        }

    @functools.wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> T:
        try:
            given = signature.bind(*args, **keywords).arguments
        except TypeError:
            # Python's own sentence says which argument is missing or unknown.
            return function(*args, **keywords)
        for name, (is_right, told) in checks().items():
            if name in given and not is_right(given[name]):
                value = repr(given[name])
                shown = value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…"
                raise InvalidInputError(f"{name} must be {told}, got {shown}", path=name)
        return function(*args, **keywords)

    return checked


def _resolved(annotation: object, function: Callable[..., object]) -> object:
    """An annotation as a type; what only type checkers can resolve is not checked."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, getattr(function, "__globals__", {}))  # noqa: S307 - our own source
    except (NameError, TypeError):
        return inspect.Parameter.empty


def _told(annotation: object) -> str:
    if annotation is type(None) or annotation is None:
        return "None"
    if annotation is int:
        return "a whole number of at most 64 bits"
    if annotation is str:
        return "a string"
    if annotation is float:
        return "a number"
    if annotation is bool:
        return "true or false"
    parts = typing.get_args(annotation)
    if parts and typing.get_origin(annotation) in {Union, types.UnionType}:
        return " or ".join(dict.fromkeys(_told(part) for part in parts))
    if isinstance(annotation, typing.ForwardRef | str):
        name = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        return name.replace(" | ", " or ")
    return getattr(annotation, "__name__", str(annotation).replace("typing.", ""))


def _check(hint: object) -> _Check:
    """How a value of a type is recognised; types that cannot be looked at are not."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in {Union, types.UnionType}:
        checks = [_check(part) for part in parts]
        return lambda value: any(check(value) for check in checks)
    if hint is None or hint is type(None):
        return lambda value: value is None
    if hint is bool:
        return lambda value: isinstance(value, bool)
    if hint is int:
        return _is_whole
    if isinstance(hint, type) and issubclass(hint, typing.IO):
        return lambda value: hasattr(value, "read") or hasattr(value, "write")
    if hint is float:
        return lambda value: _is_whole(value) or (isinstance(value, float) and not math.isnan(value))
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return _listing(cast("type[object]", origin), parts)
    if origin is Callable:
        return callable
    if isinstance(hint, type) and not getattr(hint, "_is_protocol", False) and hint is not object:
        return lambda value: isinstance(value, hint)
    return lambda _value: True


def _each(check: _Check) -> _Check:
    return lambda values: all(map(check, cast("Iterable[object]", values)))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value < _LARGEST


def _listing(origin: type[object], parts: Sequence[object]) -> _Check:
    if issubclass(origin, Mapping):
        return lambda value: isinstance(value, Mapping)
    item = _check(parts[0] if parts and issubclass(origin, Collection) else object)

    def check(value: object) -> bool:
        # A text would be taken apart into its letters.
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, origin):
            return False
        return not isinstance(value, Collection) or all(map(item, cast("Collection[object]", value)))

    return check
