"""A bar on stderr while long work is under way, where a person watches."""

import contextlib
import os
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

from weft.tree.progress import silent

if TYPE_CHECKING:
    from weft.tree.progress import Progress

__all__ = ["progress_bar"]


@contextlib.contextmanager
def progress_bar(what: str) -> "Generator[Progress]":
    """What long work is told to report to; nothing is drawn where nothing can move."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield silent
        return
    from rich.console import Console  # noqa: PLC0415 - only terminals need it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None)

        yield told
