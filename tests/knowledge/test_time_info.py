"""Stretches of time, as people say them."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.errors import InvalidInputError
from weft.knowledge.tools.time_info import period_of

NOW = datetime(2026, 3, 31, 15, 30, tzinfo=timezone(timedelta(hours=2)))
"""A Tuesday."""
ZEROS = ("2026-00", "2026-01-00", "0000")


@covers("toolcall.time-range")
@pytest.mark.parametrize(
    ("said", "start", "end"),
    [
        ("today", "2026-03-31", "2026-04-01"),
        ("Yesterday", "2026-03-30", "2026-03-31"),
        ("this week", "2026-03-30", "2026-04-06"),
        ("last week", "2026-03-23", "2026-03-30"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("previous quarter", "2025-10-01", "2026-01-01"),
        ("this year", "2026-01-01", "2027-01-01"),
        ("past week", "2026-03-24T15:30", "2026-03-31T15:30"),
        ("last 3 days", "2026-03-28T15:30", "2026-03-31T15:30"),
        ("the past 90 minutes", "2026-03-31T14:00", "2026-03-31T15:30"),
        ("past month", "2026-02-28T15:30", "2026-03-31T15:30"),
        ("2 weeks ago", "2026-03-16", "2026-03-23"),
        ("last monday", "2026-03-30", "2026-03-31"),
        ("tuesday", "2026-03-24", "2026-03-25"),
        ("2025", "2025-01-01", "2026-01-01"),
        ("2026-02", "2026-02-01", "2026-03-01"),
        ("2026-02-28", "2026-02-28", "2026-03-01"),
        ("2026-01-05 to 2026-02-01", "2026-01-05", "2026-02-02"),
        ("between 2025 and last month", "2025-01-01", "2026-03-01"),
        ("2026-03..now", "2026-03-01", "2026-03-31T15:30"),
        ("since 2026-02", "2026-02-01", None),
        ("after last week", "2026-03-30", None),
        ("before 2026", None, "2026-01-01"),
        ("until yesterday", None, "2026-03-31"),
    ],
)
def test_what_is_said_and_what_is_meant(said, start, end):
    found = period_of(said, NOW)
    assert [each and each.isoformat()[:16] for each in found] == [
        each and (each if "T" in each else f"{each}T00:00") for each in (start, end)
    ]
    assert all(each is None or each.tzinfo is NOW.tzinfo for each in found)


@covers("toolcall.time-range")
@pytest.mark.parametrize(
    "said",
    ["", "soon", "last", "2026-13", "2026-02-30", "3 days", "2026 to 2025", "to", "past 0 days", "0", *ZEROS],
)
def test_what_means_no_time_is_refused_with_what_would(said):
    with pytest.raises(InvalidInputError) as caught:
        period_of(said, NOW)
    assert "last week" in caught.value.hint


@given(st.text(max_size=40))
def test_whatever_is_typed_is_a_period_or_refused(said):
    try:
        found = period_of(said, NOW.astimezone(UTC))
    except InvalidInputError:
        return
    assert found.start is None or found.end is None or found.start < found.end


BERLIN = ZoneInfo("Europe/Berlin")


@covers("toolcall.time-range")
def test_months_begin_at_midnight_in_summer_and_winter_and_hours_are_whole():
    winter = datetime(2026, 11, 2, 9, 0, tzinfo=BERLIN)
    start, end = period_of("last month", winter)
    assert [start.isoformat(), end.isoformat()] == ["2026-10-01T00:00:00+02:00", "2026-11-01T00:00:00+01:00"]
    clock_went_back = datetime(2026, 10, 25, 2, 10, tzinfo=BERLIN, fold=1)
    start, end = period_of("past hour", clock_went_back)
    assert end.timestamp() - start.timestamp() == 3600
