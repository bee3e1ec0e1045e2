"""Renewing a hold (a lease, a claim, a job) while its holder works, and stopping the holder when it is lost."""

import contextlib
import threading
import time
from collections.abc import Callable, Generator

from weft.errors import WeftError
from weft.log import Log

_log = Log("weft.heartbeat")


class Heartbeat:
    """Renews a hold of `hold` seconds, and knows whether it is still held.

    It is lost when `renew` returns False (another has it), when renewing is refused for good, and when
    it has failed for so long that the hold has run out. `on_lost` is called once, to stop the holder.
    """

    def __init__(
        self, renew: Callable[[], bool], *, hold: float, on_lost: Callable[[], None] = lambda: None
    ) -> None:
        self._renew = renew
        self._hold = hold
        self._on_lost = on_lost
        self._renewed = time.monotonic()
        self._lost = threading.Event()

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    @property
    def every(self) -> float:
        """Seconds between two beats: two may fail before the hold runs out."""
        return self._hold / 3

    def beat(self) -> bool:
        """Renew once; False if the hold is lost."""
        if not self.is_lost and not self._is_renewed():
            self._lost.set()
            self._on_lost()
        return not self.is_lost

    def _is_renewed(self) -> bool:
        began = time.monotonic()
        try:
            renewed = self._renew()
        except WeftError as error:
            _log.warning("heartbeat failed", code=error.code, error=error.message)
            return error.retryable and not self._has_run_out()
        except Exception as error:  # noqa: BLE001 - a renewal that fails for any reason is not a renewal
            _log.failure("heartbeat failed", error)
            return not self._has_run_out()
        # The hold counts from before it was written.
        self._renewed = began
        return renewed

    def _has_run_out(self) -> bool:
        return time.monotonic() - self._renewed >= self._hold


@contextlib.contextmanager
def beating(
    renew: Callable[[], bool], *, hold: float, on_lost: Callable[[], None] = lambda: None
) -> Generator[Heartbeat]:
    """Renew in a thread of its own while the body runs."""
    heartbeat = Heartbeat(renew, hold=hold, on_lost=on_lost)
    done = threading.Event()

    def run() -> None:
        while not done.wait(heartbeat.every) and heartbeat.beat():
            pass

    thread = threading.Thread(target=run, name="weft-heartbeat", daemon=True)
    thread.start()
    try:
        yield heartbeat
    finally:
        done.set()
        thread.join()
