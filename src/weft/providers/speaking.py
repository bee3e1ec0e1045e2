"""What all adapters share: their SDK's stream with its bytes, its errors in our words, and no end but a real one."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from weft.errors import ProviderError, Trouble, WeftError
from weft.providers.base import ModelInfo
from weft.providers.capture import captured
from weft.providers.continuing import Seam
from weft.providers.events import Event, Finished, TextDelta
from weft.providers.secret import Secret
from weft.providers.troubles import find_own, from_connection

__all__ = ["Speech", "listed", "speak"]


_MODELS = 10_000
"""More models than any provider has; a list that does not end is cut there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """One call of an SDK: who is asked, for how many choices, and how its errors are to be understood."""

    provider: str
    choices: int
    key: Secret | None
    describe: Callable[[Exception], ProviderError | None]
    blanks: str = ""
    """What a continued document ends with and its continuation may say again."""


async def speak(speech: Speech, work: Callable[[], AsyncGenerator[Event]]) -> AsyncGenerator[Event]:
    """Run an SDK's stream with its wire events, its errors in our words, and every choice ended or missed."""
    unfinished = set(range(speech.choices))
    seams = [Seam(speech.blanks) for _ in range(speech.choices)]
    failure: WeftError | None = None
    try:
        async with aclosing(captured(work)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    unfinished.discard(event.choice)
                joined = _joined(event, seams)
                if joined is not None:
                    yield joined
    except Exception as error:  # noqa: BLE001 - every error of an SDK has to be said in our words
        failure = find_own(error) or speech.describe(error)
        failure = failure or from_connection(speech.provider, error, key=speech.key)
    if failure is not None and (unfinished or not _cut(failure)):
        # Raised out here, because the SDK's error holds the request, and with it the key.
        raise failure
    if unfinished:
        raise ProviderError(Trouble.NETWORK, f"{speech.provider} broke off without saying why")


def _cut(failure: WeftError) -> bool:
    """Whether a connection was lost, which costs nothing once every choice is complete."""
    return isinstance(failure, ProviderError) and failure.trouble in {Trouble.NETWORK, Trouble.TIMEOUT}


async def listed(
    provider: str,
    key: Secret | None,
    rows: AsyncIterator[ModelInfo],
    describe: Callable[[Exception], ProviderError | None],
) -> list[ModelInfo]:
    """A provider's list of models, within reason, with its errors in our words."""
    found: list[ModelInfo] = []
    failure: WeftError | None = None
    try:
        async for row in rows:
            found.append(row)
            if len(found) >= _MODELS:
                break
    except Exception as error:  # noqa: BLE001 - as above
        failure = find_own(error) or describe(error) or from_connection(provider, error, key=key)
    if failure is not None:
        raise failure
    return found


def _joined(event: Event, seams: list[Seam]) -> Event | None:
    if not isinstance(event, TextDelta) or event.choice >= len(seams):
        return event
    text = seams[event.choice].join(event.text)
    if text == event.text:
        return event
    return TextDelta(text, event.choice, event.chances) if text else None
