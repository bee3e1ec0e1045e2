"""Providers by name, from the entry points `weft.providers` of all installed packages."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from weft.errors import ProviderError, Trouble, WeftError
from weft.plugins import Plugins, package_of
from weft.providers.base import ModelName, Provider

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "weft.providers"


class ProviderRegistry(Plugins[Provider]):
    """Providers by name.

    An entry point names something that makes a provider when it is called with nothing;
    it is imported and called when the provider is first asked for, once.
    """

    __slots__ = ()

    GROUP = GROUP
    KIND = "provider"

    def with_provider(self, name: str, provider: Provider) -> "ProviderRegistry":
        """A registry that has one more; this one stays as it is."""
        return self._with(name, provider)

    def provider(self, name: str) -> Provider:
        """The provider of that name, or of `provider:model`."""
        return self._named(name.partition(":")[0].strip().lower())

    def model(self, name: str | ModelName) -> tuple[Provider, str]:
        """The provider of `provider:model`, and its own name for the model."""
        parsed = name if isinstance(name, ModelName) else ModelName.parse(name)
        return self.provider(parsed.provider), parsed.model

    def _load(self, name: str, point: "EntryPoint") -> Provider:
        try:
            make = cast("Callable[[], Provider]", point.load())
            if not callable(make):
                raise TypeError("it is not callable")  # noqa: TRY301 - reported like other errors of a package
            return make()
        except WeftError:
            raise
        except Exception as error:
            # An error of one package must not affect the other providers.
            raise ProviderError(
                Trouble.UNKNOWN,
                f"the provider {name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}",
                hint=f"update or uninstall the package {package_of(point)}",
            ) from error

    async def close(self) -> None:
        """Close the connections of all providers in the running event loop."""
        with self._lock:
            made = list(self._loaded.values())
        for provider in made:
            await provider.close()


@lru_cache(maxsize=1)
def installed_providers() -> ProviderRegistry:
    """The providers of all installed packages, looked up once per process."""
    return ProviderRegistry.installed()
