"""Time, in microseconds since 1970, as an argument."""

import time
from collections.abc import Callable

from weft.error_hints import Hint, HintKind
from weft.errors import UnavailableError
from weft.tree.json_names import iso_moment

Clock = Callable[[], int]

_TOLERANCE = 5 * 60 * 1_000_000
"""How far a clock may lag behind what was written before, as after an adjustment."""


def system_clock() -> int:
    return time.time_ns() // 1000


def next_moment(clock: Clock, last: int, *, accept_clock: bool) -> int:
    """Now, but after everything written before.

    A clock that lags a little is waited out by counting on from the last moment.
    One that went back further is refused: times are hashed, and would be wrong for good.
    """
    now = clock()
    if now > last:
        return now
    if now < last - _TOLERANCE and not accept_clock:
        raise UnavailableError(
            f"the clock says {iso_moment(now)}, but the last change here was written at {iso_moment(last)}",
            hint=Hint(HintKind.ACCEPT_CLOCK),
        )
    return now if now < last - _TOLERANCE else last + 1
