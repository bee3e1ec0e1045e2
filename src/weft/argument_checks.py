"""Check arguments against their annotations: a wrong type, an absurd number, an unknown name is refused by name.

Options are dataclasses. Each field has a type, a default, a sentence and perhaps bounds, by `option`;
`takes_options` makes keywords of them, with their signature for `help()` and for type checkers.
"""

import builtins
import contextlib
import functools
import inspect
import json
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from decimal import Decimal
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar, Union, cast

from weft.errors import InvalidInputError
from weft.lazy_names import load_name
from weft.tree.content import check_text
from weft.tree.json import camel

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")
_Check = Callable[[object], bool]
_LARGEST = 2**63
"""Databases store whole numbers of 64 bits."""
LARGEST = 2**53
"""Larger whole numbers change where JSON is read."""
_SHOWN = 40
_INTEGER = re.compile(r"-?[0-9]{1,400}")


class OptionSpec(NamedTuple):
    """What a field says about its option, beside its type and default."""

    help: str
    least: float | None = None
    """The least number, or the least length of a text or list."""
    most: float | None = None
    wanted: str = ""
    """What the value must be, in words; else they follow from the type."""
    setting: str = ""
    """The setting for which this is a short name."""
    wire: str = ""
    """Its name in JSON and in queries; else the field's, in camel case."""


def option(
    default: T,
    help: str,  # noqa: A002 - the word of argparse, click and typer
    *,
    least: float | None = None,
    most: float | None = None,
    wanted: str = "",
    setting: str = "",
    wire: str = "",
) -> T:
    """A field of an options class, with its description."""
    spec = OptionSpec(help, least, most, wanted, setting, wire)
    return field(default=default, metadata={"option": spec})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Base of the options classes: every value is checked when it is made."""

    def __post_init__(self) -> None:
        cls = type(self)
        checks = option_checks(cls)
        for name, default in _defaults(cls).items():
            value = getattr(self, name)
            if value is not default and name in checks:
                check_option(name, value, *checks[name])

    @classmethod
    def specs(cls) -> dict[str, OptionSpec]:
        """What there is to choose, by name."""
        return {each.name: each.metadata["option"] for each in fields(cls) if "option" in each.metadata}

    @classmethod
    def default(cls, name: str) -> Any:
        """The default of an option."""
        return next(each.default for each in fields(cls) if each.name == name)

    def with_checked(self, **values: Any) -> Self:
        """The same with other values, which are known to be right: nothing is checked again."""
        options = object.__new__(type(self))
        for name in _defaults(type(self)):
            object.__setattr__(options, name, values[name] if name in values else getattr(self, name))
        return options

    def keywords(self) -> dict[str, Any]:
        """The options as a call takes them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


AnyOptions = TypeVar("AnyOptions", bound=Options)


@functools.cache
def option_checks(cls: type[Options]) -> "dict[str, tuple[LazyCheck, OptionSpec]]":
    """By name how each option is checked, and its description."""
    annotations = {name: kind for base in cls.__mro__[::-1] for name, kind in _annotations(base).items()}
    return {name: (LazyCheck(*annotations[name]), spec) for name, spec in cls.specs().items()}


@functools.cache
def _defaults(cls: type[Options]) -> dict[str, object]:
    return {each.name: each.default for each in fields(cls)}


def _annotations(cls: type) -> dict[str, tuple[object, str]]:
    return {name: (kind, cls.__module__) for name, kind in inspect.get_annotations(cls).items()}


def check_option(name: str, value: object, check: "LazyCheck", spec: OptionSpec) -> None:
    """Raise `InvalidInputError` for a value of a wrong type or out of bounds."""
    if value is None and check(None):
        return
    least, most = spec.least, spec.most
    if check(0) and not check("0"):
        least, most = (-LARGEST if least is None else least), (LARGEST if most is None else most)
    if not check(value) and not (_is_absurd(value) and check(0)):
        raise _wrong_option(name, spec, check.wanted, value)
    if isinstance(value, str):
        check_text(value, what=name)
        size = len(value.strip())
    elif isinstance(value, Collection):
        size = len(cast("Collection[object]", value))
    else:
        size = value if isinstance(value, int | float) else None
    if size is None or isinstance(size, bool):
        return
    if (least is not None and size < least) or (most is not None and size > most):
        raise _wrong_option(name, spec, _range(least, most, size), cast("object", value))


