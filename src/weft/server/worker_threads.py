"""Work that uses the store runs in worker threads, so that the event loop answers others meanwhile."""

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.requests import Request

R = TypeVar("R")


async def in_thread(request: Request, work: Callable[[], R]) -> R:
    """Run work that uses the store in a thread, so that the event loop goes on; a few at a time."""
    limiter: CapacityLimiter = request.app.state.limiter
    return await anyio.to_thread.run_sync(work, limiter=limiter)
