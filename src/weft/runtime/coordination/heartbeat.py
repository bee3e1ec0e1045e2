"""Renewing a hold (a lease, a claim, a job) while its holder works, and stopping the holder when it is lost."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from functools import lru_cache
from pathlib import Path

from weft.errors import WeftError
from weft.ids import Entropy, new_ulid
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


def this_process() -> str:
    """A name that no other living process has: machine, boot, namespace, number."""
    return f"{_machine()}#{os.getpid()}"


def new_holder(now: int, entropy: Entropy) -> str:
    """A name for one holder in this process, such as a claim or a job."""
    return f"{socket.gethostname()}:{os.getpid()}:{new_ulid(now, entropy)}"


def is_dead_process(holder: str) -> bool:
    """Whether that process is certainly gone. Of other machines nobody knows; their time runs out."""
    machine, _, number = holder.rpartition("#")
    if machine != _machine() or not number.isdecimal():
        return False
    if int(number) == os.getpid():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return _is_zombie(int(number))


def _is_zombie(number: int) -> bool:
    """Killed, and its parent has not looked yet."""
    with contextlib.suppress(OSError, IndexError):
        state = Path(f"/proc/{number}/stat").read_text(encoding="ascii", errors="replace")
        return state.rpartition(")")[2].split()[0] in {"Z", "X"}
    return False


@lru_cache(maxsize=1)
def _machine() -> str:
    """The same number in another container, or after a restart, is another process."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with contextlib.suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return "/".join(parts)