def _wrong_option(name: str, spec: OptionSpec, wanted: str, value: object) -> InvalidInputError:
    message = f"{name} must be {spec.wanted or wanted}, got {shown(value)}"
    return InvalidInputError(message, hint=spec.help, path=name)


def _range(least: float | None, most: float | None, value: float) -> str:
    if most is None or (most == LARGEST and least is not None and value < least):
        return f"at least {least:,}"
    return f"between {least or 0:,} and {most:,}"


def wire_name(name: str, spec: OptionSpec) -> str:
    """An option's name in queries and files."""
    return spec.wire or camel(name)


def options_from_texts(options: type[AnyOptions], given: Iterable[tuple[str, str]]) -> AnyOptions:
    """Options as an address or a command line has them, by their names on the wire; an error names the option."""
    texts: dict[str, list[str]] = {}
    for wire, text in given:
        texts.setdefault(wire, []).append(text)
    required = {each.name for each in fields(options) if each.default is MISSING}
    read: dict[str, Any] = {}
    for name, (check, spec) in option_checks(options).items():
        wire = wire_name(name, spec)
        if found := texts.get(wire):
            read[name] = next(filter(check, _readings(found)), found[0])
            if len(found) > 1 and read[name] is found[0]:
                raise InvalidInputError(f"{wire} is given {len(found)} times", hint="give it once", path=wire)
            check_option(wire, read[name], check, spec)
        elif name in required:
            raise InvalidInputError(f"{wire} is missing", hint=spec.help, path=wire)
    return options(**read)


def _readings(texts: Sequence[str]) -> Iterator[object]:
    """What the texts of one option can mean, the narrowest type first; the option's type decides."""
    if len(texts) == 1:
        text = texts[0]
        if text in {"true", "false"}:
            yield text == "true"
        if _INTEGER.fullmatch(text):
            yield int(text)
        with contextlib.suppress(ValueError):
            yield float(text)
        yield text
        if text.startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                yield json.loads(text)
    yield tuple(texts)


def takes_options(
    options: Callable[P, T],
) -> Callable[[Callable[[S, T], R]], Callable[Concatenate[S, P], R]]:
    """Method decorator: the method takes the fields of `options` as keywords and receives them as one value."""
    cls = cast("type[Options]", options)
    parameters = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY if each.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=each.type,
        )
        for each in sorted(fields(cls), key=lambda each: bool(each.kw_only))
    ]
    names = [parameter.name for parameter in parameters]

    def decorate(method: Callable[[S, T], R]) -> Callable[Concatenate[S, P], R]:
        @functools.wraps(method)
        def called(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
            refuse_unknown(keywords, names, "option")
            return method(self, options(*args, **keywords))

        own = inspect.signature(method)
        me = next(iter(own.parameters.values()))
        cast("Any", called).__signature__ = own.replace(parameters=[me, *parameters])
        return called

    return decorate


_LONGEST_NAME = 100
"""Characters of an unknown name that an error repeats."""


def refuse_unknown(given: Iterable[str], known: Collection[str], what: str, *, path: str = "") -> None:
    """Raise for the first name that is not known, with the nearest that is."""
    for name in given:
        if name not in known:
            import difflib  # noqa: PLC0415 - 4 ms of every start

            short = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
            near = difflib.get_close_matches(short, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"{what}s: {', '.join(known) or 'none'}"
            raise InvalidInputError(f"unknown {what} {path or short!r}", hint=hint, path=path or short)


def shown(value: object) -> str:
    """A given value as an error shows it."""
    if isinstance(value, int) and abs(value) > 10**_SHOWN:
        return "a number of more than 40 digits"
    text = str(value) if isinstance(value, Decimal) else repr(value)
    plain = value is None or isinstance(value, str | bytes | int | float | Decimal)
    return type(value).__name__ if not plain else text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def checks_arguments(cls: type[T]) -> type[T]:
    """Class decorator: check the arguments of every public method."""
    for name, member in list(vars(cls).items()):
        # Methods with options are checked by their options.
        if (
            isinstance(member, types.FunctionType)
            and not name.startswith("_")
            and "__signature__" not in vars(member)
        ):
            setattr(cls, name, check_arguments(member))
    return cls


def check_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Raise `InvalidInputError`, with the argument's name, where a value is of another type than annotated."""
    signature = inspect.signature(function)
    module = function.__module__
    checks = {
        parameter.name: LazyCheck(
            parameter.annotation, module, several=parameter.kind is parameter.VAR_POSITIONAL
        )
        for parameter in signature.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD and parameter.annotation is not parameter.empty
    }

    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    positional = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
    ]
    rest = next((name for name, check in checks.items() if check.several), None)

    @functools.wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> T:
        # Binding them as `inspect` does takes longer than most calls. Which argument is missing
        # or unknown is said by Python's own sentence, below.
        given: dict[str, object] = dict(zip(positional, args, strict=False))
        if rest is not None:
            given[rest] = args[len(positional) :]
        given.update(keywords)
        for name, value in given.items():
            check = checks.get(name)
            if check is not None and value is not defaults[name] and not check(value):
                absurd = _is_absurd(value) and check(0)
                wanted = "a whole number of at most 64 bits" if absurd else check.wanted
                raise InvalidInputError(
                    f"{name} must be {wanted}, got {shown(check.wrong(value))}", path=name
                )
        return function(*args, **keywords)

    return checked


class LazyCheck:
    """A check that resolves its annotation when it is first used: most are never needed."""

    __slots__ = ("_check", "annotation", "module", "several")

    def __init__(self, annotation: object, module: str, *, several: bool = False) -> None:
        self.annotation = annotation
        self.module = module
        self.several = several
        self._check: _Check | None = None

    def __call__(self, value: object) -> bool:
        if self._check is None:
            check = _check(_resolved(self.annotation, self.module))
            self._check = _each(check) if self.several else check
        return self._check(value)

    def wrong(self, value: object) -> object:
        """The value that is of another type: of several arguments, the first."""
        if not self.several:
            return value
        return next(each for each in cast("tuple[object, ...]", value) if not self((each,)))

    @property
    def wanted(self) -> str:
        return _in_words(_resolved(self.annotation, self.module))


def _resolved(annotation: object, module: str) -> object:
    """An annotation as a type, with names that its module imports for type checkers only."""
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, _Names(module))  # noqa: S307 - our own source


