"""What JavaScript would say of a value: its JSON, its length, its truth, its number.

Budgets of the service that recipes come from were counted in JavaScript. To cut at the same
message, we count as it does: strings in UTF-16 units, numbers as doubles, objects with
integer-like keys first.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring
from types import MappingProxyType
from typing import Final, NoReturn, cast

from weft.errors import InvalidInputError
from weft.tree.json import JsonValue

_SAFE = 2**53
_DECIMAL_DIGITS = 21
"""From here on JavaScript writes numbers with an exponent."""
_LEADING_ZEROS = 6
_LONGEST_WHOLE = 308
"""With more digits a number may be beyond what a double can hold, and is read as one."""
_LAST_INDEX = 2**32 - 2
_DIGITS = frozenset("0123456789")
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMERIC = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_RADIX = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_BLANK: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def utf16_units(text: str) -> int:
    """The text's `length`."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) >> 1


def slice_units(text: str, end: float) -> str:
    """`text.slice(0, end)`: a cut may fall inside an emoji and leave half of it."""
    if math.isnan(end):
        return ""
    if text.isascii():
        return text[: _stop(end, len(text))]
    units = text.encode("utf-16-le", "surrogatepass")
    return units[: 2 * _stop(end, len(units) >> 1)].decode("utf-16-le", "surrogatepass")


def _stop(end: float, length: int) -> int:
    """Where a slice ends: fractions are cut off, and what is negative counts from the end."""
    if abs(end) >= length:
        return length if end > 0 else 0
    whole = int(end)
    return whole if whole >= 0 else length + whole


def trim(text: str) -> str:
    """`text.trim()`: a byte order mark is blank, a file separator is not."""
    return text.strip(_BLANK)


def number_text(number: float) -> str:
    """`String(number)`: whole numbers beyond 2⁵³ lose what a double cannot hold."""
    if isinstance(number, int):
        if -_SAFE <= number <= _SAFE:
            return str(int(number))
        number = _double(number)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    digits, point = _digits_of(abs(number))
    return sign + _placed(digits, point)


def _double(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _digits_of(number: float) -> tuple[str, int]:
    """The fewest digits that mean this number, and how many of them stand before the point."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    return digits.strip("0"), point - leading


def _placed(digits: str, point: int) -> str:
    count = len(digits)
    if count <= point <= _DECIMAL_DIGITS:
        return digits + "0" * (point - count)
    if 0 < point <= _DECIMAL_DIGITS:
        return f"{digits[:point]}.{digits[point:]}"
    if -_LEADING_ZEROS < point <= 0:
        return f"0.{'0' * -point}{digits}"
    exponent = point - 1
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{rest}e{'+' if exponent > 0 else '-'}{abs(exponent)}"


def compact_json(value: object) -> str:
    """`JSON.stringify(value)`."""
    parts: list[str] = []
    try:
        _write(value, parts.append)
    except RecursionError:
        raise InvalidInputError("a value is nested too deeply to be written as JSON") from None
    return "".join(parts)


def json_units(value: object) -> int:
    """How long the value's JSON is, in UTF-16 units."""
    return utf16_units(compact_json(value))


def _write(value: object, put: Callable[[str], object]) -> None:
    kind = type(value)
    # The common kinds by their very type: asking whether a string is a mapping takes longer than writing it.
    if kind is str:
        put(_quoted(cast("str", value)))
    elif kind is dict:
        _write_object(cast("dict[object, object]", value), put)
    elif value is None:
        put("null")
    elif isinstance(value, str):
        put(_quoted(value))
    elif isinstance(value, bool):
        put("true" if value else "false")
    elif isinstance(value, int | float):
        text = number_text(value)
        put("null" if text[-1] in "yN" else text)
    elif isinstance(value, list | tuple):
        before = "["
        for item in cast("Sequence[object]", value):
            put(before)
            _write(item, put)
            before = ","
        put("]" if before == "," else "[]")
    elif isinstance(value, Mapping):
        _write_object(cast("Mapping[object, object]", value), put)
    else:
        raise InvalidInputError(f"JSON has no {kind.__name__}")


def _write_object(fields: Mapping[object, object], put: Callable[[str], object]) -> None:
    before = "{"
    for name in property_order(fields) if any(map(_comes_first, fields)) else fields:
        put(before)
        put(_named(name))
        _write(fields[name], put)
        before = ","
    put("}" if before == "," else "{}")


@lru_cache(maxsize=1024)
def _named(name: object) -> str:
    """A name as it is written; the same few stand in nearly every message."""
    if not isinstance(name, str):
        raise InvalidInputError(f"a name in a JSON object must be a string, got {name!r}")
    return _quoted(name) + ":"


def _quoted(text: str) -> str:
    quoted = encode_basestring(text)
    if quoted.isascii():
        return quoted
    try:
        quoted.encode()
    except UnicodeEncodeError:
        # Halves that meet are a whole character; only those left alone are escaped.
        joined = quoted.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", joined)
    return quoted


def property_order(fields: Mapping[object, object] | Mapping[str, object]) -> list[str]:
    """The names of an object in the order in which JavaScript goes through them."""
    names = [str(name) for name in fields]
    indexes = [name for name in names if _comes_first(name)]
    if not indexes:
        return names
    return [*sorted(indexes, key=int), *(name for name in names if not _comes_first(name))]


def _comes_first(name: object) -> bool:
    """Whether a name could be an array's index."""
    if not isinstance(name, str) or name[:1] not in _DIGITS:
        return False
    return _INDEX.fullmatch(name) is not None and int(name) <= _LAST_INDEX


def parse_json(text: str) -> JsonValue:
    """`JSON.parse(text)`; a `ValueError` if it is not JSON."""
    try:
        return cast("JsonValue", _DECODER.decode(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _whole(digits: str) -> float:
    return float(digits) if len(digits) > _LONGEST_WHOLE else int(digits)


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_int=_whole)


def is_truthy(value: object) -> bool:
    """`Boolean(value)`: empty lists and objects are true."""
    if value is None or value is False:
        return False
    if isinstance(value, str):
        return value != ""
    if isinstance(value, float):
        return bool(value) and not math.isnan(value)
    return value != 0


def number_of(value: object) -> float:
    """`Number(value)` of what JSON can hold; a list is the number that its text is."""
    if value is None:
        return 0.0
    if isinstance(value, int):
        return _double(value)
    if isinstance(value, float):
        return value
    if isinstance(value, list | tuple):
        value = string_of(cast("object", value))
    return _number_in(trim(value)) if isinstance(value, str) else math.nan


def _number_in(text: str) -> float:
    if not text:
        return 0.0
    if _NUMERIC.fullmatch(text):
        return float(text)
    return _double(int(text, 0)) if _RADIX.fullmatch(text) else math.nan


_NOTHING: Mapping[str, object] = MappingProxyType({})


def fields_of(value: object) -> Mapping[str, object]:
    """What `value?.name` can find: the fields of an object, nothing in anything else."""
    if type(value) is dict or isinstance(value, Mapping):
        return cast("Mapping[str, object]", value)
    return _NOTHING


def items_of(value: object) -> Sequence[object]:
    """The items of an array, nothing of anything else."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def string_of(value: object) -> str:
    """`String(value)` of what JSON can hold."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return number_text(value)
        case list() | tuple():
            items = cast("Sequence[object]", value)
            return ",".join("" if item is None else string_of(item) for item in items)
        case _:
            return "[object Object]"
