"""Which providers there are: ours and anyone's, by name, from the entry points `weft.providers`."""

import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import metadata
from typing import cast

from weft.errors import NotFoundError, ProviderError, Trouble, WeftError
from weft.providers.base import ModelName, Provider

__all__ = ["GROUP", "Registry", "installed_providers"]

GROUP = "weft.providers"


class Registry:
    """Providers by name. One that was given here hides an installed one.

    An entry point names something that makes a provider when it is called with nothing;
    it is imported and called when the provider is first asked for, once.
    """

    __slots__ = ("_given", "_installed", "_lock", "_made")

    def __init__(
        self,
        providers: Mapping[str, Provider] | None = None,
        installed: Mapping[str, metadata.EntryPoint] | None = None,
    ) -> None:
        self._given = dict(providers or {})
        self._installed = dict(installed or {})
        self._made: dict[str, Provider] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        return sorted({*self._given, *self._installed})

    def with_provider(self, name: str, provider: Provider) -> "Registry":
        """A registry that has one more; this one stays as it is."""
        return Registry({**self._given, name: provider}, self._installed)

    def provider(self, name: str) -> Provider:
        """The provider of that name, or of `provider:model`."""
        wanted = name.partition(":")[0].strip().lower()
        given = self._given.get(wanted)
        if given is not None:
            return given
        with self._lock:
            made = self._made.get(wanted)
            if made is None:
                made = self._made[wanted] = self._make(wanted)
        return made

    def model(self, name: str | ModelName) -> tuple[Provider, str]:
        """The provider of `provider:model`, and its own name for the model."""
        parsed = name if isinstance(name, ModelName) else ModelName.parse(name)
        return self.provider(parsed.provider), parsed.model

    def _make(self, name: str) -> Provider:
        point = self._installed.get(name)
        if point is None:
            raise NotFoundError(
                f"there is no provider {name!r}", hint=f"providers are {', '.join(self.names)}"
            )
        try:
            make = cast("Callable[[], Provider]", point.load())
            if not callable(make):
                raise TypeError("it cannot be called")  # noqa: TRY301 - told like whatever else is wrong with it
            return make()
        except WeftError:
            raise
        except Exception as error:
            # Anybody's package: whatever is wrong with it must not take the others along.
            raise ProviderError(
                Trouble.UNKNOWN,
                f"the provider {name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}",
                hint=f"mend or uninstall the package {_package(point)}",
            ) from error

    async def close(self) -> None:
        """Close what every provider that was made here holds open in the running event loop."""
        with self._lock:
            made = list(self._made.values())
        for provider in made:
            await provider.close()


def _package(point: metadata.EntryPoint) -> str:
    return "that brings it" if point.dist is None else point.dist.name


@lru_cache(maxsize=1)
def installed_providers() -> Registry:
    """Everything that installed packages offer. Found once: packages do not come and go while we run."""
    return Registry(installed={point.name: point for point in metadata.entry_points(group=GROUP)})
