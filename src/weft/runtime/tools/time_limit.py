"""Run work within a time limit: what hangs is left behind, and keeps neither the caller nor the process."""

import contextvars
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from weft.errors import LimitExceededError, UnavailableError

R = TypeVar("R")

MOST_HANGING = 32
"""Tools that may hang at once in a process; then no other is started until one of them ends."""
_hanging: set[threading.Thread] = set()
_guard = threading.Lock()


class _Ended(NamedTuple, Generic[R]):
    result: R | None
    error: BaseException | None


def run_within(seconds: float, what: str, work: Callable[[], R]) -> R:
    """The result of the work, or its error; `UnavailableError` if it takes longer.

    The thread is a daemon: Python does not wait for it when the process exits.
    """
    with _guard:
        _hanging.difference_update([each for each in _hanging if not each.is_alive()])
        if len(_hanging) >= MOST_HANGING:
            raise LimitExceededError(
                f"{what} was not started: {len(_hanging)} tools hang in this process",
                hint="restart the process",
            )
    ended: SimpleQueue[_Ended[R]] = SimpleQueue()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            ended.put(_Ended(context.run(work), None))
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            ended.put(_Ended(None, error))

    thread = threading.Thread(target=run, name=f"weft tool {what[:40]}", daemon=True)
    thread.start()
    try:
        result, error = ended.get(timeout=seconds)
    except Empty:
        with _guard:
            _hanging.add(thread)
        raise UnavailableError(f"{what} did not answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return result  # pyright: ignore[reportReturnType] - without an error there is a result
