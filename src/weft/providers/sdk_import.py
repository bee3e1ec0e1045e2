"""Import a vendor's SDK: one that is not installed is an error that names its extra."""

from collections.abc import Generator
from contextlib import contextmanager

from weft.error_hints import Hint, HintKind
from weft.errors import UnavailableError

_SDK_PACKAGES = frozenset({"anthropic", "google", "httpcore2", "httpx2", "openai"})


@contextmanager
def sdk_import(provider: str) -> Generator[None]:
    """Say which extra brings an SDK that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _SDK_PACKAGES:
            raise
        raise UnavailableError(
            f"{provider} needs the package {error.name!r}, which is not installed",
            hint=Hint(HintKind.SETUP, text="pip install 'weft-loom[providers]'"),
        ) from None
