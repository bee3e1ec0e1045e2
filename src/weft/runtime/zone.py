"""The time zone of this machine, with its summers and winters."""

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo

__all__ = ["MACHINE_ZONE"]


class _MachineZone(tzinfo):
    """Asked of the system for every moment: an offset of today is wrong for half of the year."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None if moment is None else _offset(moment).utcoffset(None)

    def dst(self, _moment: datetime | None) -> None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None if moment is None else _offset(moment).tzname(None)

    def fromutc(self, moment: datetime) -> datetime:
        local = moment.replace(tzinfo=UTC).astimezone()
        found = local.replace(tzinfo=self, fold=0)
        return found if found.utcoffset() == local.utcoffset() else found.replace(fold=1)


def _offset(moment: datetime) -> tzinfo:
    try:
        return moment.replace(tzinfo=None).astimezone().tzinfo or UTC
    except (OverflowError, ValueError, OSError):
        # Times at the ends of the calendar, of which the system knows nothing.
        return timezone(timedelta(seconds=-time.timezone))


MACHINE_ZONE = _MachineZone()
