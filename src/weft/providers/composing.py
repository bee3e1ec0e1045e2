"""What would be sent, to the byte, without sending it: to know a request again that was sent before."""

from collections.abc import Generator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar

from weft.errors import UnavailableError
from weft.providers.base import Provider, Request
from weft.providers.wire import Sent

__all__ = ["composed", "is_composing"]

_COMPOSING: ContextVar[bool] = ContextVar("composing", default=False)


def is_composing() -> bool:
    """Whether this call is only put into words.

    A provider that says `composes = True` promises to yield its `Sent` then, and to do nothing else.
    """
    return _COMPOSING.get()


@contextmanager
def _composing() -> Generator[None]:
    token = _COMPOSING.set(True)
    try:
        yield
    finally:
        _COMPOSING.reset(token)


async def composed(provider: Provider, request: Request) -> Sent:
    """The request as this provider would send it now. No key is needed, and nothing leaves the process."""
    if not getattr(provider, "composes", False):
        raise UnavailableError(f"{provider.name} cannot say what it would send without sending it")
    with _composing():
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, Sent):
                    return event
    raise UnavailableError(f"{provider.name} did not say what it would send")
