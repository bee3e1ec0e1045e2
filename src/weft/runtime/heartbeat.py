"""Saying, every few seconds, that somebody is still at work."""

import contextlib
import threading
from collections.abc import Callable, Generator

from weft.errors import WeftError

__all__ = ["Pulse", "beating"]


class Pulse:
    """Whether what is held is still held."""

    def __init__(self) -> None:
        self._lost = threading.Event()

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    def lose(self) -> None:
        self._lost.set()


@contextlib.contextmanager
def beating(renew: Callable[[], bool], *, every: float) -> Generator[Pulse]:
    """Renew in a thread of its own while the body runs.

    `renew` returns False when what it renews belongs to somebody else. A database
    that is away for a moment is not a loss: it is tried again at the next beat.
    """
    pulse = Pulse()
    done = threading.Event()

    def beat() -> None:
        while not done.wait(every):
            try:
                if not renew():
                    pulse.lose()
                    return
            except WeftError as error:
                if not error.retryable:
                    pulse.lose()
                    return

    thread = threading.Thread(target=beat, name="weft-heartbeat", daemon=True)
    thread.start()
    try:
        yield pulse
    finally:
        done.set()
        thread.join()
