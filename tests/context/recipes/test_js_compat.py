"""Values as JavaScript sees them: a record of what it says, and the rules stated a second time."""

import json
import math
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.context.recipes.js_compat import (
    compact_json,
    is_truthy,
    json_units,
    number_of,
    number_text,
    parse_json,
    slice_units,
    string_of,
    trim,
    utf16_units,
)
from weft.errors import InvalidInputError

RECORD = Path(__file__).parents[2] / "data" / "js_compat" / "recorded.jsonl"
ROWS = [json.loads(line) for line in RECORD.read_text().splitlines()]


def recorded(kind):
    found = [row for row in ROWS if row["kind"] == kind]
    assert found
    return found


@covers("tokens.json-for-estimates")
def test_json_is_what_javascript_writes():
    for row in recorded("json"):
        found = compact_json(parse_json(row["text"]))
        assert found == row["json"], row
        assert utf16_units(found) == row.get("units", len(found))


@covers("tokens.javascript-reading")
def test_what_javascript_takes_for_json_is_json():
    for row in recorded("valid"):
        try:
            parse_json(row["text"])
        except ValueError:
            assert not row["valid"], row
        else:
            assert row["valid"], row


@covers("filter.size-pre-cut")
def test_a_cut_falls_where_javascript_cuts():
    for row in recorded("slice"):
        assert slice_units(row["text"], row["end"]) == row["found"], row
        assert utf16_units(row["text"]) == row["units"]


@covers("tokens.javascript-reading")
def test_a_number_beyond_any_double_is_true_and_read_as_infinite():
    assert is_truthy(10**350)
    assert parse_json(f"[{10**350}, -{10**350}]") == [math.inf, -math.inf]
    assert number_of(10**350) == math.inf


@covers("tokens.javascript-reading")
def test_blanks_truth_numbers_and_cases_are_javascripts():
    for row in recorded("trim"):
        assert trim(row["text"]) == row["found"], row
    for row in recorded("truth"):
        assert is_truthy(row["value"]) is row["found"], row
    for row in recorded("number"):
        assert number_text(number_of(row["value"])) == row["found"], row
    for row in recorded("case"):
        assert (row["text"].lower(), row["text"].upper()) == (row["lower"], row["upper"]), row


# The rules once more, slowly and by other means.

anything = st.characters(codec=None, exclude_categories=())
texts = st.text(anything, max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts | st.integers(0, 12).map(str), inner, max_size=4)
    ),
    max_leaves=12,
)


def units_of(text):
    """UTF-16 by hand; halves that meet are one character."""
    found = []
    for character in text:
        code = ord(character)
        if code > 0xFFFF:
            found += [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)]
        else:
            found.append(code)
    return found


SHORT = {0x22: '\\"', 0x5C: "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}


def quoted_units(text):
    units, found, index = units_of(text), [], 0
    while index < len(units):
        unit = units[index]
        paired = 0xD800 <= unit < 0xDC00 and index + 1 < len(units) and 0xDC00 <= units[index + 1] < 0xE000
        if unit in SHORT:
            found += units_of(SHORT[unit])
        elif unit < 0x20 or (0xD800 <= unit < 0xE000 and not paired):
            found += units_of(f"\\u{unit:04x}")
        elif paired:
            found += units[index : index + 2]
            index += 1
        else:
            found.append(unit)
        index += 1
    return [0x22, *found, 0x22]


def number_by_hand(number):
    """The shortest digits that mean the same double, in JavaScript's layout."""
    double = float(number) if abs(number) < 2**1024 else math.inf
    if not math.isfinite(double):
        return "null"
    if double == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(double)).normalize().as_tuple()
    shown = "".join(map(str, digits))
    point = len(shown) + exponent
    if point > 21 or point <= -6:
        head = shown if len(shown) == 1 else f"{shown[0]}.{shown[1:]}"
        text = f"{head}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    elif point <= 0:
        text = "0." + "0" * -point + shown
    elif point >= len(shown):
        text = shown + "0" * (point - len(shown))
    else:
        text = f"{shown[:point]}.{shown[point:]}"
    return "-" * sign + text


def units_by_hand(value):
    if value is None or isinstance(value, bool):
        return units_of({None: "null", True: "true", False: "false"}[value])
    if isinstance(value, int | float):
        return units_of(number_by_hand(value))
    if isinstance(value, str):
        return quoted_units(value)
    if isinstance(value, list):
        inner = [units_by_hand(item) for item in value]
        return [0x5B, *joined(inner), 0x5D]
    indexes = [name for name in value if name.isascii() and name.isdigit() and str(int(name)) == name]
    indexes = sorted((name for name in indexes if int(name) < 2**32 - 1), key=int)
    names = indexes + [name for name in value if name not in indexes]
    inner = [[*quoted_units(name), 0x3A, *units_by_hand(value[name])] for name in names]
    return [0x7B, *joined(inner), 0x7D]


def joined(parts):
    found = []
    for part in parts:
        found += [0x2C, *part] if found else part
    return found


@covers("tokens.json-for-estimates")
@given(values)
def test_json_follows_the_rules_for_any_value(value):
    text = compact_json(value)
    assert units_of(text) == units_by_hand(value)
    assert json_units(value) == len(units_by_hand(value))


@given(texts, st.integers(-40, 70))
def test_cutting_and_counting_agree_for_any_text(text, end):
    units = units_of(text)
    expected = units[:end] if end >= 0 else units[: max(0, len(units) + end)]
    assert units_of(slice_units(text, end)) == expected
    assert utf16_units(text) == len(units)


@given(values)
def test_what_is_written_can_be_read_again_and_says_the_same(value):
    text = compact_json(value)
    assert compact_json(parse_json(text)) == text


@pytest.mark.parametrize("value", [{"a": object()}, {1: "a"}, [b"bytes"], {"a": {2, 3}}])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(InvalidInputError):
        compact_json(value)


@pytest.mark.outer
def test_depth_beyond_reason_is_refused_and_not_a_crash():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInputError, match="nested too deeply"):
        compact_json(deep)
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000 + "]" * 100_000)
    while deep:
        (deep,) = deep


def test_anything_is_a_string():
    said = {
        "a": "a",
        "null": None,
        "true": True,
        "0": -0.0,
        "1,,2,x": [1, None, [2, "x"]],
        "": [],
        "1e+21": 1e21,
    }
    assert {string_of(value) for value in said.values()} == set(said)
    assert string_of({"a": 1}) == "[object Object]"
