"""`getTimeInfo`: what time it is, and when something is that is said in words."""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from weft.context.layers.blocks import ToolOutput
from weft.errors import InvalidInputError
from weft.knowledge.periods import period_of
from weft.knowledge.tools.base import Desk, Tool, ToolArguments
from weft.knowledge.tools.tool_output import say

_INSTRUCTION = "Reckon from this time, and from no other:"
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class TimeArguments(ToolArguments):
    time_range: str | None = Field(
        default=None,
        alias="timeRange",
        max_length=100,
        description="A stretch of time in words, to be told its beginning and end: last week.",
    )
    zone: str | None = Field(
        default=None,
        max_length=100,
        description="A time zone, such as Europe/Berlin; else that of the machine.",
    )


def _run(desk: Desk, asked: TimeArguments) -> ToolOutput:
    now = desk.now if asked.zone is None else desk.now.astimezone(_zone(asked.zone))
    year, week, _ = now.isocalendar()
    lines = [
        f"now: {_shown(now)}",
        f"weekday: {_DAYS[now.weekday()]}",
        f"week: {year}-W{week:02}",
        f"utc: {datetime.fromtimestamp(now.timestamp(), ZoneInfo('UTC')).isoformat(timespec='seconds')}",
        f"seconds since 1970: {int(now.timestamp())}",
    ]
    attributes = {name: value for name, value in (("zone", asked.zone),) if value is not None}
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
        raise InvalidInputError(f"there is no time zone {name!r}", hint="such as Europe/Berlin") from None


GET_TIME_INFO = Tool(
    name="getTimeInfo",
    description="Tell the time, and when “last week” and the like begin and end.",
    arguments=TimeArguments,
    run=_run,
)
