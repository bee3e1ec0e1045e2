"""What the models of a grove's agents can do, as far as their providers are known here."""

from collections.abc import Callable

from weft.errors import WeftError
from weft.providers.base import Profile
from weft.providers.registry import installed_providers
from weft.runtime.operations.executor import Executor

__all__ = ["profiles_of"]


def profiles_of(gate: Executor) -> Callable[[str], Profile | None]:
    """By `provider:model`; None for a model that nobody here knows. Asks nobody: never waits, never fails."""

    def profile(name: str) -> Profile | None:
        try:
            provider, model = (gate.providers or installed_providers()).model(name)
        except WeftError:
            return None
        return provider.profile(model)

    return profile
