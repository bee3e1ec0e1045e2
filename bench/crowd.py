"""Many at once: threads of this process, or processes of their own, that start together."""

import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import TypeAlias

__all__ = ["Start", "in_processes", "in_threads"]

Start: TypeAlias = Callable[[], None]
"""Waits until everyone is ready."""


def in_threads(works: Sequence[Callable[[], None]]) -> float:
    """Run works in threads; seconds from the start until the last is done."""
    ready = threading.Barrier(len(works) + 1)
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        ready.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that waits
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    if failures:
        raise failures[0]
    return seconds


def in_processes(works: Sequence[Callable[[Start], None]]) -> float:
    """Run works in fresh processes, each of which gets ready and then waits for the others.

    Works are pickled: functions of a module, or partials of them.
    """
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(len(works))
    spans: Queue[tuple[float, float] | str] = context.Queue()
    processes = [context.Process(target=_timed, args=(work, ready, spans)) for work in works]
    for process in processes:
        process.start()
    found = [spans.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    failures = [span for span in found if isinstance(span, str)]
    if failures:
        raise RuntimeError(failures[0])
    times = [span for span in found if not isinstance(span, str)]
    return max(end for _, end in times) - min(start for start, _ in times)


def _timed(work: Callable[[Start], None], ready: Barrier, spans: "Queue[tuple[float, float] | str]") -> None:
    started = 0.0

    def start() -> None:
        nonlocal started
        ready.wait(timeout=60)
        # The monotonic clock is one clock for all processes of a machine.
        started = time.monotonic()

    try:
        work(start)
        spans.put((started, time.monotonic()))
    except BaseException as error:
        ready.abort()
        spans.put(f"{type(error).__name__}: {error}")
        raise