class _Names(dict[str, object]):
    """The names of a module; those that only type checkers import are loaded."""

    def __init__(self, module: str) -> None:
        super().__init__(vars(sys.modules[module]))
        self._module = module

    def __missing__(self, name: str) -> object:
        return vars(builtins)[name] if hasattr(builtins, name) else load_name(self._module, name)


def _in_words(annotation: object) -> str:
    if annotation is type(None) or annotation is None:
        return "None"
    if annotation is int:
        return "a whole number"
    if annotation is str:
        return "a string"
    if annotation is float:
        return "a number"
    if annotation is bool:
        return "true or false"
    parts = [part for part in typing.get_args(annotation) if part is not type(None)]
    if parts and typing.get_origin(annotation) in {Union, types.UnionType}:
        return " or ".join(dict.fromkeys(_in_words(part) for part in parts))
    if isinstance(annotation, typing.ForwardRef | str):
        name = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        return name.removesuffix(" | None").replace(" | ", " or ")
    origin = typing.get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Collection) and not issubclass(origin, Mapping):
        return f"a list of {_in_words(parts[0])}" if parts else "a list"
    return getattr(annotation, "__name__", str(annotation).replace("typing.", ""))


def _check(hint: object) -> _Check:
    """How a value of a type is recognised; types that cannot be inspected are not checked."""
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
        return _list_check(cast("type[object]", origin), parts)
    if origin is Callable:
        return callable
    if isinstance(hint, type) and hint is not object and _is_checkable(hint):
        return lambda value: isinstance(value, hint)
    return lambda _value: True


def _is_checkable(hint: type) -> bool:
    return not getattr(hint, "_is_protocol", False) or getattr(hint, "_is_runtime_protocol", False)


def _each(check: _Check) -> _Check:
    return lambda values: all(map(check, cast("Iterable[object]", values)))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value < _LARGEST


def _is_absurd(value: object) -> bool:
    return isinstance(value, int) and not -_LARGEST <= value < _LARGEST


def _list_check(origin: type[object], parts: Sequence[object]) -> _Check:
    if issubclass(origin, Mapping):
        key = _check(parts[0] if parts else object)
        return lambda value: (
            isinstance(value, Mapping) and all(map(key, cast("Mapping[object, object]", value)))
        )
    item = _check(parts[0] if parts and issubclass(origin, Collection) else object)

    def check(value: object) -> bool:
        # A text would be taken apart into its letters.
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, origin):
            return False
        return not isinstance(value, Collection) or all(map(item, cast("Collection[object]", value)))

    return check
