"""What may happen to a context that is too long."""

from enum import StrEnum

__all__ = ["Strategy"]


class Strategy(StrEnum):
    TRUNCATE_MIDDLE = "truncateMiddle"
    ROLLING_WINDOW = "rollingWindow"
    STOP_AT_LIMIT = "stopAtLimit"
