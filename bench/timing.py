"""Medians of many runs, taken in turns so that a noisy moment hits all alike."""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["Run", "counted", "medians", "percentile", "seconds_of", "seconds_of_a_sync"]

_HOPELESS = 2.0
"""Seconds after which the next, larger run is not tried."""
_ONCE = 0.75
"""Seconds from which one run is as good as many."""

Run = Callable[[], object]


def seconds_of(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(runs: Sequence[Run], *, budget: float, most: int = 200) -> list[float | None]:
    """The median seconds of each; runs are ordered from small to large.

    The first round warms up. A run that was hopeless there spares us the larger
    ones (None); one that was long is not repeated.
    """
    first: list[float | None] = []
    for run in runs:
        before = first[-1] if first else 0.0
        hopeless = before is None or before > _HOPELESS
        first.append(None if hopeless else seconds_of(run))
    again = [index for index, took in enumerate(first) if took is not None and took < _ONCE]
    taken: dict[int, list[float]] = {index: [] for index in again}
    start = time.perf_counter()
    for _ in range(most if again else 0):
        for index in again:
            taken[index].append(seconds_of(runs[index]))
        if time.perf_counter() - start > budget:
            break
    return [statistics.median(taken[index]) if index in taken else took for index, took in enumerate(first)]


def counted(run: Run, seconds: float) -> int:
    """How often something can be done in a while."""
    start = time.perf_counter()
    count = 0
    while time.perf_counter() - start < seconds:
        run()
        count += 1
    return count


def percentile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def seconds_of_a_sync(folder: Path, times: int = 50) -> float:
    """What the disk takes to make one page durable."""
    path = folder / "sync"
    taken: list[float] = []
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        for _ in range(times):
            start = time.perf_counter()
            os.write(descriptor, bytes(4096))
            os.fsync(descriptor)
            taken.append(time.perf_counter() - start)
    finally:
        os.close(descriptor)
        path.unlink()
    return statistics.median(taken)
