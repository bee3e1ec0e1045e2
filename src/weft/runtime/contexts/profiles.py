"""Profiles of models: what each can do, from the providers that are installed."""

from collections.abc import Callable

from weft.errors import WeftError
from weft.providers.base import ModelProfile, ProviderRegistry, installed_providers


def profiles_of(providers: ProviderRegistry | None) -> Callable[[str], ModelProfile | None]:
    """Profiles by `provider:model`; None for a model that no provider here knows. No request is made."""

    def profile(name: str) -> ModelProfile | None:
        try:
            provider, model = (providers or installed_providers()).model(name)
        except WeftError:
            return None
        return provider.profile(model)

    return profile
