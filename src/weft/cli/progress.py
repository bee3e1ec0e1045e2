"""A moving bar on stderr for what takes long; nothing where no person watches."""

import contextlib
import sys
from collections.abc import Callable, Generator

__all__ = ["progress_bar"]


@contextlib.contextmanager
def progress_bar(label: str) -> Generator[Callable[[int, int], None] | None]:
    """A callback that moves the bar; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only terminals need it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(file=sys.stderr)
    if console.is_dumb_terminal:
        yield None
        return
    columns = TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
