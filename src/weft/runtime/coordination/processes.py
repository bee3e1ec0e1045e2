"""Which process listens to a call, and whether it is still there."""

import contextlib
import os
import socket
from functools import lru_cache
from pathlib import Path


def this_process() -> str:
    """A name that no other living process has: machine, boot, namespace, number."""
    return f"{_machine()}#{os.getpid()}"


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
