"""Providers of other packages, checked: what one does wrong becomes a sentence that names it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, NoReturn, cast

from weft.errors import ProviderError, Trouble, WeftError
from weft.log import Log
from weft.providers.base import ModelInfo, ModelProfile, Provider, Request
from weft.providers.events import Event
from weft.redaction import redact

_log = Log("weft.providers")


class CheckedProvider:
    """Passes everything on to a provider, and checks what comes back."""

    def __init__(self, name: str, inner: Provider) -> None:
        self._name = name
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        """What this provider can do besides, such as holding caches."""
        return getattr(self._inner, name)

    @property
    def name(self) -> str:
        return self._name

    def profile(self, model: str) -> ModelProfile:
        try:
            profile = cast("object", self._inner.profile(model))
        except WeftError:
            raise
        except Exception as error:  # noqa: BLE001 - of any package
            self._fail("describing a model", error)
        if not isinstance(profile, ModelProfile):
            self._fail("describing a model", TypeError(f"{type(profile).__name__} is not a ModelProfile"))
        return profile

    async def stream(self, request: Request) -> AsyncGenerator[Event]:
        try:
            async with aclosing(self._inner.stream(request)) as events:
                async for each in events:
                    event = cast("object", each)
                    if not isinstance(event, Event):
                        self._fail("answering", TypeError(f"{type(event).__name__} is not an event"))
                    yield event
        except WeftError:
            raise
        except Exception as error:  # noqa: BLE001 - of any package
            self._fail("answering", error)

    async def models(self) -> Sequence[ModelInfo]:
        listed: list[object] = list(await self._inner.models())
        models = [each for each in listed if isinstance(each, ModelInfo)]
        if len(models) < len(listed):
            raise TypeError("not every entry is a ModelInfo")
        return models

    async def close(self) -> None:
        try:
            await self._inner.close()
        except Exception as error:  # noqa: BLE001 - of any package; there is nothing more to close
            _log.warning("closing a provider failed", provider=self._name, error=redact(str(error)))

    def _fail(self, doing: str, error: Exception) -> NoReturn:
        raise ProviderError(
            Trouble.UNKNOWN,
            f"the provider {self._name!r} failed while {doing}: {type(error).__name__}: {redact(str(error))}",
            hint="update or uninstall the package that brings it",
        ) from error
