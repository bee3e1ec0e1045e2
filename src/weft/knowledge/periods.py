"""Stretches of time as people say them: “last week”, “past 3 days”, “2026-01 to 2026-03”."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from weft.errors import InvalidInputError

_DAY = timedelta(days=1)
_HOURS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
_DAYS = {"day": _DAY, "week": 7 * _DAY}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NAMES = {"today": ("this", "day"), "yesterday": ("last", "day")}
_CALENDARS = re.compile(r"(this|current|last|previous) (day|week|month|quarter|year)")
_ROLLING = re.compile(
    r"(?:the )?(?:past|last|previous) (?:(\d{1,4}|a|an|one) )?(minute|hour|day|week|month|year)s?"
)
_AGO = re.compile(r"(\d{1,4}|a|an|one) (day|week|month|year)s? ago")
_WEEKDAY = re.compile(rf"(?:last |on )?({'|'.join(_WEEKDAYS)})")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_BETWEEN = re.compile(r"(?:from |between )?(.+?)(?: to | until | and |\.\.| – )(.+)")
_OPEN = re.compile(r"(since|after|before|until) (.+)")
_HINT = "say it as: today, last week, past 3 days, 2026-01, 2026-01-05 to 2026-02-01, since 2026-03"


class Period(NamedTuple):
    """From a moment to another, which is no longer part of it; None where it is open."""

    start: datetime | None
    end: datetime | None

    def has(self, moment: datetime) -> bool:
        return (self.start is None or moment >= self.start) and (self.end is None or moment < self.end)


def period_of(text: str, now: datetime) -> Period:
    """What somebody means by a stretch of time, seen from a moment and in its zone.

    “last week” is the week before this one, from Monday on; “past week” and “last 7 days” are
    the seven days that end now.
    """
    said = " ".join(text.lower().replace(",", " ").split())
    try:
        found = _single(said, now) or _open(said, now) or _between(said, now)
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise InvalidInputError(f"{text[:60]!r} is no stretch of time", hint=_HINT)
    # Seconds, because within one zone datetimes compare by the clock on the wall, which may go back.
    if found.start and found.end and found.start.timestamp() >= found.end.timestamp():
        raise InvalidInputError(f"{text[:60]!r} ends before it begins", hint=_HINT)
    return found


def _single(said: str, now: datetime) -> Period | None:
    if said in _NAMES:
        return _calendar(*_NAMES[said], now)
    if found := _CALENDARS.fullmatch(said):
        return _calendar("this" if found[1] in {"this", "current"} else "last", found[2], now)
    if found := _ROLLING.fullmatch(said):
        return Period(_back(now, _number(found[1]), found[2]), now)
    if found := _AGO.fullmatch(said):
        return _around(_back(now, _number(found[1]), found[2]), found[2])
    if found := _WEEKDAY.fullmatch(said):
        days = (now.weekday() - _WEEKDAYS.index(found[1])) % 7 or 7
        return _around(now - days * _DAY, "day")
    if found := _DATE.fullmatch(said):
        year, month, day = (int(each) if each else None for each in found.groups())
        first = _midnight(now).replace(day=1, month=1)
        start = first.replace(
            year=year or 0, month=1 if month is None else month, day=1 if day is None else day
        )
        return _around(start, "year" if month is None else "month" if day is None else "day")
    return None


def _open(said: str, now: datetime) -> Period | None:
    found = _OPEN.fullmatch(said)
    inner = None if found is None else _single(found[2], now)
    if found is None or inner is None:
        return None
    match found[1]:
        case "since":
            return Period(inner.start, None)
        case "after":
            return Period(inner.end, None)
        case "before":
            return Period(None, inner.start)
        case _:
            return Period(None, inner.end)


def _between(said: str, now: datetime) -> Period | None:
    found = _BETWEEN.fullmatch(said)
    if found is None:
        return None
    if found[2] == "now":
        first, last = _single(found[1], now), Period(now, now)
    else:
        first, last = _single(found[1], now), _single(found[2], now)
    return None if first is None or last is None else Period(first.start, last.end)


def _calendar(which: str, unit: str, now: datetime) -> Period:
    this = _around(now, unit)
    if which == "this" or this.start is None:
        return this
    return _around(this.start - timedelta(microseconds=1), unit)


def _around(moment: datetime, unit: str) -> Period:
    """The day, week, month, quarter or year that a moment lies in."""
    start = _midnight(moment)
    match unit:
        case "day":
            return Period(start, _midnight(start + _DAY))
        case "week":
            start -= start.weekday() * _DAY
            return Period(start, start + 7 * _DAY)
        case "month":
            start = start.replace(day=1)
            return Period(start, _months_on(start, 1))
        case "quarter":
            start = start.replace(day=1, month=(start.month - 1) // 3 * 3 + 1)
            return Period(start, _months_on(start, 3))
        case _:
            start = start.replace(day=1, month=1)
            return Period(start, _months_on(start, 12))


def _back(now: datetime, number: int, unit: str) -> datetime:
    if unit in _HOURS:
        # Hours are as long as ever on a day that has 23 of them.
        return (now.astimezone(UTC) - number * _HOURS[unit]).astimezone(now.tzinfo)
    if unit in _DAYS:
        return now - number * _DAYS[unit]
    start = _months_on(now.replace(day=1), -number * (12 if unit == "year" else 1))
    last = (_months_on(start, 1) - _DAY).day
    return start.replace(day=min(now.day, last))


def _months_on(moment: datetime, number: int) -> datetime:
    """A first of a month, so many months later."""
    months = moment.year * 12 + moment.month - 1 + number
    return moment.replace(year=months // 12, month=months % 12 + 1)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _number(said: str | None) -> int:
    return int(said) if said is not None and said.isdigit() else 1
