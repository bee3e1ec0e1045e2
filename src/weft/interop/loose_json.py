"""Loose reading of other programs' JSON: a value of the wrong type counts as absent."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import cast

import orjson

from weft.tree.json import JsonObject, JsonValue

NOTHING: JsonObject = {}
_MILLISECONDS = 10_000_000_000
"""A number above this many seconds since 1970 is a time in milliseconds."""
_MICROSECONDS = 10_000_000_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SPELLED = (
    "%B %d, %Y %I:%M%p",
    "%b %d, %Y %I:%M%p",
    "%Y-%m-%d-%H.%M.%S",
    "%Y/%m/%d %H:%M:%S",
)
_FRACTION = re.compile(r"(\.\d{6})\d+")
_AT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?\d+ms)?\Z")
_KEY = re.compile(r"(api[-_ ]?key|secret|access[-_ ]?token|password|authorization)", re.IGNORECASE)
_KEY_LENGTH = 8
_SEARCHED = 100_000
_SMALLEST = 1e-10


def mapping(value: JsonValue) -> JsonObject:
    """An object; anything else is an empty one."""
    return value if isinstance(value, Mapping) else NOTHING


def sequence(value: JsonValue) -> Sequence[JsonValue]:
    """A list; anything else is an empty one."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def text(value: JsonValue) -> str:
    """A string, or a number as one; anything else is empty."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def first_text(source: JsonObject, *names: str) -> str:
    """The first of these fields that holds text."""
    return next((found for name in names if (found := text(source.get(name)))), "")


def moment(value: JsonValue) -> datetime | None:
    """A time in any form that the programs write; None if it is not one."""
    if isinstance(value, Mapping):
        date = value.get("$date", value.get("seconds"))
        return moment(mapping(date).get("$numberLong") if isinstance(date, Mapping) else date)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_number(float(value))
    return _from_text(value.strip()) if isinstance(value, str) else None


def _from_number(value: float) -> datetime | None:
    if not math.isfinite(value) or value <= 0:
        return None
    if value > _MICROSECONDS:
        value /= 1_000_000
    elif value > _MILLISECONDS:
        value /= 1_000
    try:
        return _EPOCH + timedelta(seconds=value)
    except OverflowError:
        return None


def _from_text(value: str) -> datetime | None:
    if re.fullmatch(r"\d{9,17}(\.\d+)?", value):
        return _from_number(float(value))
    if at := _AT.match(value):
        year, month, day, hour, minute, second = map(int, at.groups())
        return _zoned(lambda: datetime(year, month, day, hour, minute, second, tzinfo=UTC))
    read = _zoned(lambda: datetime.fromisoformat(_FRACTION.sub(r"\1", value.replace("Z", "+00:00"))))
    if read is not None:
        return read
    compact = re.sub(r"\s+(am|pm)$", r"\1", value, flags=re.IGNORECASE)
    spelled = (_zoned(partial(_parsed, compact, form)) for form in _SPELLED)
    return next((each for each in spelled if each is not None), None)


def _parsed(value: str, form: str) -> datetime:
    return datetime.strptime(value, form).replace(tzinfo=UTC)


def _zoned(read: Callable[[], datetime]) -> datetime | None:
    try:
        value = read()
        return (value if value.tzinfo is not None else value.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def loads(data: bytes | str) -> JsonValue:
    """JSON text inside JSON; what cannot be read is None."""
    try:
        return cast("JsonValue", orjson.loads(data))
    except orjson.JSONDecodeError:
        return None


def arguments_of(value: JsonValue) -> JsonValue:
    """The arguments of a tool call: an object, or JSON text of one; other text stays text."""
    if not isinstance(value, str):
        return value
    read = loads(value)
    return value if read is None and value.strip() != "null" else read


def number_of(value: JsonValue) -> float | None:
    """A finite number; anything else is None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def read_chances(value: JsonValue) -> tuple[JsonValue, ...]:
    """Token probabilities in either of OpenAI's shapes: columns of a completion, or a list of tokens."""
    columns = mapping(value)
    tokens = sequence(columns.get("tokens"))
    if tokens:
        logs, tops = sequence(columns.get("token_logprobs")), sequence(columns.get("top_logprobs"))
        rows = [
            (text(token), logs[at] if at < len(logs) else None, tops[at] if at < len(tops) else None)
            for at, token in enumerate(tokens)
        ]
    else:
        listed = [mapping(each) for each in sequence(columns.get("content", value))]
        rows = [
            (first_text(each, "token", "text"), each.get("logprob"), each.get("top_logprobs"))
            for each in listed
        ]
    read: list[JsonValue] = []
    for token, log, top in rows:
        own = number_of(log)
        # The first token of a completion has no probability of its own.
        if own is not None:
            read.append(chance(token, own, _alternatives(top)))
    return tuple(read)


def _alternatives(value: JsonValue) -> list[tuple[str, float]]:
    if isinstance(value, Mapping):
        pairs = [(str(name), number_of(log)) for name, log in value.items()]
    else:
        listed = [mapping(each) for each in sequence(value)]
        pairs = [(first_text(each, "token", "text"), number_of(each.get("logprob"))) for each in listed]
    return [(name, log) for name, log in pairs if log is not None]


def logarithm(probability: JsonValue) -> float | None:
    """The natural logarithm of a probability; None if it is not one."""
    if isinstance(probability, bool) or not isinstance(probability, int | float):
        return None
    # Programs write 0 for what is smaller than they show.
    return math.log(max(probability, _SMALLEST)) if math.isfinite(probability) and probability <= 1 else None


def chance(token: str, log: float, others: Iterable[tuple[str, float]]) -> JsonObject:
    """A token with its probability, and those it might have been, as OpenAI writes them."""
    tops: list[JsonValue] = [
        {"token": name, "logprob": each} for name, each in sorted(others, key=lambda other: -other[1])
    ]
    return {"token": token, "logprob": log, "top_logprobs": tops}


def secret_names(value: JsonValue) -> list[str]:
    """Names of fields in settings that hold a key, for a note that they were left out."""
    names: dict[str, None] = {}
    pending: list[tuple[str, JsonValue]] = [("", value)]
    seen = 0
    while pending and seen < _SEARCHED:
        path, here = pending.pop()
        seen += 1
        if isinstance(here, Mapping):
            pending.extend((f"{path}.{key}" if path else str(key), inner) for key, inner in here.items())
        elif isinstance(here, str) and len(here) >= _KEY_LENGTH and _KEY.search(path.rpartition(".")[2]):
            names[path] = None
    return list(names)
