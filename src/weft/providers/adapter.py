"""What all adapters share: how a provider is reached, what a request may ask for, and the dry run."""

import re
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from weft.errors import ProviderError, Trouble, UnavailableError
from weft.providers.base import ModelInfo, Profile, Provider, Request
from weft.providers.endpoint import Endpoint, Resolver, resolve
from weft.providers.errors import missing_key
from weft.providers.events import Event
from weft.providers.exchange import WireRequest
from weft.providers.keys import Keys, Secret, own_host
from weft.tree.content import Audio, Image

__all__ = [
    "SILENCE",
    "Adapter",
    "Connection",
    "Limits",
    "SdkClient",
    "check_request",
    "dry_run",
    "is_dry_run",
    "media_of",
    "sdk_import",
]

SILENCE = 300.0
"""Seconds that a model may think without a word if nobody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a response may be, in bytes."""

    received: int = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to reach a provider: where, with which key, within which limits. Tests give their own."""

    endpoint: Endpoint
    key_name: str
    key_needed: bool = True
    keys: Keys = field(default_factory=Keys)
    limits: Limits = field(default_factory=Limits)
    resolver: Resolver = resolve
    tls: ssl.SSLContext | None = None

    def key(self) -> Secret | None:
        host = self.endpoint.authority
        found = self.keys.find(self.key_name, host)
        if found is None:
            # An endpoint that may do without a key is not asked without the one that was set for it.
            others = self.keys.kept_hosts(self.key_name)
            if self.key_needed or (others and own_host(self.key_name) is None):
                raise missing_key(self.key_name, self.keys.variables(self.key_name), host, others)
        if found is not None and self.endpoint.tells_keys:
            raise ProviderError(
                Trouble.INVALID_REQUEST,
                f"the key for {self.key_name} would go to {self.endpoint.host} unencrypted: nothing was sent",
                hint="use https; on a network that is your own, set"
                f" WEFT_COMPATIBLE_{re.sub(r'[^A-Z0-9]', '_', self.key_name.upper())}_PRIVATE=1",
            )
        return found


def check_request(provider: str, request: Request, profile: Profile) -> None:
    """Refuse what the model cannot do, before anything is sent or paid."""
    asked = request.parameters
    if not 1 <= asked.n <= profile.choices:
        raise _cannot(
            provider, request, f"n is {asked.n:,}; one request has 1 to {profile.choices:,} choices"
        )
    if request.prefill and not profile.prefill:
        raise _cannot(provider, request, "takes no first words of an answer")
    if request.tools and not profile.tools:
        raise _cannot(provider, request, "calls no tools")
    if asked.stop and not profile.stop:
        raise _cannot(provider, request, "takes no stop sequences")
    if asked.logprobs is not None and asked.logprobs > profile.logprobs:
        has = (
            f"tells {profile.logprobs} alternatives at most" if profile.logprobs else "tells no probabilities"
        )
        raise _cannot(provider, request, has)
    if request.prompt is not None and request.messages:
        raise _cannot(provider, request, "either answers messages or continues a document, not both")
    blocks = [block for message in request.messages for block in message.blocks]
    if not profile.images and any(isinstance(block, Image) for block in blocks):
        raise _cannot(provider, request, "sees no images")
    if not profile.audio and any(isinstance(block, Audio) for block in blocks):
        raise _cannot(provider, request, "hears nothing")


def media_of(request: Request, block: Image | Audio) -> bytes:
    found = request.media.get(block.ref)
    if found is None:
        raise ProviderError(
            Trouble.INVALID_REQUEST, f"the bytes of {block.ref[:12]}… are not with the request"
        )
    return found


def _cannot(provider: str, request: Request, what: str) -> ProviderError:
    return ProviderError(Trouble.INVALID_REQUEST, f"{provider}:{request.model} {what}")


_COMPOSING: ContextVar[bool] = ContextVar("composing", default=False)


def is_dry_run() -> bool:
    """Whether this call is only put into words.

    A provider that says `composes = True` promises to yield its `WireRequest` then, and to do nothing else.
    """
    return _COMPOSING.get()


@contextmanager
def _composing() -> Generator[None]:
    token = _COMPOSING.set(True)
    try:
        yield
    finally:
        _COMPOSING.reset(token)


async def dry_run(provider: Provider, request: Request) -> WireRequest:
    """The request as this provider would send it now. No key is needed, and nothing leaves the process."""
    if not getattr(provider, "composes", False):
        raise UnavailableError(f"{provider.name} cannot say what it would send without sending it")
    with _composing():
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, WireRequest):
                    return event
    raise UnavailableError(f"{provider.name} did not say what it would send")


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
            hint="pip install 'weft-loom[providers]'",
        ) from None


class SdkClient(Protocol):
    def stream(self, request: Request, profile: Profile) -> AsyncGenerator[Event]: ...
    async def models(self) -> Sequence[ModelInfo]: ...
    async def close(self) -> None: ...


class Adapter(ABC):
    """Says who it is and how its client is made; the rest is the same for all."""

    name: str
    endpoint: ClassVar[Endpoint]
    composes = True

    def __init__(self, connection: Connection | None = None) -> None:
        self._connection = connection or Connection(endpoint=self.endpoint, key_name=self.name)
        self._made: SdkClient | None = None

    @abstractmethod
    def profile(self, model: str) -> Profile: ...

    @abstractmethod
    def _make_client(self, connection: Connection) -> SdkClient: ...

    def _client(self) -> SdkClient:
        if self._made is None:
            with sdk_import(self.name):
                self._made = self._make_client(self._connection)
        return self._made

    async def stream(self, request: Request) -> AsyncGenerator[Event]:
        profile = self.profile(request.model)
        check_request(self.name, request, profile)
        async with aclosing(self._client().stream(request, profile)) as events:
            async for event in events:
                yield event

    async def models(self) -> Sequence[ModelInfo]:
        return await self._client().models()

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()
