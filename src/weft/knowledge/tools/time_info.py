"""`getTimeInfo`: the current time, and periods as people write them: “last week”, “2026-01 to 2026-03”."""

import calendar
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from weft.context.items.blocks import ToolOutput
from weft.errors import InvalidInputError
from weft.knowledge.retrieval import Period
from weft.knowledge.tools.base import Tool, ToolArguments, ToolContext, say

_INSTRUCTION = "Reckon from this time, and from no other:"
_DAY = timedelta(days=1)
_HOURS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
_DAYS = {"day": _DAY, "week": 7 * _DAY}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NAMES = {"today": "this day", "yesterday": "last day"}
_CALENDARS = re.compile(r"(this|current|last|previous) (day|week|month|quarter|year)")
_ROLLING = re.compile(
    r"(?:the )?(?:past|last|previous) (?:(\d{1,4}|a|an|one) )?(minute|hour|day|week|month|year)s?"
)
_AGO = re.compile(r"(\d{1,4}|a|an|one) (day|week|month|year)s? ago")
_WEEKDAY = re.compile(rf"(?:last |on )?({'|'.join(_WEEKDAYS)})")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_BETWEEN = re.compile(r"(?:from |between )?(.+?)(?: to | until | and |\.\.| – )(.+)")
_OPEN = re.compile(r"(since|after|before|until) (.+)")
_HINT = "for example: today, last week, past 3 days, 2026-01, 2026-01-05 to 2026-02-01, since 2026-03"


def period_of(text: str, now: datetime) -> Period:
    """Read a period as people write it, relative to a moment and in its time zone.

    “last week” is the week before this one, from Monday on; “past week” and “last 7 days” are
    the seven days that end now.
    """
    words = " ".join(text.lower().replace(",", " ").split())
    try:
        period = _single(words, now) or _open(words, now) or _between(words, now)
    except (ValueError, OverflowError):
        period = None
    if period is None:
        raise InvalidInputError(f"{text[:60]!r} is not a period", hint=_HINT)
    # Seconds, because datetimes of one zone compare by the wall clock, which may go back.
    if period.start and period.end and period.start.timestamp() >= period.end.timestamp():
        raise InvalidInputError(f"{text[:60]!r} ends before it begins", hint=_HINT)
    return period


def _single(words: str, now: datetime) -> Period | None:
    words = _NAMES.get(words, words)
    if match := _CALENDARS.fullmatch(words):
        this = _around(now, match[2])
        if match[1] in {"this", "current"} or this.start is None:
            return this
        return _around(this.start - timedelta(microseconds=1), match[2])
    if match := _ROLLING.fullmatch(words):
        return Period(_shifted(now, match[2], -_number(match[1])), now)
    if match := _AGO.fullmatch(words):
        return _around(_shifted(now, match[2], -_number(match[1])), match[2])
    if match := _WEEKDAY.fullmatch(words):
        days = (now.weekday() - _WEEKDAYS.index(match[1])) % 7 or 7
        return _around(now - days * _DAY, "day")
    if match := _DATE.fullmatch(words):
        year, month, day = (int(each) if each else None for each in match.groups())
        start = now.replace(
            day=1 if day is None else day, month=1 if month is None else month, year=year or 0
        )
        return _around(start, "year" if month is None else "month" if day is None else "day")
    return None


def _open(words: str, now: datetime) -> Period | None:
    match = _OPEN.fullmatch(words)
    inner = None if match is None else _single(match[2], now)
    if match is None or inner is None:
        return None
    moment = inner.start if match[1] in {"since", "before"} else inner.end
    return Period(moment, None) if match[1] in {"since", "after"} else Period(None, moment)


def _between(words: str, now: datetime) -> Period | None:
    match = _BETWEEN.fullmatch(words)
    if match is None:
        return None
    first, last = _single(match[1], now), Period(now, now) if match[2] == "now" else _single(match[2], now)
    return None if first is None or last is None else Period(first.start, last.end)


def _around(moment: datetime, unit: str) -> Period:
    """The day, week, month, quarter or year of a moment."""
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        start -= start.weekday() * _DAY
    elif unit in _MONTHS:
        start = start.replace(day=1, month=start.month - (start.month - 1) % _MONTHS[unit])
    return Period(start, _shifted(start, unit, 1))


def _shifted(moment: datetime, unit: str, number: int) -> datetime:
    """A number of units later; of a month that is too short for the day, the last day."""
    if unit in _HOURS:
        # An hour has its full length on a day with 23 of them, too.
        return (moment.astimezone(UTC) + number * _HOURS[unit]).astimezone(moment.tzinfo)
    if unit in _DAYS:
        return moment + number * _DAYS[unit]
    year, month = divmod(moment.year * 12 + moment.month - 1 + number * _MONTHS[unit], 12)
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def _number(word: str | None) -> int:
    return int(word) if word is not None and word.isdigit() else 1


class TimeArguments(ToolArguments):
    time_range: str | None = Field(
        default=None,
        alias="timeRange",
        max_length=100,
        description="A period in words, to get its beginning and end: last week.",
    )
    zone: str | None = Field(
        default=None,
        max_length=100,
        description="A time zone, such as Europe/Berlin; default: that of the machine.",
    )


def _run(desk: ToolContext, asked: TimeArguments) -> ToolOutput:
    now = desk.now if asked.zone is None else desk.now.astimezone(_zone(asked.zone))
    year, week, _ = now.isocalendar()
    lines = [
        f"now: {_shown(now)}",
        f"weekday: {_WEEKDAYS[now.weekday()].capitalize()}",
        f"week: {year}-W{week:02}",
        f"utc: {_shown(now.astimezone(UTC))}",
        f"seconds since 1970: {int(now.timestamp())}",
    ]
    attributes = {} if asked.zone is None else {"zone": asked.zone}
    if asked.time_range is not None:
        attributes["timeRange"] = asked.time_range
        start, end = period_of(asked.time_range, now)
        lines.append(f"begins: {'open' if start is None else _shown(start)}")
        lines.append(f"ends before: {'open' if end is None else _shown(end)}")
    return say("getTimeInfo", _INSTRUCTION, "\n".join(lines), attributes=attributes)


def _shown(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInputError(f"there is no time zone {name!r}", hint="for example Europe/Berlin") from None


GET_TIME_INFO = Tool(
    name="getTimeInfo",
    description="Give the current time, and when “last week” and other periods begin and end.",
    arguments=TimeArguments,
    run=_run,
    pages=True,
)
