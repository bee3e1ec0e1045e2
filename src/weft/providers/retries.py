"""Retries: with the wait that the provider asks for, and never after text was shown."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from weft.errors import ProviderError, Trouble
from weft.providers.base import Provider, Request
from weft.providers.events import Event, Retried, TextDelta, ThinkingDelta, ThinkingDone, ToolCalled


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The number of tries, and the waits between them in seconds."""

    tries: int = 3
    timeout_tries: int = 2
    """After a timeout the provider may still be working: one retry only."""
    first_wait: float = 0.5
    growth: float = 2.0
    longest_wait: float = 30.0
    patience: float = 300.0
    """The longest `retry_after` that is waited for; a longer one is reported in the error."""

    def wait(self, error: ProviderError, tries: int, jitter: Callable[[], float]) -> float | None:
        """How long to wait after so many tries, or None to give up."""
        allowed = self.timeout_tries if error.trouble is Trouble.TIMEOUT else self.tries
        if not error.retryable or tries >= allowed:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.patience else None
        whole = min(self.longest_wait, self.first_wait * self.growth ** (tries - 1))
        # Between half and all of it, so that calls that failed together do not retry together.
        return whole * (0.5 + 0.5 * jitter())


async def stream_retrying(
    provider: Provider,
    request: Request,
    *,
    policy: Policy | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> AsyncGenerator[Event]:
    """A provider's stream, with retries. Each try has its own wire events."""
    rules = policy or Policy()
    tries = 0
    while True:
        tries += 1
        shown = False
        try:
            async with aclosing(provider.stream(request)) as events:
                async for event in events:
                    shown = shown or isinstance(event, TextDelta | ThinkingDelta | ThinkingDone | ToolCalled)
                    yield event
        except ProviderError as error:
            wait = None if shown else rules.wait(error, tries, jitter)
            if wait is None:
                raise
            failed = error
        else:
            return
        yield Retried(failed, wait, tries)
        await sleep(wait)
