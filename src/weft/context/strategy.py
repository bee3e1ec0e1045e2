"""What may happen to a context that is too long."""

from enum import StrEnum


class Strategy(StrEnum):
    TRUNCATE_MIDDLE = "truncateMiddle"
    ROLLING_WINDOW = "rollingWindow"
    STOP_AT_LIMIT = "stopAtLimit"
