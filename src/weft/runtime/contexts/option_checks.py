"""Checking wishes to models where they are said: a misspelt one is not a smaller one, and nonsense has a name."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from weft.context.tokens import Estimator
from weft.errors import InvalidInputError
from weft.tree.content import check_text
from weft.tree.node import Identified

LARGEST = 2**53
"""Whole numbers beyond are not the same to everybody who reads JSON."""
_LONGEST_WAIT = 3_600
_KEY_LIMIT = 255
_STOPS = 100
_STOP_LIMIT = 1_000
_SHOWN = 40
_LEAVE = "leave it out, and it is as usual"


def check_known(given: Collection[str], known: Collection[str], what: str) -> None:
    """Refuse what nobody would look at."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise InvalidInputError(f"{what} cannot be wished for by {name!r}", hint=hint)


def check_generation(given: Mapping[str, Any]) -> None:
    """What a generation may be told."""
    # What is kept with the request, as JSON, and asked of providers, who read it as such.
    for name, least, most in (
        ("n", 1, LARGEST),
        ("limit", 0, LARGEST),
        ("window", 1, LARGEST),
        ("max_tokens", 1, LARGEST),
        ("seed", -LARGEST, LARGEST),
        ("logprobs", 0, 100),
    ):
        _whole(given, name, least, most)
    _number(given, "temperature", 0, 10)
    _number(given, "top_p", 0, 1)
    _number(given, "timeout", 0, _LONGEST_WAIT)
    if given.get("timeout") == 0:
        raise InvalidInputError("a timeout of 0 seconds makes no sense", hint="more than 0, at most an hour")
    _check_stops(given.get("stop"))
    _check_fitting(given)
    _text(given, "agent", "the name or id of an agent")
    _text(given, "idempotency_key", f"a text of at most {_KEY_LIMIT} characters", _KEY_LIMIT)
    for each in listed(given.get("agents", ()), "agents", "names or ids"):
        _text({"agents": each or 0}, "agents", "names or ids of model agents")
    if not isinstance(given.get("unattended", False), bool):
        raise _wrong("unattended", "true or false", given["unattended"])
    if not (given.get("assembly") is None or callable(given["assembly"])):
        raise _wrong("assembly", "a function that puts a request together", given["assembly"])


def listed(given: object, name: str, what: str) -> Sequence[Any]:
    """Several of something; a single text would be taken apart into its letters."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence | set | frozenset):
        raise InvalidInputError(f"{name} are given as a list", hint=f"of {what}: {name}=[…]", path=name)
    return list(cast("Collection[Any]", given))


def node_references(nodes: Iterable[Identified | str], name: str) -> tuple[str, ...]:
    """Nodes, or what names them."""
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - what callers without types give
        raise InvalidInputError(
            "nodes are given as a list", hint=f"of nodes or their ids: {name}=[…]", path=name
        )
    return tuple(_reference(node, name) for node in nodes)


def _reference(node: object, name: str) -> str:
    found = node if isinstance(node, str) else getattr(node, "id", None)
    if not isinstance(found, str):
        raise _wrong(name, "nodes or their ids", node)
    return found


def _whole(given: Mapping[str, Any], name: str, least: int, most: int | None = None) -> None:
    value = given.get(name)
    if value is None and (name != "n" or name not in given):
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, "a whole number", value)
    _check_range(name, value, least, most)


def _number(given: Mapping[str, Any], name: str, least: float, most: float) -> None:
    value = given.get(name)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - not a number
        raise _wrong(name, "a number", value)
    _check_range(name, value, least, most)


def _check_range(name: str, value: float, least: float, most: float | None) -> None:
    if value < least or (most is not None and value > most):
        if most is None or (most == LARGEST and value < least):
            raise _wrong(name, f"at least {least:,}", value)
        raise _wrong(name, f"between {least:,} and {most:,}", value)


def _text(given: Mapping[str, Any], name: str, wanted: str, limit: int = 10_000) -> None:
    value = given.get(name)
    if value is None:
        return
    if not isinstance(value, str) or not value.strip() or len(value) > limit:
        raise _wrong(name, wanted, value)
    check_text(value, what=name)


def _check_fitting(given: Mapping[str, Any]) -> None:
    """How the context is fitted, as far as it is not a number."""
    preferences = given.get("preferences", {})
    if not isinstance(preferences, Mapping) or not all(
        isinstance(name, str) for name in cast("Mapping[object, object]", preferences)
    ):
        raise _wrong("preferences", "settings by their names", cast("object", preferences))
    estimator = given.get("estimator")
    if not (estimator is None or isinstance(estimator, str | Estimator) or callable(estimator)):
        raise _wrong("estimator", "an estimator, or the name of one", estimator)


def _check_stops(stops: object) -> None:
    if stops is None:
        return
    found = listed(stops, "stop", "texts that end the answer")
    if len(found) > _STOPS:
        raise InvalidInputError(f"{len(found):,} stop sequences are too many", hint=f"at most {_STOPS}")
    for each in found:
        if not isinstance(each, str) or not 0 < len(each) <= _STOP_LIMIT:
            raise _wrong("stop", "texts that end the answer, none of them empty", each)
        check_text(each, what="a stop sequence")


def _wrong(name: str, wanted: str, value: object) -> InvalidInputError:
    return InvalidInputError(f"{name} must be {wanted}, got {shown(value)}", hint=_LEAVE, path=name)


def shown(value: object) -> str:
    """Something that was given, as an error shows it."""
    if isinstance(value, int) and abs(value) > 10**_SHOWN:
        return "a number without measure"
    told = str(value) if isinstance(value, Decimal) else repr(value)
    plain = isinstance(value, str | int | float | Decimal)
    return type(value).__name__ if not plain else told if len(told) <= _SHOWN else f"{told[:_SHOWN]}…"
